"""Calls of one step were written before any of them returned: they cannot cite each other."""

from __future__ import annotations

import asyncio

import pytest
from tests.guard.harness import LISTED, Spans, Toolbox, Watch, refused

import citespan
from citespan.core.decision import ProvenanceDenied
from citespan.guard.guard import begin
from citespan.guard.ports import Tool
from citespan.guard.run import Run


@pytest.fixture
def box() -> Toolbox:
    return Toolbox()


def test_siblings_cannot_cite_each_other_and_the_next_step_can(box: Toolbox, watch: Watch) -> None:
    with citespan.run(inputs={"root": "."}) as run:
        with run.step():
            path = box.list_files(root=".")["files"][0]
            refused(box.patch_file, path=path)
        with run.step():
            box.patch_file(path=path)
    assert box.ran == [path]


def test_a_step_ends_where_the_next_one_starts(box: Toolbox, watch: Watch) -> None:
    with citespan.run(inputs={"root": "."}) as run:
        run.step()
        path = box.list_files(root=".")["files"][0]
        refused(box.patch_file, path=path)
        run.step()
        box.patch_file(path=path)
    assert box.ran == [path]


def test_after_a_step_a_call_sees_the_ledger_as_it_is(box: Toolbox, watch: Watch) -> None:
    with citespan.run(inputs={"root": "."}) as run:
        with run.step():
            path = box.list_files(root=".")["files"][0]
        box.patch_file(path=path)
    assert box.ran == [path]


async def test_a_step_is_an_async_context_as_well(box: Toolbox, watch: Watch) -> None:
    async with citespan.run(inputs={"root": "."}) as run:
        async with run.step():
            path = box.list_files(root=".")["files"][0]
            refused(box.patch_file, path=path)
        async with run.step():
            box.patch_file(path=path)
    assert box.ran == [path]


def test_a_step_may_be_left_by_an_exception(box: Toolbox, watch: Watch) -> None:
    with citespan.run(inputs={"root": "."}) as run:
        with pytest.raises(ProvenanceDenied), run.step():
            box.patch_file(path=box.list_files(root=".")["files"][0])
        box.patch_file(path=LISTED[0])
    assert box.ran == LISTED[:1]


def test_a_step_keeps_what_was_there_before_it(box: Toolbox, watch: Watch) -> None:
    with citespan.run(inputs={"root": "."}) as run:
        path = box.list_files(root=".")["files"][0]
        with run.step():
            box.patch_file(path=path)
            box.patch_file(path=path)
    assert box.ran == [path, path]


async def test_gathered_calls_of_a_step_cannot_cite_each_other(watch: Watch) -> None:
    listed = asyncio.Event()
    ran: list[str] = []

    @citespan.tool
    async def list_files() -> list[str]:
        return list(LISTED)

    @citespan.tool
    async def patch_file(path: str) -> None:
        ran.append(path)

    async def first() -> None:
        await list_files()
        listed.set()

    async def second() -> None:
        await listed.wait()
        with pytest.raises(ProvenanceDenied):
            await patch_file(path=LISTED[0])

    with citespan.run() as run:
        with run.step():
            await asyncio.gather(first(), second())
        await patch_file(path=LISTED[0])
    assert ran == LISTED[:1]


def test_a_nested_runs_step_does_not_end_the_outer_one(box: Toolbox, watch: Watch) -> None:
    with citespan.run(inputs={"root": "."}) as run, run.step():
        path = box.list_files(root=".")["files"][0]
        with citespan.run() as nested, nested.step():
            pass
        refused(box.patch_file, path=path)
    assert box.ran == []


def test_a_step_that_a_nested_run_left_open_ends_with_that_run(box: Toolbox, watch: Watch) -> None:
    with citespan.run(inputs={"root": "."}):
        with citespan.run() as nested:
            nested.step()
            box.names()
        path = box.list_files(root=".")["files"][1]
        box.patch_file(path=path)
    assert box.ran == [path]


def test_a_step_inside_a_step_does_not_end_it(box: Toolbox, watch: Watch) -> None:
    with citespan.run(inputs={"root": "."}) as run, run.step():
        path = box.list_files(root=".")["files"][0]
        with run.step():
            pass
        refused(box.patch_file, path=path)
    assert box.ran == []


async def test_two_agents_that_take_steps_at_once_keep_them_apart(watch: Watch) -> None:
    """Two nested agents of one run, each with steps of its own: one leaving its step does not end the other's."""
    box = Toolbox()
    listed, left = asyncio.Event(), asyncio.Event()

    async def one() -> None:
        with citespan.run() as agent, agent.step():
            box.names()
            listed.set()
            await left.wait()
            refused(box.patch_file, path=LISTED[0])

    async def other() -> None:
        with citespan.run() as agent:
            with agent.step():
                await listed.wait()
            left.set()

    with citespan.run():
        await asyncio.gather(one(), other())
    assert box.ran == []


def test_the_span_says_which_step(box: Toolbox, spans: Spans) -> None:
    with citespan.run(inputs={"root": "."}) as run:
        with run.step() as step:
            box.list_files(root=".")
            box.list_files(root=".")
        box.list_files(root=".")
    said = [dict(span.attributes or {}).get("provenance.step") for span in spans.of("list_files")]
    assert said == [step.key, step.key, None]


def test_a_framework_names_the_step_itself(watch: Watch) -> None:
    with citespan.run():
        begin(Tool("list"), {}, step="response-1").finish(LISTED)
        with pytest.raises(ProvenanceDenied):
            begin(Tool("patch"), {"path": LISTED[0]}, step="response-1")
        begin(Tool("patch"), {"path": LISTED[0]}, step="response-2").finish("done")


def test_one_steps_key_means_nothing_in_another_run(watch: Watch) -> None:
    def open_run() -> Run:
        return citespan.run()

    for _ in range(2):
        with open_run():
            begin(Tool("other"), {}, step="response-1").finish([])
            begin(Tool("list"), {}, step="response-2").finish(LISTED)
            begin(Tool("patch"), {"path": LISTED[0]}, step="response-3").finish("done")
