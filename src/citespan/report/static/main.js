// What the reader does: filters, views, the chosen call, keys, theme, print.

function start() {
  document.documentElement.classList.add("js");
  readModel();
  const pane = byId("pane");
  const filter = { text: "", tool: "", kinds: new Set(), statuses: new Set() };
  const indexes = { timeline: new Map(), table: new Map() };
  let matching = calls;
  let name = "timeline";
  let call = null;
  let hovered = null;

  const chosen = (item) => item.call === call && call !== null && (!item.argument || !hovered?.argument || item.argument === hovered.argument);
  const common = { onRow, onButton, onEnter, onScroll: () => redraw() };
  const views = {
    timeline: grid(byId("timeline"), { ...common, kind: "timeline", label: "Tool calls by time", height: ROW, heads: ["Time", "Call", "Arguments and what was cited of the result", "Timeline"], make: timelineRow }),
    table: grid(byId("table"), { ...common, kind: "table", label: "Arguments of the calls", height: CELL, heads: ["Time", "Tool", "Status", "Argument", "Kind", "Source", "Projection", "Weak", "Digest"], make: tableRow }),
  };
  views.timeline.chosen = views.table.chosen = chosen;
  const indexOf = (thing) => indexes[name].get(thing) ?? -1;
  const drawArrows = arrowsOf(views.timeline, pane, byId("overlay"), (thing) => indexes.timeline.get(thing) ?? -1);
  const redraw = framed(() => (name === "timeline" ? drawArrows(call, hovered) : byId("overlay").replaceChildren()));
  const showDetail = detailOf(byId("detail"), { visit, back, hover: (argument) => hover(argument ? { argument } : null) });

  function hover(next) {
    hovered = next;
    for (const node of byId("detail").querySelectorAll(".card")) {
      node.classList.toggle("lit", next?.argument?.call === call && Number(node.dataset.arg) === next.argument.place);
    }
    redraw();
  }

  function choose(next) {
    if (next === call) return;
    call = next;
    showDetail(call);
    for (const view of Object.values(views)) view.remark();
    tellTrouble();
    redraw();
  }

  function meaning(item, button) {
    if (!button) return item?.argument ? { argument: item.argument } : null;
    if (button.dataset.arg !== undefined) return { argument: item.call.args[Number(button.dataset.arg)] };
    const fields = button.dataset.holder === "run" ? item.run.given : item.call.gives;
    return { field: [...fields.values()][Number(button.dataset.field)] };
  }

  function onRow(item) {
    if (item.call) choose(item.call);
  }

  function onButton(item, button) {
    hover(meaning(item, button));
  }

  // A click or Enter: on an argument its source, on a field who cites it first, on a row its details.
  function onEnter(item, button) {
    if (!button) {
      byId("detail").querySelector("h2")?.focus();
      return;
    }
    const { argument, field } = meaning(item, button);
    if (item.call) choose(item.call);
    if (field) visit(field.by[0].call);
    else if (argument?.field) visit(argument.source ?? argument.call.run);
    else hover({ argument });
  }

  // From the panel to the row of the chosen call.
  function back() {
    if (call && indexOf(call) >= 0) views[name].focus(indexOf(call));
  }

  // Show a call, or a run's start, wherever it is: filters that hide it are taken off.
  function visit(thing, focus = true) {
    if (name === "table" && !thing.run) swap("timeline");
    if (indexOf(thing) < 0) clear();
    if (indexOf(thing) < 0) swap("timeline"); // the table has not all
    const index = indexOf(thing);
    if (index < 0) return;
    if (focus) views[name].focus(index);
    else {
      views[name].activate(index);
      views[name].reveal(index);
      choose(thing);
    }
    views[name].flash(index);
  }

  // -- trouble, one after the other
  const counts = count(calls, (each) => each.s);
  const worst = TROUBLE.find((status) => counts[status]) ?? "blocked";
  const trouble = () => matching.filter((each) => each.s === worst);

  function tellTrouble() {
    const found = trouble();
    const at = found.indexOf(call);
    for (const [id, word] of [["previous", "Previous"], ["next", "Next"]]) {
      byId(id).disabled = !found.length;
      byId(id).querySelector(".what").textContent = `${word} ${worst}`;
    }
    byId("next").title = found.length ? `${at < 0 ? "none" : at + 1} of ${found.length}` : `no ${worst} call is shown`;
  }

  function step(way, focus) {
    const found = trouble();
    if (!found.length) return;
    const here = call ? call.number : way > 0 ? -1 : calls.length;
    const next = way > 0 ? found.find((each) => each.number > here) ?? found[0] : found.findLast((each) => each.number < here) ?? found.at(-1);
    visit(next, focus);
    say(`${next.t}, ${statusName(next.s)}, ${found.indexOf(next) + 1} of ${found.length}`);
  }

  // -- filters
  function say(text) {
    byId("count").textContent = text;
  }

  function apply() {
    matching = chosenBy();
    const timeline = [];
    const table = [];
    let lines = 0;
    indexes.timeline.clear();
    indexes.table.clear();
    for (const each of matching) {
      if (!indexes.timeline.has(each.run)) indexes.timeline.set(each.run, timeline.push({ run: each.run }) - 1);
      indexes.timeline.set(each, timeline.push({ call: each }) - 1);
      const wanted = filter.kinds.size ? each.args.filter((argument) => filter.kinds.has(argument.k)) : each.args;
      lines += wanted.length || 1;
      if (lines > MOST_ROWS) continue;
      indexes.table.set(each, table.length);
      for (const argument of wanted.length ? wanted : [null]) table.push({ call: each, argument });
    }
    for (const [key, items, total] of [["timeline", timeline, timeline.length], ["table", table, lines]]) {
      const at = call && indexes[key].get(call);
      views[key].active = at ?? 0;
      views[key].show(items, total);
    }
    byId("clear").disabled = !(filter.text || filter.tool || filter.kinds.size || filter.statuses.size);
    say(matching.length === calls.length ? plural(calls.length, "call") : `${matching.length.toLocaleString("en")} of ${plural(calls.length, "call")}`);
    tellTrouble();
    redraw();
  }
  const chosenBy = () => (filter.text || filter.tool || filter.kinds.size || filter.statuses.size ? matchingOf(filter) : calls);

  function toggles(place, names, numbers, set, about) {
    const buttons = names.filter((each) => numbers[each]).map((each) =>
      el("button", { type: "button", "aria-pressed": "false", title: about(each), data: { value: each, kind: each }, on: {
        click: (event) => {
          const on = !set.delete(each);
          if (on) set.add(each);
          event.currentTarget.setAttribute("aria-pressed", on);
          apply();
        } } },
      each in KINDS ? sign(each) : null, statusName(each), el("span", { class: "number" }, numbers[each].toLocaleString("en"))));
    place.replaceChildren(...buttons);
  }

  function clear() {
    Object.assign(filter, { text: "", tool: "" });
    filter.kinds.clear();
    filter.statuses.clear();
    byId("text").value = byId("tool").value = "";
    for (const button of document.querySelectorAll(".filters [aria-pressed]")) button.setAttribute("aria-pressed", "false");
    apply();
  }

  function setUpFilters() {
    toggles(byId("statuses"), Object.keys(STATUSES), counts, filter.statuses, (each) => STATUSES[each]);
    const kinds = count(calls.flatMap((each) => each.args), (argument) => argument.k);
    toggles(byId("kinds"), Object.keys(KINDS), kinds, filter.kinds, (each) => KINDS[each].says);
    const tools = Object.entries(count(calls, (each) => each.t)).sort((one, other) => other[1] - one[1]).slice(0, 200);
    byId("tool").append(el("option", { value: "" }, "All tools"), ...tools.map(([tool, number]) => el("option", { value: tool }, `${tool} (${number})`)));
    byId("tool").addEventListener("change", (event) => { filter.tool = event.target.value; apply(); });
    const typed = framed(() => { filter.text = byId("text").value; apply(); });
    byId("text").addEventListener("input", typed);
    byId("clear").addEventListener("click", () => { clear(); byId("text").focus(); });
  }

  // -- views, theme, print
  function swap(next) {
    name = next;
    for (const key of Object.keys(views)) {
      byId(key).hidden = key !== next;
      byId(`view-${key}`).setAttribute("aria-pressed", key === next);
    }
    hovered = null;
    const index = call ? indexOf(call) : -1;
    if (index >= 0) {
      views[name].activate(index);
      views[name].reveal(index);
    } else views[name].render();
    redraw();
  }

  function nextTheme() {
    const order = ["system", "dark", "light"];
    const now = document.documentElement.dataset.theme ?? "system";
    const next = order[(order.indexOf(now) + 1) % order.length];
    if (next === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    byId("theme").textContent = `Theme: ${next}`;
  }

  function summary() {
    const parts = [`in ${plural(runs.length, "run")}`];
    if (runs.length) parts.push(moment(runs.find((run) => run.start)?.start));
    const place = byId("summary");
    place.textContent = parts.join(" · ");
    if (DATA.left_out) {
      const some = DATA.left_out_troubled ? `, ${DATA.left_out_troubled.toLocaleString("en")} of them to look at` : "";
      place.after(el("p", { class: "note" }, `The newest ${plural(calls.length, "call")} of ${DATA.total.toLocaleString("en")}: ${DATA.left_out.toLocaleString("en")} left out${some}`));
    }
  }

  const printing = (on) => views[name].expand(on);
  matchMedia("print").addEventListener("change", (event) => printing(event.matches));
  addEventListener("beforeprint", () => printing(true));
  addEventListener("afterprint", () => printing(false));
  // A reader who zooms in keeps the row that has the focus.
  addEventListener("resize", framed(() => {
    if (byId(name).contains(document.activeElement)) views[name].reveal(views[name].active);
    else views[name].render();
    redraw();
  }));

  byId("previous").addEventListener("click", () => step(-1, false));
  byId("next").addEventListener("click", () => step(1, false));
  byId("view-timeline").addEventListener("click", () => swap("timeline"));
  byId("view-table").addEventListener("click", () => swap("table"));
  byId("theme").addEventListener("click", nextTheme);
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input:not([type=checkbox]), select, textarea");
    if (typing || event.altKey || event.ctrlKey || event.metaKey || !byId("shortcuts").checked) return;
    const act = { n: () => step(1, true), p: () => step(-1, true), "/": () => byId("text").focus() }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });

  // Start where somebody should look: at the call that the address names, else at the last of the worst.
  summary();
  setUpFilters();
  showDetail(null);
  apply();
  const addressed = location.hash.length > 1 && calls.find((each) => each.sp === location.hash.slice(1));
  const first = addressed || trouble().at(-1);
  if (first) {
    views.timeline.activate(indexOf(first));
    views.timeline.reveal(indexOf(first));
    choose(first);
  }
}

start();
