// The panel of the chosen call: why it was refused, and each argument with its source.

function detailOf(panel, { visit, back, hover }) {
  const fact = (name, value) => (value === null || value === undefined || value === "" ? [] : [el("dt", {}, name), el("dd", {}, value)]);
  const list = (items) => (items?.length ? el("ul", {}, items.map((each) => el("li", { class: "mono" }, each))) : "");
  const mono = (text) => (text ? el("span", { class: "mono" }, text) : "");

  function cited(thing) {
    if (!thing.c) return sourceWords(thing);
    return el("span", {}, mono(citedName(thing.c)), thing.pr ? ` by ${thing.pr}` : "");
  }

  const go = (thing, text) => el("button", { type: "button", class: "go", on: { click: () => visit(thing) } }, text);

  function jump(argument) {
    if (argument.source) return go(argument.source, `Go to ${ago(argument.source, argument.call)}`);
    return argument.field ? go(argument.call.run, "Go to the run’s start") : null;
  }

  // A call, and how long before another one it was.
  function ago(source, call) {
    const known = source.run === call.run && source.offset !== null && call.offset !== null && source.offset <= call.offset;
    return known ? `${source.t}, ${length(call.offset - source.offset)} before` : source.t;
  }

  function others(argument) {
    return argument.others.map(({ tool, call }) => (call ? go(call, `Also in ${ago(call, argument.call)}`) : el("p", { class: "about" }, `Also in ${tool}, not on this page`)));
  }

  function leaves(argument) {
    if (!argument.lv) return "";
    const rest = argument.more ? [el("li", {}, `and ${argument.more} more`)] : [];
    return el("ul", {}, argument.lv.map((leaf) => el("li", {}, mono(leaf.n), ` ${leaf.k}`, leaf.c ? [" ← ", mono(citedName(leaf.c))] : "", leaf.pr ? ` by ${leaf.pr}` : "", leaf.co ? ", counts" : "")), rest);
  }

  function card(argument) {
    const missing = argument.k === "assumed" || argument.co;
    return el("li", { class: `card${argument.co ? " bad" : ""}`, data: { arg: argument.place }, on: { mouseenter: () => hover(argument), mouseleave: () => hover(null), focusin: () => hover(argument), focusout: () => hover(null) } },
      el("div", { class: "title" }, named(argument.n), el("span", { class: "kind", data: { kind: argument.k } }, sign(argument.k), argument.k), argument.w ? el("span", { class: "badge" }, "weak") : null),
      el("dl", { class: "facts" },
        fact("value", argument.pv && mono(argument.pv)),
        fact("source", cited(argument) || (missing ? "none in this run" : "")),
        fact("span", mono(argument.c?.[2])),
        fact("digest", mono(argument.dg)),
        fact("over budget", list(argument.co)),
        fact("accepted from", list(argument.ac)),
        fact("nearest", list(argument.ne)),
        fact("leaves", leaves(argument))),
      jump(argument),
      others(argument));
  }

  function about(call) {
    const at = call.offset !== null ? [`${offset(call)} into run ${call.run.number + 1}`, call.duration !== null ? `took ${length(call.duration)}` : ""] : [`call ${offset(call)} of run ${call.run.number + 1}`];
    return [...at, call.st ? `step ${call.st}` : ""].filter(Boolean).join(", ");
  }

  panel.addEventListener("keydown", (event) => {
    if (event.key === "Escape") back();
  });

  return (call) => {
    if (!call) {
      panel.replaceChildren(el("h2", {}, "No call chosen"), el("p", { class: "about" }, "Choose a call to see where each argument came from."));
      return;
    }
    const why = (call.v ?? []).map((text) => el("li", {}, text));
    if (!why.length && TROUBLE.includes(call.s)) why.push(el("li", {}, STATUSES[call.s]));
    const tokens = (call.u ?? []).map((text) => el("li", {}, `uncited in exempt text: ${text}`));
    panel.replaceChildren(
      el("h2", { tabindex: -1 }, named(call.t), badge(call.s)),
      el("p", { class: "about" }, about(call)),
      why.length || tokens.length ? el("ul", { class: `why${mood(call) === " bad" ? "" : " warn"}` }, why, tokens) : "",
      el("h3", {}, call.args.length ? plural(call.args.length + (call.more ?? 0), "argument") : "No arguments"),
      el("ul", { class: "facts-list" }, call.shown.map(card), call.more ? el("li", {}, `and ${call.more} more`) : null),
      el("h3", {}, "The call"),
      el("dl", { class: "facts" },
        fact("status", `${statusName(call.s)}: ${STATUSES[call.s]}`),
        fact("mode", call.m), fact("budget", call.b === undefined ? "" : `${plural(call.b, "leaf").replace("leafs", "leaves")} of an unaccepted kind`),
        fact("tool", call.mu === undefined ? "" : call.mu ? "may change things" : "read-only"),
        fact("error", mono(call.e)), fact("not kept", call.un), fact("evicted", call.ev && plural(call.ev, "result")), fact("cut", list(call.tc)),
        fact("agent", call.ag), fact("run", mono(call.rn)), fact("trace", mono(call.tr)), fact("span", mono(call.sp)), fact("parent", mono(call.pa)),
        fact("policy", mono(call.p)), fact("scope", mono(call.sc)), fact("read from", mono(call.pl))));
    panel.scrollTop = 0;
  };
}
