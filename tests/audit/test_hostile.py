"""Spans that nobody in his right mind would write: an answer, and never a crash."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.audit.cases import clean
from tests.audit.traces import audited, call, cites, run, span

from citespan import semconv
from citespan.audit import FORMATS, store
from citespan.core.policy import ArgumentRule, Policy, ToolRule
from citespan.errors import TraceFileError
from citespan.otel.digest import VARIABLE, Digester, find_key
from citespan.traces.model import LinkRecord

KEYS = [
    *(value for name, value in vars(semconv).items() if name.isupper() and isinstance(value, str) and "." in value),
    *(key + "path" for key in (semconv.KIND, semconv.SOURCE_TOOL, semconv.SOURCE_FIELD, semconv.SOURCE_SPAN)),
    *(key + "path" for key in (semconv.DIGEST, semconv.PROJECTION, semconv.WEAK, semconv.COUNT)),
]
PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
VALUES = st.recursive(PLAIN, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=6)
LIKELY = st.sampled_from(
    [
        "ok",
        "blocked",
        "assumed",
        "observed",
        "path",
        "*",
        "",
        "look",
        "0" * 15 + "2",
        '[{"path":"path.0","kind":"user"}]',
    ]
)
POLICY = Policy(
    weak="same_name",
    scan="count",
    tools={"*": ToolRule(arguments={"path": ArgumentRule(sources=("look.files.*",)), "*": ArgumentRule()})},
)


@settings(max_examples=150, deadline=None)
@given(
    st.dictionaries(st.sampled_from(KEYS), VALUES | LIKELY, max_size=12),
    st.tuples(*[st.integers()] * 5),
    st.tuples(*[st.text() | LIKELY] * 4),
)
def test_any_attributes_of_any_type(attributes: dict[str, Any], numbers: tuple[int, ...], ids: tuple[str, ...]) -> None:
    """Times, ids and counts of any size as well; with the key at hand, and a policy."""
    start, end, *dropped = numbers
    trace, own, parent, place = ids
    links = (LinkRecord(trace, own, attributes), LinkRecord(own, parent, {semconv.LINK_ARGUMENTS: [place, place]}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, "a key for tests")
        attributes.setdefault(semconv.DIGEST_KEY, Digester(find_key({VARIABLE: "a key for tests"})).key_id)
        odd = call(5, said=attributes, links=links)._replace(
            trace_id=trace, span_id=own, parent_id=parent, start=start, end=end, dropped=tuple(dropped), place=place
        )
        audit = audited((*clean(), odd, odd._replace(start=end)), POLICY)
    for render in FORMATS.values():
        render(audit).decode()


@pytest.mark.parametrize("value", [10**5000, ["\ud800"], {"deep": 1}], ids=["digits", "surrogate", "deep"])
def test_what_has_no_plain_form(value: Any) -> None:
    """Integers of thousands of digits, lone surrogates, a thousand levels of nesting."""
    if value == {"deep": 1}:
        for _ in range(5000):
            value = [value]
    said = {semconv.TOOL_CALL_ARGUMENTS: value, "x": value}
    assert audited((run(), call(2, said=said))).calls == 1


def test_parents_in_a_circle() -> None:
    """A walk up ends; whoever is above whom starts before it."""
    spans = (run(), call(2, status=None, parent=3, start=5), call(3, status=None, parent=2, start=5))
    assert dict(audited(spans).counts) == {"unguarded": 2}


def test_a_span_that_is_its_own_parent() -> None:
    """It is not its own cover."""
    assert dict(audited((run(), call(2, status=None, parent=2))).counts) == {"unguarded": 1}


def test_a_chain_that_is_too_deep_covers_nothing() -> None:
    """A framework's span is near its call; a long way up costs no time."""
    chain = [span(number, parent=number - 1, start=2.1) for number in range(3, 200)]
    spans = (run(), call(2, end=900), *chain, call(200, status=None, parent=199, start=3))
    assert dict(audited(spans).counts) == {"unguarded": 1}


def test_more_names_than_are_kept_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others stand in their rows, and mean the same."""
    monkeypatch.setattr(store, "_MAX_NAMES", 3)
    spans = [
        each
        for number in range(10)
        for each in (
            call(2 * number + 2, f"tool {number}"),
            call(2 * number + 3, said=cites(2 * number + 2, f"tool {number}", argument=f"a{number}")),
        )
    ]
    assert dict(audited((run(), *spans)).counts) == {}
    assert dict(audited((run(), *spans[1:])).counts) == {"dead-citation": 1}


def test_a_full_disk_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to do about it; nothing is left open."""
    monkeypatch.setattr(store.Store.__init__, "__defaults__", (8 * store.PAGE_BYTES,))
    with pytest.raises(TraceFileError, match="TMPDIR"):
        audited(span(number) for number in range(5000))
