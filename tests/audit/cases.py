"""One minimal trace per rule: each breaks that rule, once, and no other."""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.audit.traces import call, cites, run, span, span_id

from citespan import semconv
from citespan.core.policy import ArgumentRule, Policy, ToolRule
from citespan.traces.model import SpanRecord


class Case(NamedTuple):
    """Spans that break one rule, and the policy that they are held against."""

    spans: tuple[SpanRecord, ...]
    policy: Policy | None = None


def clean(trace: int = 1, **more: Any) -> tuple[SpanRecord, ...]:
    """A run with a call, and a call that cites it."""
    return (run(trace=trace), call(2, trace=trace), call(3, "cut", said=cites(2, trace=trace), trace=trace, **more))


_GUESS = {semconv.KIND + "path": "assumed", semconv.COUNT + "assumed": 1}

CASES: dict[str, Case] = {
    "blocked": Case((run(), call(2, status="blocked"))),
    "flagged": Case((run(), call(2, status="flagged"))),
    "guard-error": Case((run(), call(2, status="error", said={semconv.VIOLATIONS: ["guard=it broke"]}))),
    "unguarded": Case((run(), call(2, status=None))),
    "dead-citation": Case((run(), call(3, said=cites(2)))),
    "absent-trace": Case((run(), call(3, said=cites(2, trace=9)))),
    "untraced-source": Case((run(), call(3, said={**cites(2), semconv.SOURCE_SPAN + "path": None, "links": ()}))),
    "later-citation": Case((run(), call(2), call(3, said=cites(2), start=2.2))),
    "clock-skew": Case((run(), call(2), call(3, said=cites(2), start=2.2, resource={"service.instance.id": "two"}))),
    "failed-source": Case((run(), call(2, said={semconv.ERROR_TYPE: "OSError"}), call(3, said=cites(2)))),
    "wrong-source": Case((run(), call(2, "list"), call(3, said=cites(2)))),
    "self-citation": Case((run(), call(3, said=cites(3)))),
    "digest-mismatch": Case((run(), call(2), call(3, said=cites(2)), call(4, said=cites(2, digest="d2")))),
    "inconsistent": Case((run(), call(2, said={**_GUESS, semconv.ASSUMED_FIELDS: ["path"]}))),
    "over-policy": Case((run(), call(2, said={**_GUESS, semconv.BUDGET: 5})), Policy()),
    "over-policy-tagged": Case((run(), call(2, said=_GUESS)), Policy(mode="tag")),
    "other-policy": Case((run(), call(2, said={semconv.POLICY: "0" * 16})), Policy()),
    "undecided": Case((run(), call(2)), Policy(tools={"github/*": ToolRule(max_assumed=3)})),
    "lost-attributes": Case((run(), call(2, dropped=(3, 0, 0)))),
    "truncated": Case((run(), call(2, said={semconv.TRUNCATED: ["arguments=9"]}))),
    "several-policies": Case((run(), call(2, said={semconv.POLICY: "a"}), call(3, said={semconv.POLICY: "b"}))),
    "no-calls": Case((run(),)),
    "unclosed-run": Case((span(1, parent=None, start=0.5), call(2))),
    "unended-span": Case((run(), call(2), span(3, end=0))),
    "missing-parent": Case((run(), call(2), span(3, parent=9), span(4, parent=9))),
    "remote-parent": Case((run(parent=2), call(3), span(2, parent=9, start=0.1, kind=2))),
    "early-child": Case((run(), call(2), span(3, parent=2, start=1.9))),
    "conflicting-spans": Case((run(), call(2), span(3), span(3, "another"))),
}

_FROM = Policy(tools={"cut": ToolRule(arguments={"path": ArgumentRule(sources=("look.files.*",))})})
_PAIR = (run(), call(2), call(3, "cut", said=cites(2, field="hint")))

