"""Concurrent runs share nothing, and concurrent calls cannot share one free slot of a budget."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import Any

import pytest
from tests.guard.harness import ONE, SECRET, Watch, refused

import citespan
from citespan.core.decision import ProvenanceDenied
from citespan.core.kinds import Observed
from citespan.core.policy import ArgumentRule, Policy, ToolRule
from citespan.guard.examine import judge
from citespan.guard.ports import Tool
from citespan.guard.registry import registry

RUNS = 200
NEIGHBOURS = (1, 2, 7, 50, 100)
CALLS = 50


def value_of(number: int) -> str:
    return f"/srv/tenant-{number}/key"


class Tenant:
    """One of many runs at once; each has a value of its own and one that all of them have."""

    def __init__(self, number: int, patched: list[tuple[int, str]]) -> None:
        self.number = number
        self._patched = patched
        self.run = citespan.run(inputs={"tenant": number + 1000}, run_id=f"run-{number}")

    def learn(self) -> None:
        listed(tenant=self.number + 1000)

    def check(self) -> None:
        patch(path=value_of(self.number), run=self.number + 1000, into=self._patched)
        patch(path="/srv/shared/key", run=self.number + 1000, into=self._patched)
        for step in NEIGHBOURS:
            other = (self.number + step) % RUNS
            refused(patch, path=value_of(other), run=self.number + 1000, into=self._patched)
            refused(patch, path=value_of(self.number), run=other + 1000, into=self._patched)


def _body_list(tenant: int) -> dict[str, list[str]]:
    return {"keys": [value_of(tenant - 1000), "/srv/shared/key"]}


def _body_patch(path: str, run: int) -> tuple[int, str]:
    return run - 1000, path


listed: Callable[..., Any]
patch: Callable[..., Any]


@pytest.fixture(autouse=True)
def _tools(watch: Watch) -> None:
    global listed, patch  # noqa: PLW0603 - module functions, as a program's tools are
    listed = citespan.tool(name="list_keys", read_only=True)(_body_list)
    guarded = citespan.tool(name="patch", read_only=True)(_body_patch)

    def noted(path: str, run: int, into: list[tuple[int, str]]) -> None:
        into.append(guarded(path=path, run=run))

    patch = noted


def check(patched: list[tuple[int, str]], watch: Watch) -> None:
    """Every run patched its own two values; every citation of a result is of a call of the same run."""
    expected = [(number, path) for number in range(RUNS) for path in ("/srv/shared/key", value_of(number))]
    assert sorted(patched) == sorted(expected)
    cited = 0
    for number, decision in watch.decisions.items():
        own = watch.refs[number].trace_id
        for tag in decision.tags:
            if isinstance(tag.provenance, Observed):
                cited += 1
                assert {source.span and source.span.trace_id for source in tag.provenance.sources} == {own}
    assert cited >= 2 * RUNS


def test_two_hundred_runs_as_tasks_do_not_bleed(watch: Watch) -> None:
    patched: list[tuple[int, str]] = []
    learned = 0

    async def one(number: int, everybody: asyncio.Event) -> None:
        nonlocal learned
        tenant = Tenant(number, patched)
        async with tenant.run:
            tenant.learn()
            learned += 1
            if learned == RUNS:
                everybody.set()
            await everybody.wait()
            await asyncio.sleep(0)
            tenant.check()

    async def main() -> None:
        everybody = asyncio.Event()
        await asyncio.gather(*(one(number, everybody) for number in range(RUNS)))

    asyncio.run(main())
    check(patched, watch)


def test_two_hundred_runs_in_threads_do_not_bleed(watch: Watch) -> None:
    patched: list[tuple[int, str]] = []
    everybody = threading.Barrier(RUNS, timeout=60)
    failures: list[BaseException] = []

    def one(number: int) -> None:
        try:
            tenant = Tenant(number, patched)
            with tenant.run:
                tenant.learn()
                everybody.wait()
                tenant.check()
        except BaseException as error:
            failures.append(error)
            everybody.abort()

    threads = [threading.Thread(target=one, args=(number,)) for number in range(RUNS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    check(patched, watch)


def outcomes_in_tasks(call: Callable[[int], Any]) -> list[Any]:
    """The outcomes of `CALLS` calls at once; `call` gives an awaitable."""

    async def main() -> list[Any]:
        return await asyncio.gather(*(call(number) for number in range(CALLS)), return_exceptions=True)

    return asyncio.run(main())


def outcomes_in_threads(call: Callable[[int], Any]) -> list[Any]:
    outcomes: list[Any] = []
    together = threading.Barrier(CALLS, timeout=60)

    def one(number: int) -> None:
        together.wait()
        try:
            outcomes.append(call(number))
        except BaseException as error:
            outcomes.append(error)

    carried = [contextvars.copy_context() for _ in range(CALLS)]
    threads = [threading.Thread(target=context.run, args=(one, number)) for number, context in enumerate(carried)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def test_gathered_calls_cannot_share_the_runs_last_free_leaf(watch: Watch) -> None:
    ran: list[str] = []

    @citespan.tool
    async def guess(path: str) -> str:
        ran.append(path)
        await asyncio.sleep(0)
        return "done"

    with citespan.run(policy=ONE):
        outcomes = outcomes_in_tasks(lambda number: guess(path=f"guess-{number}"))
    assert len(ran) == 1
    assert outcomes.count("done") == 1
    assert sum(isinstance(outcome, ProvenanceDenied) for outcome in outcomes) == CALLS - 1


def test_threads_cannot_share_the_runs_last_free_leaf(watch: Watch) -> None:
    ran: list[str] = []

    @citespan.tool
    def guess(path: str) -> str:
        ran.append(path)
        return "done"

    with citespan.run(policy=ONE):
        outcomes = outcomes_in_threads(lambda number: guess(path=f"guess-{number}"))
    assert len(ran) == 1
    assert outcomes.count("done") == 1
    assert sum(isinstance(outcome, ProvenanceDenied) for outcome in outcomes) == CALLS - 1


def test_judging_alone_takes_from_the_budget_too(watch: Watch) -> None:
    with citespan.run(policy=ONE):
        verdicts = outcomes_in_threads(lambda number: judge(Tool("guess"), {"path": f"guess-{number}"}).deny)
    assert sorted(verdicts) == [False] + [True] * (CALLS - 1)


def test_threads_cannot_share_one_approval(watch: Watch) -> None:
    ran: list[str] = []

    @citespan.tool
    def create_file(path: str) -> str:
        ran.append(path)
        return "done"

    @citespan.tool(read_only=True)
    def list_files() -> list[str]:
        return ["src/app.py"]

    rule = ArgumentRule(accept=frozenset({"invented"}), propose_against="list_files.*")
    policy = Policy(run_max_refused=1000, tools={"create_file": ToolRule(arguments={"path": rule})})
    with citespan.run(policy=policy) as run:
        list_files()
        assert run.propose("create_file", "path", SECRET, reviewer=lambda proposal: True)
        outcomes = outcomes_in_threads(lambda number: create_file(path=SECRET))
    assert len(ran) == 1
    assert outcomes.count("done") == 1


def test_a_tagged_or_refused_call_takes_nothing(watch: Watch) -> None:
    ran: list[str] = []

    @citespan.tool
    def guess(path: str, other: str = "") -> str:
        ran.append(path)
        return "done"

    @citespan.tool
    def looks(path: str) -> str:
        return "done"

    with citespan.run(policy=ONE.evolve(tools={"looks": ToolRule(mode="tag")})):
        for number in range(5):
            looks(path=f"guess-{number}")
            refused(guess, path=f"guess-{number}", other="two at once")
        guess(path="the one")
        refused(guess, path="one too many")
    assert ran == ["the one"]


def test_a_call_that_is_refused_for_its_evidence_takes_nothing(watch: Watch) -> None:
    ran: list[str] = []

    @citespan.tool
    def guess(path: str) -> str:
        ran.append(path)
        return "done"

    class Evidence:
        full = True

        def append(self, *args: Any) -> None:
            if self.full:
                raise OSError("full")

    registry.evidence = Evidence()
    with citespan.run(policy=ONE):
        refused(guess, path="first")
        assert ran == []
        Evidence.full = False
        guess(path="second")
    assert ran == ["second"]


def test_an_agent_that_keeps_guessing_is_stopped(watch: Watch) -> None:
    @citespan.tool
    def guess(path: str) -> str:
        return "done"

    with citespan.run(policy=Policy(run_max_refused=3)):
        stops = [refused(guess, path=f"guess-{number}").decision.abort for number in range(5)]
    assert stops == [False, False, False, True, True]
