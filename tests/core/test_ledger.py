"""The ledger: append-only, read through views, bounded; what it dropped is uncited, and it says how much that was."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.helpers import TAG, USE, Agent, attached, found, ledger_of, parameters

from citespan.core.ledger import Ledger
from citespan.core.policy import Bounds, Policy
from citespan.guard.examine import judge
from citespan.guard.guard import begin
from citespan.guard.ports import Tool
from citespan.guard.run import Run

LIST = Tool("list", schema=parameters(), read_only=True)


def text_of(size: int, first: str) -> str:
    """A text whose JSON has `size` bytes."""
    return first + "x" * (size - 3)


def kept(ledger: Ledger, texts: list[str]) -> list[str]:
    return [text for text in texts if found(ledger, text)]


# views and steps


def test_a_view_sees_what_was_recorded_before_its_moment_and_nothing_after() -> None:
    ledger = ledger_of("heron")
    view = ledger.view()
    ledger.record("tool", b'"kestrel"')
    assert [len(view.find(bird)) for bird in ("heron", "kestrel")] == [1, 0]
    assert len(ledger.view().find("kestrel")) == 1


def test_observations_are_numbered_in_the_order_in_which_they_end() -> None:
    agent = Agent()
    first, second = agent.start(LIST), agent.start(LIST)
    second.finish(["kestrel"])
    first.finish(["heron"])
    assert (agent.sources("kestrel")[0].call, agent.sources("heron")[0].call) == (0, 1)


def test_a_call_without_a_step_cites_everything_that_ended_before_it_started() -> None:
    agent = Agent()
    agent.reads("list", {}, ["kestrel"])
    assert agent.kind("kestrel") == "observed"


def test_calls_of_one_step_cannot_cite_each_other() -> None:
    agent = Agent()
    agent.reads("list", {}, ["kestrel"], step="turn 1")
    assert agent.kind("kestrel", step="turn 1") == "assumed"
    assert agent.kind("kestrel", step="turn 2") == "observed"


def test_a_step_sees_what_there_was_when_its_first_call_started() -> None:
    agent = Agent()
    agent.reads("list", {}, ["heron"], step="turn 1")
    agent.reads("list", {}, ["osprey"], step="turn 2")
    agent.reads("list", {}, ["kestrel"], step="turn 1")
    assert [agent.kind(bird, step="turn 2") for bird in ("heron", "osprey", "kestrel")] == [
        "observed",
        "assumed",
        "assumed",
    ]


def test_a_run_can_open_a_step_around_its_calls() -> None:
    agent = Agent()
    with agent.step():
        agent.reads("list", {}, ["kestrel"])
        assert agent.kind("kestrel") == "assumed"
    assert agent.kind("kestrel") == "observed"


def test_the_next_step_ends_the_one_before() -> None:
    agent = Agent()
    agent.run.step()
    agent.reads("list", {}, ["kestrel"])
    agent.run.step()
    assert agent.kind("kestrel") == "observed"


def test_two_runs_do_not_share_a_ledger() -> None:
    left, right = Agent(), Agent()
    left.reads("list", {}, ["kestrel"])
    assert right.kind("kestrel") == "assumed"


def test_a_nested_run_shares_the_ledger_of_the_outermost() -> None:
    agent = Agent()
    agent.reads("list", {}, ["kestrel"])
    with attached(agent.context), Run("helper", policy=TAG):
        assert judge(USE, {"value": "kestrel"}).tags[0].provenance.kind == "observed"
        begin(LIST, {}).finish(["heron"])
    assert agent.kind("heron") == "observed"


def test_what_is_recorded_is_a_copy() -> None:
    data = bytearray(b'["kestrel"]')
    ledger = Ledger(json.loads, Bounds())
    ledger.record("tool", bytes(data))
    data[2:9] = b"buzzard"
    assert found(ledger, "kestrel")


def test_many_threads_record_and_find_at_once() -> None:
    ledger = ledger_of()

    def work(number: int) -> bool:
        ledger.record("tool", json.dumps({"id": f"id-{number}"}).encode())
        return bool(ledger.view().find(f"id-{number}"))

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(work, range(400)))
    assert {place.node.owner.ordinal for number in range(400) for place in ledger.view().find(f"id-{number}")} == set(
        range(400)
    )


# bounds


def test_what_fits_exactly_stays() -> None:
    texts = [text_of(100, name) for name in "abcd"]
    ledger = ledger_of(*texts, bounds=Bounds(bytes=400))
    assert kept(ledger, texts) == texts
    assert (ledger.size, ledger.evicted) == (400, 0)


def test_one_byte_more_drops_the_oldest_and_is_counted() -> None:
    texts = [text_of(100, name) for name in "abc"] + [text_of(101, "d")]
    ledger = ledger_of(*texts, bounds=Bounds(bytes=400))
    left = kept(ledger, texts)
    assert left == texts[len(texts) - len(left) :]
    assert texts[0] not in left
    assert ledger.evicted == len(texts) - len(left)


def test_a_result_larger_than_the_bound_is_dropped_alone_and_counted() -> None:
    ledger = ledger_of("heron", bounds=Bounds(bytes=50))
    assert ledger.record("tool", json.dumps("k" * 60).encode()) is None
    assert ledger.evicted == 1
    assert found(ledger, "heron")


@pytest.mark.parametrize("size", [60, 75, 76, 99, 100])
def test_the_newest_result_stays_if_it_fits_the_bound_by_itself(size: int) -> None:
    texts = [text_of(50, "a"), text_of(size, "b")]
    ledger = ledger_of(*texts, bounds=Bounds(bytes=100))
    assert kept(ledger, texts) == texts[1:]
    assert (ledger.size, ledger.evicted) == (size, 1)


@given(st.lists(st.integers(3, 120), min_size=1, max_size=12))
def test_bytes_never_exceed_the_bound_and_the_newest_results_are_kept(sizes: list[int]) -> None:
    texts = [text_of(size, chr(65 + number)) for number, size in enumerate(sizes)]
    ledger = ledger_of(bounds=Bounds(bytes=120))
    for count, text in enumerate(texts, 1):
        ledger.record("tool", json.dumps(text).encode())
        assert ledger.size <= 120
        left = kept(ledger, texts[:count])
        assert left == texts[count - len(left) : count]
        assert left[-1:] == [text]
        assert ledger.evicted == count - len(left)


@given(st.lists(st.integers(1, 20), min_size=1, max_size=8), st.booleans())
def test_leaves_never_exceed_the_bound_and_the_newest_results_are_kept(counts: list[int], long: bool) -> None:
    ledger = ledger_of(bounds=Bounds(leaves=20))
    for call, leaves in enumerate(counts):
        filler = "y" * 500 if long and call % 2 else ""
        ledger.record("tool", json.dumps([f"{call}-{number}{filler}" for number in range(leaves)]).encode())
        assert len(ledger.fields()) <= 20
        assert f"{call}-0{filler}" in {value for _, _, value in ledger.fields()}


def test_a_result_with_more_leaves_than_the_bound_is_dropped_alone_and_counted() -> None:
    ledger = ledger_of("heron", [f"n{number}" for number in range(30)], bounds=Bounds(leaves=20))
    assert not found(ledger, "n5")
    assert found(ledger, "heron")
    assert ledger.evicted == 1


def test_what_was_dropped_is_assumed_and_the_decision_says_how_many_results_are_gone() -> None:
    agent = Agent(Policy(mode="tag", bounds=Bounds(bytes=1000)))
    for number in range(50):
        agent.reads("list", {}, {"bird": f"kestrel-{number}", "fill": "x" * 50})
    decision = agent.judge({"value": "kestrel-0"})
    assert decision.tags[0].provenance.kind == "assumed"
    assert decision.evicted > 0
    assert agent.kind("kestrel-49") == "observed"


def test_a_result_too_large_to_keep_is_assumed_in_the_run() -> None:
    agent = Agent(Policy(mode="tag", bounds=Bounds(bytes=100)))
    agent.reads("list", {}, {"bird": "kestrel", "fill": "x" * 200})
    assert agent.why("kestrel") == "ledger"


def test_a_result_that_came_back_after_it_was_dropped_is_cited_from_its_new_call() -> None:
    ledger = ledger_of("kestrel", *[f"fill-{number}" for number in range(40)], "kestrel", bounds=Bounds(bytes=100))
    assert [place.node.owner.ordinal for place in ledger.view().find("kestrel")] == [41]


def test_dropping_does_not_renumber() -> None:
    ledger = ledger_of(*[f"bird-{number}" for number in range(40)], bounds=Bounds(bytes=100))
    assert found(ledger, "bird-39") == {(39, ("result",), "exact")}
    assert ledger.moment() == 40


def test_a_step_that_started_before_results_were_dropped_sees_no_later_ones() -> None:
    ledger = ledger_of("kestrel", bounds=Bounds(bytes=100))
    view = ledger.view()
    for number in range(40):
        ledger.record("tool", json.dumps(f"bird-{number}").encode())
    assert view.find("bird-39") == []
    assert view.find("kestrel") == []


@pytest.mark.parametrize("broken", [b"{", b"\xff", b'{"a": ' + b"[" * 100_000])
def test_a_result_that_cannot_be_read_again_is_counted_as_dropped(broken: bytes) -> None:
    ledger = ledger_of("heron")
    ledger.record("tool", broken)
    assert found(ledger, "heron")
    assert ledger.evicted == 1


def test_hints_count_the_kept_results_of_each_tool() -> None:
    ledger = ledger_of("a", "b", tool="list")
    ledger.record("look", b'"c"')
    assert dict(ledger.tools()) == {"list": 2, "look": 1}


def test_a_million_values_are_bounded_by_leaves() -> None:
    agent = Agent(Policy(mode="tag", bounds=Bounds(leaves=5000)))
    huge: list[Any] = list(range(100_000, 200_000))
    agent.reads("list", {}, ["kestrel"])
    agent.reads("dump", {}, huge)
    assert agent.why(150_000) == "ledger"
