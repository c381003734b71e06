// A list of any length of which only the rows in view are in the document: the ARIA grid of each view.
// One row can be reached by Tab (roving tabindex); arrows go through rows, and inside a row through its buttons.

const OVERSCAN = 6;
const HEADS = 28;
const MOST_PRINTED = 2000;
// Browsers do not make an element higher than some 17 million pixels (Firefox), 33 (Chromium).
const MOST_ROWS = 500000;

function grid(host, { label, kind, height, heads, make, onRow, onButton, onEnter, onScroll }) {
  const body = el("div", { class: "body", role: "rowgroup" });
  const table = el("div", { role: "grid", "aria-label": label },
    el("div", { class: "top-row", role: "rowgroup" }, el("div", { class: "heads", role: "row", "aria-rowindex": 1 },
      heads.map((text) => el("div", { role: "columnheader" }, text)))),
    body);
  const live = new Map();
  const view = { host, items: [], total: 0, active: 0, chosen: () => false };
  let whole = false;
  host.classList.add(kind);
  const cut = el("p", { class: "note", hidden: true });
  host.append(table, cut, el("p", { class: "empty", hidden: true }, "No call matches the filter."));

  function row(index) {
    const node = make(view.items[index]);
    node.setAttribute("role", "row");
    node.setAttribute("aria-rowindex", index + 2);
    node.dataset.index = index;
    node.tabIndex = index === view.active ? 0 : -1;
    node.style.top = `${index * height}px`;
    mark(node, index);
    return node;
  }

  function mark(node, index) {
    if (view.items[index].call) node.setAttribute("aria-selected", view.chosen(view.items[index]));
  }

  view.render = () => {
    const last = view.items.length - 1;
    const top = host.scrollTop;
    const from = whole ? 0 : Math.max(0, Math.floor(top / height) - OVERSCAN);
    const to = whole ? Math.min(last, MOST_PRINTED - 1) : Math.min(last, Math.ceil((top + host.clientHeight) / height) + OVERSCAN);
    for (const [index, node] of live) {
      if ((index < from || index > to) && index !== view.active) {
        node.remove();
        live.delete(index);
      }
    }
    let after = null;
    const wanted = [];
    for (let index = from; index <= to; index++) wanted.push(index);
    if (view.active <= last && view.active >= 0) {
      if (view.active < from) wanted.unshift(view.active);
      if (view.active > to) wanted.push(view.active);
    }
    for (const index of wanted.reverse()) {
      if (!live.has(index)) {
        const node = row(index);
        live.set(index, node);
        body.insertBefore(node, after);
      }
      after = live.get(index);
    }
  };

  // What is not in the list, or not on paper.
  function tell() {
    const shown = whole ? Math.min(MOST_PRINTED, view.items.length) : view.items.length;
    cut.hidden = shown === view.total;
    cut.textContent = `The first ${shown.toLocaleString("en")} of ${view.total.toLocaleString("en")} rows: filter to ${whole ? "print" : "see"} others.`;
  }

  // total: how many rows there would be, where they are too many for one list.
  view.show = (items, total = items.length) => {
    live.clear();
    body.replaceChildren();
    view.items = items;
    view.total = total;
    view.active = Math.max(0, Math.min(view.active, items.length - 1));
    body.style.height = `${items.length * height}px`;
    table.setAttribute("aria-rowcount", items.length + 1);
    host.lastChild.hidden = items.length > 0;
    tell();
    view.render();
  };
  view.rowOf = (index) => live.get(index);
  view.remark = () => live.forEach((node, index) => mark(node, index));
  view.expand = (on) => {
    whole = on;
    view.render();
    tell();
  };

  view.activate = (index) => {
    if (index < 0 || index >= view.items.length) return;
    const before = live.get(view.active);
    if (before) before.tabIndex = -1;
    view.active = index;
    view.render();
    live.get(index).tabIndex = 0;
  };

  // Bring a row into view, in the middle if it was not there.
  view.reveal = (index) => {
    const top = index * height;
    const room = host.clientHeight - HEADS;
    if (top < host.scrollTop || top + height > host.scrollTop + room) host.scrollTop = top - room / 2 + height / 2;
    view.render();
  };
  view.focus = (index) => {
    view.activate(index);
    view.reveal(index);
    live.get(index)?.focus({ preventScroll: true });
  };
  view.flash = (index) => {
    const node = live.get(index);
    if (!node) return;
    node.classList.remove("flash");
    void node.offsetWidth; // the animation starts anew
    node.classList.add("flash");
    node.addEventListener("animationend", () => node.classList.remove("flash"), { once: true });
  };

  const indexOf = (target) => {
    const node = target.closest?.(".row");
    return node ? Number(node.dataset.index) : -1;
  };
  const onItem = (event, act) => {
    const index = indexOf(event.target);
    if (index >= 0) act(index, event.target.closest("button"));
  };
  body.addEventListener("focusin", (event) => onItem(event, (index, button) => {
    view.activate(index);
    onRow(view.items[index]);
    onButton(view.items[index], button);
  }));
  body.addEventListener("click", (event) => onItem(event, (index, button) => {
    if (!button) live.get(index).focus({ preventScroll: true });
    else onEnter(view.items[index], button);
  }));
  body.addEventListener("mouseover", (event) => onItem(event, (index, button) => onButton(view.items[index], button)));
  body.addEventListener("mouseleave", () => onButton(null, null));
  body.addEventListener("focusout", (event) => { if (!body.contains(event.relatedTarget)) onButton(null, null); });
  host.addEventListener("scroll", framed(() => {
    view.render();
    onScroll();
  }), { passive: true });

  table.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || indexOf(event.target) < 0) return;
    const index = view.active;
    const page = Math.max(1, Math.floor((host.clientHeight - HEADS) / height) - 1);
    const steps = { ArrowDown: index + 1, ArrowUp: index - 1, PageDown: index + page, PageUp: index - page, Home: 0, End: view.items.length - 1 };
    const buttons = [...live.get(index).querySelectorAll("button")];
    const at = buttons.indexOf(event.target);
    if (event.key in steps) view.focus(Math.max(0, Math.min(view.items.length - 1, steps[event.key])));
    else if (event.key === "ArrowRight" && at + 1 < buttons.length) buttons[at + 1].focus({ preventScroll: true });
    else if (event.key === "ArrowLeft" && at > 0) buttons[at - 1].focus({ preventScroll: true });
    else if ((event.key === "ArrowLeft" && at === 0) || (event.key === "Escape" && at >= 0)) live.get(index).focus({ preventScroll: true });
    else if (event.key === "Enter" && at < 0) onEnter(view.items[index], null);
    else return;
    event.preventDefault();
  });
  return view;
}
