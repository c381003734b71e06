"""No ledger, no citation: the run is found in the OpenTelemetry Context and nowhere else."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.guard.harness import LISTED, SECRET, TAG, Toolbox, Watch, refused

import citespan
from citespan.core.decision import ProvenanceDenied
from citespan.core.policy import Bounds, Policy
from citespan.guard.context import current_run

Outcome = Any


def attempt(call: Callable[[], Any]) -> Outcome:
    """What a call comes to: its result, or its refusal."""
    try:
        return call()
    except ProvenanceDenied as denied:
        return denied


def test_a_call_outside_any_run_is_judged_against_nothing(watch: Watch) -> None:
    box = Toolbox()
    denied = refused(box.list_files, root=".")
    assert watch.why("root") == "no_run"
    assert "citespan.run()" in str(denied)
    assert "copy_context" in str(denied)


def test_what_was_observed_outside_any_run_is_not_kept(watch: Watch) -> None:
    listed: list[str] = []

    @citespan.tool
    def list_files() -> list[str]:
        listed.append("ran")
        return list(LISTED)

    box = Toolbox()
    list_files()
    refused(box.patch_file, path=LISTED[0])
    with citespan.run():
        refused(box.patch_file, path=LISTED[0])
    assert (listed, box.ran) == (["ran"], [])


def test_a_run_that_ended_can_no_longer_be_cited(watch: Watch) -> None:
    box = Toolbox()
    with citespan.run(inputs={"root": "."}):
        box.list_files(root=".")
    refused(box.patch_file, path=LISTED[0])
    assert box.ran == []


def in_thread(call: Callable[[], Any]) -> Outcome:
    outcome: list[Outcome] = []
    thread = threading.Thread(target=lambda: outcome.append(attempt(call)))
    thread.start()
    thread.join()
    return outcome[0]


def in_pool(call: Callable[[], Any]) -> Outcome:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(attempt, call).result()


def in_executor(call: Callable[[], Any]) -> Outcome:
    async def main() -> Outcome:
        with ThreadPoolExecutor(1) as pool:
            return await asyncio.get_running_loop().run_in_executor(pool, attempt, call)

    return asyncio.run(main())


def in_timer(call: Callable[[], Any]) -> Outcome:
    outcome: list[Outcome] = []
    timer = threading.Timer(0, lambda: outcome.append(attempt(call)))
    timer.start()
    timer.join()
    return outcome[0]


def in_a_pool_that_is_older_than_the_run(pool: ThreadPoolExecutor) -> Callable[[Callable[[], Any]], Outcome]:
    return lambda call: pool.submit(attempt, call).result()


CROSSINGS = [in_thread, in_pool, in_executor, in_timer]


@pytest.mark.parametrize("crossing", CROSSINGS)
def test_a_thread_without_the_context_is_refused(crossing: Callable[..., Outcome], watch: Watch) -> None:
    box = Toolbox()
    with citespan.run(inputs={"root": "."}):
        path = box.list_files(root=".")["files"][0]
        outcome = crossing(lambda: box.patch_file(path=path))
    assert isinstance(outcome, ProvenanceDenied)
    assert box.ran == []
    assert watch.why("path") == "no_run"


@pytest.mark.parametrize("crossing", CROSSINGS)
def test_a_thread_that_the_context_was_carried_into_is_not(crossing: Callable[..., Outcome], watch: Watch) -> None:
    box = Toolbox()
    with citespan.run(inputs={"root": "."}):
        path = box.list_files(root=".")["files"][0]
        carried = contextvars.copy_context()
        assert crossing(lambda: carried.run(box.patch_file, path=path)) == "done"
        guessed = contextvars.copy_context()
        assert isinstance(crossing(lambda: guessed.run(attempt, lambda: box.patch_file(path=SECRET))), ProvenanceDenied)
    assert box.ran == [path]


def test_a_worker_older_than_the_run_does_not_see_it(watch: Watch) -> None:
    box = Toolbox()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        with citespan.run(inputs={"root": "."}):
            path = box.list_files(root=".")["files"][0]
            outcome = in_a_pool_that_is_older_than_the_run(pool)(lambda: box.patch_file(path=path))
    assert isinstance(outcome, ProvenanceDenied)
    assert box.ran == []


async def test_tasks_and_to_thread_carry_the_context_by_themselves(watch: Watch) -> None:
    box = Toolbox()

    async def patch(path: str) -> str:
        return box.patch_file(path=path)

    with citespan.run(inputs={"root": "."}):
        path = box.list_files(root=".")["files"][0]
        assert await asyncio.create_task(patch(path)) == "done"
        assert await asyncio.gather(patch(path), patch(path)) == ["done", "done"]
        assert await asyncio.to_thread(box.patch_file, path=path) == "done"
        with pytest.raises(ProvenanceDenied):
            await asyncio.create_task(patch(SECRET))
    assert box.ran == [path] * 4


def test_a_result_of_a_carried_thread_can_be_cited_by_the_run(watch: Watch) -> None:
    box = Toolbox()
    with citespan.run(inputs={"root": "."}):
        carried = contextvars.copy_context()
        listed = in_thread(lambda: carried.run(box.list_files, root="."))
        box.patch_file(path=listed["files"][0])
    assert box.ran == LISTED[:1]


def test_a_run_entered_in_one_thread_does_not_leak_into_another(watch: Watch) -> None:
    with citespan.run():
        assert in_thread(current_run) is None
    assert current_run() is None


TINY = Policy(bounds=Bounds(bytes=200))


def test_what_a_full_ledger_dropped_is_assumed_and_the_span_says_so(watch: Watch) -> None:
    box = Toolbox()

    @citespan.tool(read_only=True)
    def fill(root: str) -> str:
        return "x" * 180

    with citespan.run(inputs={"root": "."}, policy=TINY):
        box.list_files(root=".")
        box.patch_file(path=LISTED[0])
        fill(root=".")
        denied = refused(box.patch_file, path=LISTED[0])
    assert box.ran == LISTED[:1]
    assert denied.decision.evicted > 0
    assert watch.why("path") == "ledger"


def test_a_result_larger_than_the_ledger_is_not_recorded_and_the_span_says_so(watch: Watch) -> None:
    box = Toolbox()

    @citespan.tool
    def big() -> list[str]:
        return ["y" * 300, LISTED[0]]

    with citespan.run(policy=TINY):
        assert big()[1] == LISTED[0]
        assert watch.ending.note is not None
        refused(box.patch_file, path=LISTED[0])
    assert box.ran == []


FEW = Policy(bounds=Bounds(leaves=100))


@pytest.mark.parametrize("count,times,kept", [(60, 1, True), (60, 2, False), (200, 1, True)])
def test_leaves_are_bounded_as_well(count: int, times: int, kept: bool, watch: Watch) -> None:
    """The oldest goes first; a result that is too much by itself goes alone."""
    box = Toolbox()

    @citespan.tool
    def many() -> list[int]:
        return list(range(1000, 1000 + count))

    with citespan.run(inputs={"root": "."}, policy=FEW):
        box.list_files(root=".")
        for _ in range(times):
            many()
        if kept:
            box.patch_file(path=LISTED[0])
        else:
            refused(box.patch_file, path=LISTED[0])
        if count > 100:
            refused(box.patch_file, path=1000)
    assert box.ran == (LISTED[:1] if kept else [])


def test_switching_the_guard_off_is_the_policys_word_only(watch: Watch) -> None:
    box = Toolbox()
    with citespan.run(policy=Policy(mode="off")):
        box.patch_file(path=SECRET)
        assert watch.last.status == "ok"
    with citespan.run(policy=TAG):
        box.patch_file(path=SECRET)
        assert watch.last.status == "flagged"
    assert box.ran == [SECRET, SECRET]
