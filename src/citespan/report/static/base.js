"use strict";

// What others wrote becomes text only: `el` makes nodes from names that stand in this file, and text nodes from the rest.

const SVG = "http://www.w3.org/2000/svg";

function el(name, facts, ...inside) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(facts ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "on") for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
    else if (key === "data") Object.assign(node.dataset, value);
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  for (const each of inside.flat()) if (each !== null && each !== undefined) node.append(each);
  return node;
}

function drawn(name, facts, ...inside) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(facts)) node.setAttribute(key, String(value));
  node.append(...inside);
  return node;
}

const byId = (id) => document.getElementById(id);

// A shape of its own for each kind, beside its colour and its name.
const KINDS = {
  observed: { path: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2z", says: "a tool of this run returned it" },
  user: { path: "M8 1.5 14.5 8 8 14.5 1.5 8z", says: "the user or the host said it" },
  schema: { path: "M2.5 2.5h11v11h-11z", says: "the tool's schema or the policy supplies it" },
  derived: { path: "M8 2l6.5 11.5h-13z", says: "computed from cited values, as the policy declares" },
  invented: { path: "M6 1.5h4V6h4.5v4H10v4.5H6V10H1.5V6H6z", says: "proposed as new and approved" },
  assumed: { path: "M3.4 1.5 8 6.1l4.6-4.6 1.9 1.9L9.9 8l4.6 4.6-1.9 1.9L8 9.9l-4.6 4.6-1.9-1.9L6.1 8 1.5 3.4z", says: "no accepted source" },
};
const STATUSES = {
  blocked: "the tool's body did not run",
  error: "the guard itself failed",
  unguarded: "ran, or may have run, without a judgement that could stop it",
  flagged: "over its budget, and ran",
  ok: "within its budget",
  none: "nothing says that it was judged",
};
const TROUBLE = ["blocked", "error", "unguarded", "flagged"];
const STATUS_NAMES = { none: "not judged" };
const statusName = (status) => STATUS_NAMES[status] ?? status;

function sign(kind) {
  return drawn("svg", { class: "sign", viewBox: "0 0 16 16", "aria-hidden": "true" }, drawn("path", { d: KINDS[kind].path }));
}

const plural = (number, what) => `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;

// A length of time, microseconds in, one unit out.
function length(micros) {
  if (micros === null) return "";
  if (micros < 1000) return `${micros} µs`;
  if (micros < 1e6) return `${(micros / 1e3).toFixed(micros < 1e4 ? 1 : 0)} ms`;
  if (micros < 120e6) return `${(micros / 1e6).toFixed(2)} s`;
  if (micros < 7200e6) return `${(micros / 60e6).toFixed(1)} min`;
  return `${(micros / 3600e6).toFixed(1)} h`;
}

function moment(millis) {
  if (!millis) return "at an unknown time";
  return new Date(millis).toISOString().replace("T", " ").replace("Z", " UTC");
}

// Run `act` at most once per frame.
function framed(act) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      act();
    });
  };
}
