// From an argument's chip to the field that it cites. Where the source is out of sight the arrow ends at a marker that
// names it; where there is no source, it ends in nothing but the reason.

const EDGE = 8;

// hovered: { argument } or { field }; without it the arrows of the chosen call are drawn, thinner.
function arrowsOf(view, pane, overlay, indexOf) {
  const box = (node) => {
    const outer = pane.getBoundingClientRect();
    const inner = node.getBoundingClientRect();
    return { left: inner.left - outer.left, top: inner.top - outer.top, width: inner.width, height: inner.height };
  };
  const inSight = (b) => b.top + b.height > HEADS && b.top < pane.clientHeight && b.width > 0;
  const chipOf = (argument) => {
    const row = view.rowOf(indexOf(argument.call));
    return row && (row.querySelector(`[data-arg="${argument.place}"]`) ?? row.querySelector(".more.in"));
  };
  const fieldOf = (argument) => {
    const holder = argument.source ?? argument.call.run;
    const row = view.rowOf(indexOf(holder));
    return row && (row.querySelector(`[data-field="${argument.field.place}"]`) ?? row.querySelector(".more.out"));
  };

  function draw(canvas, argument, strong) {
    const start = chipOf(argument);
    if (!start) return;
    const from = box(start);
    if (!inSight(from)) return;
    const end = target(argument, from);
    if (!end || (end.loose && !strong)) return;
    const up = end.y < from.top + from.height / 2;
    const x1 = from.left + Math.min(12, from.width / 2);
    const y1 = up ? from.top : from.top + from.height;
    const way = Math.abs(end.y - y1);
    const bend = Math.max(8, way / 2.2);
    const aside = way > 90 ? Math.min(70, way / 5) : 0;
    const sense = up ? -1 : 1;
    const curve = `M${x1} ${y1}C${x1 - aside} ${y1 + sense * bend} ${end.x - aside} ${end.y - sense * bend} ${end.x} ${end.y}`;
    const how = strong ? " strong" : "";
    canvas.append(drawn("path", { class: `arrow${how}${end.loose ? " none" : ""}`, d: curve, "data-kind": argument.k }));
    if (!end.loose) {
      const tip = `M${end.x} ${end.y}l-4 ${-sense * 7}h8z`;
      canvas.append(drawn("path", { class: `head${how}`, d: tip, "data-kind": argument.k }));
    }
    if (end.label && strong) overlay.append(marker(end, argument.k));
    if (strong && end.node) end.node.classList.add("lit");
  }

  // Where an arrow ends: at a chip in sight, at an edge of the pane with the name of what lies there, or in nothing.
  function target(argument, from) {
    if (argument.field) {
      const node = fieldOf(argument);
      const b = node && box(node);
      if (b && inSight(b)) return { x: b.left + Math.min(12, b.width / 2), y: b.top < from.top ? b.top + b.height : b.top, node };
      const holder = argument.source ?? argument.call.run;
      const hidden = indexOf(holder) < 0 ? ", filtered out" : "";
      const below = !hidden && indexOf(holder) > indexOf(argument.call);
      return edge(from, below, `${below ? "↓" : "↑"} ${citedName(argument.c)}${hidden}`);
    }
    if (argument.c) return edge(from, false, `${citedName(argument.c)}, not on this page`);
    const why = sourceWords(argument) || KINDS[argument.k].says;
    const above = from.top - 22 > HEADS;
    return { x: from.left + Math.min(12, from.width / 2), y: above ? from.top - 14 : from.top + from.height + 14, label: why, loose: true, above };
  }

  function edge(from, below, label) {
    return { x: from.left + Math.min(12, from.width / 2), y: below ? pane.clientHeight - 26 : HEADS + 22, label, above: !below };
  }

  function marker(end, kind) {
    const node = el("div", { class: "marker", data: { kind } }, end.label);
    node.style.left = `${Math.max(EDGE, Math.min(end.x - 14, pane.clientWidth - 200))}px`;
    node.style.top = `${end.above ? end.y - 20 : end.y}px`;
    return node;
  }

  return (call, hovered) => {
    for (const node of pane.querySelectorAll(".lit")) node.classList.remove("lit");
    overlay.replaceChildren();
    const canvas = drawn("svg", {});
    overlay.append(canvas);
    if (hovered?.argument) draw(canvas, hovered.argument, true);
    else if (hovered?.field) hovered.field.by.slice(0, 200).forEach((argument) => draw(canvas, argument, true));
    else if (call) call.args.slice(0, 64).forEach((argument) => draw(canvas, argument, false));
  };
}