#: further traces: name -> the rules that they break, and how often each
MORE: dict[str, tuple[Case, dict[str, int]]] = {
    "a clean run": (Case(clean()), {}),
    "nothing at all": (Case(()), {"no-calls": 1}),
    "two clean runs": (Case((*clean(1), *clean(2))), {}),
    "times that are equal": (Case((run(), call(2), call(3, said=cites(2), start=2.5))), {}),
    "less than the allowance": (Case((run(), call(2), call(3, said=cites(2), start=2.495))), {}),
    "a source without an end": (
        Case((run(), call(2, end=0), call(3, said=cites(2)))),
        {"later-citation": 1, "unended-span": 1},
    ),
    "clocks that differ by more than a minute": (
        Case((run(), call(2, end=90), call(3, said=cites(2), resource={"service.instance.id": "two"}))),
        {"later-citation": 1},
    ),
    "citing a refused call": (
        Case((run(), call(2, status="blocked"), call(3, said=cites(2)))),
        {"blocked": 1, "failed-source": 1},
    ),
    "citing what was not recorded": (
        Case((run(), call(2, said={semconv.UNRECORDED: "error result"}), call(3, said=cites(2)))),
        {"failed-source": 1},
    ),
    "citing a call that ended with an error": (
        Case((run(), call(2)._replace(status="ERROR"), call(3, said=cites(2)))),
        {"failed-source": 1},
    ),
    "citing what is no tool call": (Case((run(), span(2), call(3, said=cites(2)))), {"wrong-source": 1}),
    "a source span without its link": (Case((run(), call(3, said={**cites(2), "links": ()}))), {"dead-citation": 1}),
    "other digest keys do not compare": (
        Case((run(), call(2), call(3, said=cites(2)), call(4, said={**cites(2, digest="e"), semconv.DIGEST_KEY: "k"}))),
        {},
    ),
    "fields with a star do not compare": (
        Case((run(), call(2), *(call(n, said=cites(2, field="by_id.*", digest=f"d{n}")) for n in (3, 4)))),
        {},
    ),
    "projections do not compare": (
        Case((run(), call(2), call(3, said=cites(2)), call(4, said={
            **cites(2, digest="e"), semconv.PROJECTION + "path": "key"}))),
        {},
    ),
    "computed values do not compare": (
        Case((run(), call(2), call(3, said=cites(2)), call(4, said={
            **cites(2, digest="e"), semconv.KIND + "path": "derived", semconv.COUNT + "derived": 1}))),
        {},
    ),
    "status ok with violations": (Case((run(), call(2, said={semconv.VIOLATIONS: ["x"]}))), {"inconsistent": 1}),
    "mode off judges nothing": (
        Case((run(), call(2, said={**_GUESS, semconv.ASSUMED_FIELDS: ["path"], semconv.MODE: "off"}))),
        {},
    ),
    "blocked without error.type": (
        Case((run(), call(2, status="blocked", said={semconv.ERROR_TYPE: None}))),
        {"blocked": 1, "inconsistent": 1},
    ),
    "something ran inside a blocked call": (
        Case((run(), call(2, status="blocked"), span(3, parent=2), span(4, parent=2))),
        {"blocked": 1, "inconsistent": 1},
    ),
    "a kind that is shown and not counted": (
        Case((run(), call(2, said={semconv.KIND + "path": "user"}))),
        {"inconsistent": 1},
    ),
    "an argument that is better than its worst leaf": (
        Case((run(), call(2, said={
            semconv.KIND + "path": "user", semconv.COUNT + "user": 1, semconv.COUNT + "assumed": 1,
            semconv.LEAVES: '[{"path":"path.0","kind":"user"},{"path":"path.1","kind":"assumed"}]'}))),
        {"inconsistent": 1},
    ),
    "what lost attributes is not called inconsistent": (
        Case((run(), call(2, said={semconv.KIND + "path": "user"}, dropped=(1, 0, 0)))),
        {"lost-attributes": 1},
    ),
    "over a policy, and blocked already": (Case((run(), call(2, status="blocked")), Policy()), {"blocked": 1}),
    "allowed by the policy": (
        Case((run(), call(2, said={semconv.KIND + "reason": "assumed", semconv.COUNT + "assumed": 1})), Policy()),
        {},
    ),
    "within the policy's budget": (Case((run(), call(2, said=_GUESS)), Policy(max_assumed=1)), {}),
    "a policy that is off": (Case((run(), call(2, said=_GUESS)), Policy(mode="off")), {}),
    "a kind that the policy does not accept": (Case(_PAIR, Policy(accept=frozenset({"user"}))), {"over-policy": 1}),
    "a field that the policy does not name": (Case(_PAIR, _FROM), {"over-policy": 1}),
    "a field that the policy names": (Case(clean(), _FROM), {}),
    "a weak citation, ignored": (
        Case((run(), call(2), call(3, said=cites(2, **{f"{semconv.WEAK}path": True}))), Policy(weak="ignore")),
        {"over-policy": 1},
    ),
    "a weak citation, counted": (
        Case((run(), call(2), call(3, said=cites(2, **{f"{semconv.WEAK}path": True}))), Policy()),
        {},
    ),
    "rules of a server for other tools": (Case(clean(), Policy(tools={"github/git_*": ToolRule()})), {}),
    "a served request whose caller is not here": (
        Case((run(parent=2), call(3), span(2, parent=9, start=0.1, kind=2), span(4, parent=9))),
        {"missing-parent": 1},
    ),
    "a run whose caller is in another process, as its flags say": (
        Case((run(parent=9, remote=True), call(2))),
        {"remote-parent": 1},
    ),
    "an outer agent and an inner one": (
        Case((run(), call(2), run(3, parent=2, start=2.1, end=2.4), call(4, parent=3))),
        {},
    ),
    "a framework's span around a judged call": (Case((run(), call(2, status=None, end=9), call(3, parent=2))), {}),
    "one that waited for the guard": (Case((run(), call(2, status="unguarded", end=9), call(3, parent=2))), {}),
    "a framework's span inside a judged call": (
        Case((run(), call(2, end=9), span(3, parent=2), call(4, parent=3, status=None))),
        {},
    ),
    "one that says so": (
        Case((run(), call(2, end=9), call(3, parent=2, status=None, said={semconv.WITHIN: True}))),
        {},
    ),
    "another tool's span inside a judged call": (
        Case((run(), call(2, end=9), call(3, "cut", parent=2, status=None))),
        {"unguarded": 1},
    ),
    "one inside that the second gate called unguarded": (
        Case((run(), call(2, end=9), call(3, parent=2, status="unguarded"))),
        {"unguarded": 1},
    ),
    "the same tool, called by an agent inside": (
        Case((run(), call(2, end=9), run(3, parent=2, start=2.1, end=8), call(4, parent=3, status=None))),
        {"unguarded": 1},
    ),
    "a tool that ran inside a refused call": (
        Case((run(), call(2, status="blocked"), call(3, parent=2, status=None))),
        {"blocked": 1, "unguarded": 1, "inconsistent": 1},
    ),
    "a run without citespan": (
        Case((run(), *(call(number, status=None, scope="my.agent") for number in (2, 3, 4)))),
        {"unguarded": 3},
    ),
    "a trace of one span": (Case((call(2, parent=None),)), {"unclosed-run": 1}),
    "another span id in the link": (
        Case((run(), call(2), call(3, said={**cites(2), semconv.SOURCE_SPAN + "path": span_id(7)}))),
        {"dead-citation": 1},
    ),
}  # fmt: skip
