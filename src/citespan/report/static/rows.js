// One row of the timeline, one of the table. Each is made when it comes into view.

const ROW = 56;
const CELL = 34;
const MOST_CHIPS = 4;
const MOST_FIELDS = 6;

const gridcell = (facts, ...inside) => el("div", { role: "gridcell", ...facts }, ...inside);
const named = (text, facts) => el("span", { class: "name", ...facts }, text);

// For ears only.
const hushed = (text) => el("span", { class: "hushed" }, text);

function badge(status) {
  return el("span", { class: "badge", data: { status } }, statusName(status));
}

function mood(call) {
  if (call.s === "blocked" || call.s === "error") return " bad";
  return TROUBLE.includes(call.s) ? " warn" : "";
}

function sourceWords(argument) {
  if (argument.c) return citedName(argument.c);
  return { schema: "the tool's schema", invented: "an approved proposal" }[argument.k] ?? "";
}

// What an argument's chip says, after the name, to whoever does not see it.
function spoken(argument) {
  const source = sourceWords(argument);
  const how = argument.pr ? ` by ${argument.pr}` : "";
  const end = argument.co ? ", counts against the budget" : "";
  return `: ${argument.k}${source ? `, from ${source}${how}` : ""}${argument.w ? ", weak" : ""}${end}`;
}

function chip(argument) {
  const from = argument.c ? argument.c[0] || argument.c[1] : "";
  return el(
    "button",
    { type: "button", class: "chip", tabindex: -1, data: { kind: argument.k, arg: argument.place, ...(argument.co && { counted: "" }) } },
    sign(argument.k),
    el("span", {}, argument.n),
    argument.pv ? el("span", { class: "from" }, `= ${argument.pv}`) : null,
    from ? el("span", { class: "from", "aria-hidden": "true" }, `← ${from}`) : null,
    hushed(spoken(argument)),
  );
}

function fieldChip(field, holder) {
  const users = new Set(field.by.map((each) => each.call.number)).size;
  return el(
    "button",
    { type: "button", class: "chip field", tabindex: -1, data: { field: field.place, holder } },
    el("span", {}, field.name || "result"),
    hushed(`: cited by ${plural(users, "call")}`),
  );
}

function line(way, chips, most, out) {
  const rest = chips.length - most;
  return el("div", {}, el("span", { class: "way" }, way), chips.slice(0, most).map((make) => make()),
    rest > 0 ? el("span", { class: `more ${out ? "out" : "in"}` }, `+${rest}`) : null);
}

function flow(call) {
  const taken = call.shown.map((argument) => () => chip(argument));
  const given = [...call.gives.values()].map((field) => () => fieldChip(field, "call"));
  return el("div", { class: "flow" },
    taken.length ? line("takes", taken, MOST_CHIPS, false) : el("div", {}, el("span", { class: "way" }, "takes"), el("span", { class: "more" }, "no arguments")),
    given.length ? line("gives", given, MOST_FIELDS, true) : null);
}

function lane(call) {
  const bar = el("i");
  const whole = call.run.length || 1;
  bar.style.left = `${(100 * (call.offset ?? 0)) / whole}%`;
  bar.style.width = `${(100 * (call.duration ?? 0)) / whole}%`;
  bar.style.maxWidth = `calc(100% - ${bar.style.left})`;
  return el("div", { class: "lane", "aria-hidden": "true" }, call.offset === null ? null : bar);
}

function offset(call) {
  return call.offset === null ? `#${call.run.calls.indexOf(call) + 1}` : call.offset ? `+${length(call.offset)}` : "+0";
}

function timelineRow(item) {
  return item.call ? callRow(item.call) : runRow(item.run);
}

function callRow(call) {
  return el("div", { class: `row${mood(call)}` },
    gridcell({ class: "time" }, el("b", {}, offset(call)), length(call.duration)),
    gridcell({ class: "tool" }, named(call.t), badge(call.s)),
    gridcell({}, flow(call)),
    gridcell({}, lane(call)));
}

function runRow(run) {
  const counts = count(run.calls, (call) => call.s);
  const how = Object.keys(STATUSES).filter((status) => counts[status]).map((status) => `${counts[status]} ${statusName(status)}`).join(", ");
  const given = [...run.given.values()].map((field) => () => fieldChip(field, "run"));
  return el("div", { class: "row run" },
    gridcell({ class: "time" }, el("b", {}, `Run ${run.number + 1}`), length(run.length || null)),
    gridcell({ class: "tool" }, named(run.name), el("span", { class: "id" }, run.id || run.trace)),
    gridcell({}, el("div", { class: "flow" },
      el("div", {}, el("span", { class: "way" }, "calls"), el("span", { class: "cell" }, `${how} · ${moment(run.start)}`)),
      given.length ? line("given", given, MOST_FIELDS, true) : null)),
    gridcell({}, el("div", { class: "lane scale", "aria-hidden": "true" }, run.length ? [el("span", {}, "0"), el("span", {}, length(run.length))] : null)));
}

function tableRow({ call, argument }) {
  const cell = (text, facts) => gridcell({ class: "cell", ...facts }, text ?? "");
  return el("div", { class: `row${mood(call)}` },
    cell(offset(call)),
    gridcell({ class: "cell" }, named(call.t)),
    gridcell({}, badge(call.s)),
    cell(argument?.n, { class: "cell mono" }),
    argument ? gridcell({ class: "cell kind", data: { kind: argument.k } }, sign(argument.k), argument.k) : cell(""),
    cell(argument && sourceWords(argument), { class: "cell mono" }),
    cell(argument?.pr),
    cell(argument?.w ? "weak" : ""),
    cell(argument?.dg, { class: "cell mono" }));
}
