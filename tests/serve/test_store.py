"""The store keeps within its bounds, drops whole traces, and never forgets quietly that it did."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citespan.serve.limits import MIB, Limits
from citespan.serve.packed import Batch
from citespan.serve.store import Dropped, Store, Trace


def batch(number: int, *spans: bytes, cites: frozenset[str] = frozenset()) -> Batch:
    return Batch(f"{number + 1:032x}", b"origin", spans or (b"span",), cites)


def add(store: Store, *batches: Batch, now: float = 0.0) -> int:
    return store.add(batches, now=now, time=now)


def find(store: Store, number: int, now: float = 0.0) -> Trace | Dropped | None:
    return store.find(f"{number + 1:032x}", now=now)


def kept(store: Store, number: int, now: float = 0.0) -> Trace:
    found = find(store, number, now)
    assert isinstance(found, Trace)
    return found


def test_a_span_that_comes_twice_counts_once() -> None:
    """Exporters and collectors deliver at least once."""
    store = Store(Limits())
    add(store, batch(0, b"one", b"two"))
    size = store.size
    assert add(store, batch(0, b"two", b"one")) == 0
    assert kept(store, 0).spans == 2
    assert store.size == size


def test_a_span_that_comes_changed_is_kept_beside_the_first() -> None:
    """Neither hides the other from the audit."""
    store = Store(Limits())
    add(store, batch(0, b"blocked"), batch(0, b"ok"))
    assert kept(store, 0).spans == 2


def test_the_trace_that_was_touched_longest_ago_goes_first() -> None:
    """As a whole; and it is known to have been here."""
    store = Store(Limits(traces=2))
    add(store, batch(0), batch(1), batch(0, b"more"), batch(2))
    assert find(store, 1) == Dropped(f"{2:032x}", "traces")
    assert kept(store, 0).spans == 2
    assert store.dropped == 1


def test_a_dropped_trace_that_comes_again_is_marked() -> None:
    """Its earlier spans are gone, so what is left must not look whole."""
    store = Store(Limits(traces=1))
    add(store, batch(0), batch(1), batch(0, b"late"))
    assert kept(store, 0).lost == "traces"
    add(store, batch(2), batch(0, b"later"))
    assert kept(store, 0).lost == "traces"


def test_spans_over_a_traces_limit_are_refused_and_counted() -> None:
    """Those that came first stay."""
    store = Store(Limits(spans=2))
    assert add(store, batch(0, b"1", b"2", b"3")) == 1
    assert add(store, batch(0, b"1", b"4")) == 1
    trace = kept(store, 0)
    assert (trace.spans, trace.refused) == (2, 2)


def test_one_trace_cannot_push_out_all_others() -> None:
    """Its bytes are limited to a share of all."""
    store = Store(Limits(memory=MIB))
    add(store, batch(0))
    refused = add(store, *(batch(1, bytes([number]) * 10_000) for number in range(200)))
    assert refused > 150
    assert find(store, 0) == kept(store, 0)
    assert kept(store, 1).size <= Limits(memory=MIB).of_a_trace


def test_a_trace_is_dropped_when_nothing_came_for_long_enough() -> None:
    """Asking about it does not keep it."""
    store = Store(Limits(keep=60))
    add(store, batch(0), now=0.0)
    add(store, batch(1), now=30.0)
    assert kept(store, 0, now=59.0)
    assert find(store, 0, now=60.0) == Dropped(f"{1:032x}", "age")
    assert kept(store, 1, now=60.0)
    assert [trace.trace_id for trace in store.newest(now=60.0)] == [f"{2:032x}"]


def test_what_was_dropped_is_remembered_within_bounds() -> None:
    """The ones that were dropped last."""
    store = Store(Limits(traces=1, dropped=10))
    add(store, *(batch(number) for number in range(100)))
    assert find(store, 98) == Dropped(f"{99:032x}", "traces")
    assert find(store, 88) is None
    assert store.dropped == 99


def test_a_span_that_cannot_be_used_marks_its_trace() -> None:
    """Also where nothing else of it has come."""
    store = Store(Limits())
    store.add([], lacking={f"{1:032x}": 2}, now=0.0, time=0.0)
    assert kept(store, 0).unusable == 2


def test_cited_traces_are_those_that_are_here() -> None:
    """And not more than a few."""
    store = Store(Limits())
    others = frozenset(f"{number + 1:032x}" for number in range(1, 200))
    add(store, batch(1), batch(0, cites=others))
    assert [trace.trace_id for trace in store.cited(kept(store, 0))] == [f"{2:032x}"]
    assert len(kept(store, 0).cites) == 16


@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.lists(st.binary(min_size=1, max_size=40_000), min_size=1, max_size=5)),
        max_size=60,
    ),
    st.sampled_from([1, 3, 100]),
)
def test_the_bounds_hold_whatever_comes(sent: list[tuple[int, list[bytes]]], traces: int) -> None:
    """And the size is the sum of what is kept, to the byte."""
    limits = Limits(memory=256 * 1024, traces=traces, spans=7)
    store = Store(limits)
    for now, (number, spans) in enumerate(sent):
        add(store, batch(number, *spans), now=float(now))
        there = list(store.newest(now=float(now)))
        assert store.size == sum(trace.size for trace in there) <= limits.memory
        assert len(there) == len(store) <= traces
        assert all(trace.spans == sum(len(each.spans) for each in trace.batches) <= 7 for trace in there)
    for number in {number for number, _ in sent}:
        assert find(store, number, now=float(len(sent))) is not None


@pytest.mark.parametrize("upper", [True, False])
def test_an_id_is_known_by_its_number(upper: bool) -> None:
    """The memory of dropped ones has no letters."""
    store = Store(Limits(traces=1))
    name = "ab" * 16
    add(store, Batch(name, b"", (b"span",)), batch(0))
    assert store.find(name.upper() if upper else name, now=0.0) is not None
