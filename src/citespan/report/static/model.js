// From the page's data to calls that know their run, their sources and who cites them.

const DATA = JSON.parse(byId("data").textContent);
const calls = [];
const runs = [];

function citedName(cited) {
  return [cited[0], cited[1]].filter(Boolean).join(".");
}

function readModel() {
  const bySpan = new Map();
  for (const group of DATA.runs) {
    const run = { number: runs.length, start: group.start, calls: [], given: new Map(), length: 0 };
    runs.push(run);
    for (const [offset, duration, facts] of group.calls) {
      const call = { number: calls.length, run, offset, duration, ...facts, args: facts.a ?? [], gives: new Map() };
      call.args.forEach((argument, place) => Object.assign(argument, { call, place }));
      call.shown = inOrder(call);
      calls.push(call);
      run.calls.push(call);
      run.length = Math.max(run.length, (offset ?? 0) + (duration ?? 0));
      if (call.sp) {
        if (!bySpan.has(call.sp)) bySpan.set(call.sp, []);
        bySpan.get(call.sp).push(call);
      }
    }
    const named = run.calls.find((call) => call.ag) ?? {};
    run.name = named.ag || "run";
    run.id = run.calls[0].rn || "";
    run.trace = run.calls[0].tr || "";
  }
  for (const call of calls) for (const argument of call.args) resolve(argument, call, bySpan);
}

// What counted against the budget first, and last what is uncited and may be; the rest as the span has them.
function inOrder(call) {
  const worth = (argument) => (argument.co ? 0 : argument.k === "assumed" ? 2 : 1);
  return [...call.args].sort((one, other) => worth(one) - worth(other));
}

// `argument.source`: the call of this page that it cites, and in `argument.field` the entry of that call's `gives`.
function resolve(argument, call, bySpan) {
  const cited = argument.c;
  argument.others = (argument.al ?? []).map((each) => ({ tool: each[0], call: sourceOf(each, call, bySpan) }));
  if (!cited) return;
  if (!cited[0]) {
    argument.field = entry(call.run.given, cited[1]);
    argument.field.by.push(argument);
    return;
  }
  const source = sourceOf(cited, call, bySpan);
  if (!source) return;
  argument.source = source;
  argument.field = entry(source.gives, cited[1] || "");
  argument.field.by.push(argument);
}

// The call with that span id in the trace that is named, else in the same run; never a guess by name.
function sourceOf(cited, call, bySpan) {
  const candidates = ((cited[2] && bySpan.get(cited[2])) || []).filter((each) => each !== call);
  const trace = cited[3] || call.tr;
  return candidates.find((each) => each.tr === trace) ?? candidates.find((each) => each.run === call.run) ?? null;
}

function entry(fields, name) {
  if (!fields.has(name)) fields.set(name, { name, place: fields.size, by: [] });
  return fields.get(name);
}

function count(things, key) {
  const counts = Object.create(null); // a tool may be named "constructor"
  for (const thing of things) counts[key(thing)] = (counts[key(thing)] ?? 0) + 1;
  return counts;
}

// All that the text filter looks at, made when first asked for.
function haystack(call) {
  if (call.hay === undefined) {
    const words = [call.t, call.s, call.ag, call.rn, call.tr, call.sp, call.e, call.st, call.p, ...(call.v ?? []), ...(call.u ?? [])];
    for (const argument of call.args) {
      words.push(argument.n, argument.k, argument.pr, argument.dg, argument.pv, ...(argument.c ?? []));
      for (const list of [argument.ac, argument.ne, argument.co]) if (list) words.push(...list);
    }
    call.hay = words.filter(Boolean).join("\n").toLowerCase();
  }
  return call.hay;
}

function matchingOf(filter) {
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  return calls.filter(
    (call) =>
      (!filter.tool || call.t === filter.tool) &&
      (!filter.statuses.size || filter.statuses.has(call.s)) &&
      (!filter.kinds.size || call.args.some((argument) => filter.kinds.has(argument.k))) &&
      words.every((word) => haystack(call).includes(word)),
  );
}
