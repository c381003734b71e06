"""Nested agents share the outermost run's ledger; what a model made or was told by a model is no source."""

from __future__ import annotations

import asyncio
import contextvars
from typing import Any

import pytest
from tests.guard.harness import LISTED, SECRET, TAG, Spans, Toolbox, Watch, refused

import citespan
from citespan.core.policy import Policy, ToolRule


def test_a_nested_run_reads_and_writes_the_outer_ledger(watch: Watch) -> None:
    box = Toolbox()

    @citespan.tool(read_only=True)
    def more() -> list[str]:
        return ["src/more.py"]

    with citespan.run(inputs={"root": "."}):
        box.list_files(root=".")
        with citespan.run():
            box.patch_file(path=LISTED[0])
            more()
        box.patch_file(path="src/more.py")
    assert box.ran == [LISTED[0], "src/more.py"]


def test_two_sibling_runs_share_nothing(watch: Watch) -> None:
    box = Toolbox()
    with citespan.run(inputs={"root": "."}):
        box.list_files(root=".")
    with citespan.run(inputs={"root": "src"}):
        refused(box.patch_file, path=LISTED[0])
        refused(box.list_files, root=".")
    assert box.ran == []


def test_two_sibling_nested_runs_share_the_outer_ledger(watch: Watch) -> None:
    box = Toolbox()
    with citespan.run(inputs={"root": "."}):
        with citespan.run():
            box.list_files(root=".")
        with citespan.run():
            box.patch_file(path=LISTED[0])
    assert box.ran == LISTED[:1]


class Delegate:
    """An agent as a tool: its body opens a run of its own, with what the outer model made up as its task."""

    def __init__(self, box: Toolbox, how: str) -> None:
        self.refusals: list[str] = []

        def patch() -> str:
            try:
                box.patch_file(path=SECRET)
            except PermissionError as denied:
                self.refusals.append(str(denied))
            return SECRET

        @citespan.tool
        def delegate(comment: str) -> dict[str, str]:
            if how == "inputs":
                with citespan.run(inputs={"task": comment}):
                    return {"answer": patch()}
            with citespan.run() as nested:
                if how == "user":
                    nested.user(f"please patch {comment}")
                elif how == "observe":
                    nested.observe("task", comment)
                return {"answer": patch()}

        self.delegate = delegate


@pytest.mark.parametrize("how", ["inputs", "user", "observe", "nothing"])
def test_what_a_nested_agent_is_told_is_not_a_humans_word(how: str, watch: Watch) -> None:
    box = Toolbox()
    agent = Delegate(box, how)
    with citespan.run(inputs={"root": "."}):
        agent.delegate(comment=SECRET)
        assert len(agent.refusals) == 1
        refused(box.patch_file, path=SECRET)
    assert box.ran == []


def test_an_outer_human_is_heard_inside_a_nested_agent(watch: Watch) -> None:
    box = Toolbox()
    agent = Delegate(box, "nothing")
    with citespan.run() as outer:
        outer.user(f"please patch {SECRET}")
        agent.delegate(comment="what the user asked for")
    assert box.ran == [SECRET]


def test_the_answer_of_a_nested_agent_is_no_observation(watch: Watch) -> None:
    box = Toolbox()

    @citespan.tool
    def delegate() -> dict[str, str]:
        with citespan.run():
            return {"answer": LISTED[0]}

    with citespan.run():
        delegate()
        assert "a model made it" in str(watch.ending.note)
        refused(box.patch_file, path=LISTED[0])
    assert box.ran == []


@pytest.mark.parametrize("asynchronous", [False, True])
def test_nor_is_the_answer_of_a_tool_that_called_a_nested_agent_further_in(asynchronous: bool, watch: Watch) -> None:
    box = Toolbox()

    @citespan.tool
    def agent() -> str:
        with citespan.run():
            return LISTED[0]

    @citespan.tool
    def outer() -> dict[str, str]:
        return {"answer": agent()}

    @citespan.tool
    async def outer_later() -> dict[str, str]:
        return {"answer": await asyncio.to_thread(agent)}

    with citespan.run():
        if asynchronous:
            asyncio.run(outer_later())
        else:
            outer()
        refused(box.patch_file, path=LISTED[0])
    assert box.ran == []


def test_what_the_nested_agents_own_tools_return_is_an_observation(watch: Watch) -> None:
    box = Toolbox()

    @citespan.tool
    def delegate() -> str:
        with citespan.run():
            box.names()
        return "done"

    with citespan.run():
        delegate()
        box.patch_file(path=LISTED[0])
    assert box.ran == LISTED[:1]


def test_a_nested_agents_own_tools_are_judged(watch: Watch) -> None:
    """Re-entrancy is by call identity, not by nesting: a tool that calls itself with a guess is refused."""
    box = Toolbox()
    tried: list[str] = []

    @citespan.tool
    def patch_file(path: str) -> None:
        if not tried:
            tried.append(path)
            patch_file(path=path)
            refused(patch_file, path=SECRET)
            box.names()
            refused(box.patch_file, path=SECRET)

    with citespan.run(inputs={"path": LISTED[0]}):
        patch_file(path=LISTED[0])
    assert tried == LISTED[:1]
    assert box.ran == []


def test_a_tool_outside_any_run_tells_no_human_word_either(watch: Watch) -> None:
    """The input of a run that a tool's body opens is an argument of that call, whether or not a run was open."""
    box = Toolbox()

    @citespan.tool
    def delegate(comment: str) -> str:
        with citespan.run(inputs={"task": comment}):
            refused(box.patch_file, path=comment)
        return "done"

    delegate(comment=SECRET)
    assert box.ran == []


def test_a_run_made_before_the_call_and_entered_inside_it_is_nested_all_the_same(watch: Watch) -> None:
    box = Toolbox()
    made = citespan.run(inputs={"task": SECRET})
    made.user(f"please patch {SECRET}")

    @citespan.tool
    def delegate() -> str:
        with made:
            refused(box.patch_file, path=SECRET)
        return "done"

    with citespan.run():
        delegate()
    assert box.ran == []


def test_a_task_started_by_a_body_is_inside_it(watch: Watch) -> None:
    box = Toolbox()

    async def agent(task: str) -> None:
        with citespan.run(inputs={"task": task}):
            refused(box.patch_file, path=task)

    @citespan.tool
    async def delegate(comment: str) -> str:
        await asyncio.create_task(agent(comment))
        return "done"

    async def main() -> None:
        with citespan.run():
            await delegate(comment=SECRET)

    asyncio.run(main())
    assert box.ran == []


@pytest.mark.parametrize("outside", [False, True], ids=["in a run", "outside any run"])
def test_a_task_that_outlives_its_nested_run_is_told_nothing_new(outside: bool, watch: Watch) -> None:
    box = Toolbox()
    outcomes: list[Any] = []

    async def agent(over: asyncio.Event, task: str) -> None:
        await over.wait()
        refused(box.patch_file, path=task)

    @citespan.tool
    async def delegate(comment: str) -> str:
        over = asyncio.Event()
        made = citespan.run(inputs={"task": comment})
        made.user(f"please patch {comment}")
        with made:
            started = asyncio.create_task(agent(over, comment))
        over.set()
        outcomes.extend(await asyncio.gather(started, return_exceptions=True))
        return "done"

    async def main() -> None:
        if outside:
            await delegate(comment=SECRET)
        else:
            with citespan.run():
                await delegate(comment=SECRET)

    asyncio.run(main())
    assert outcomes == [None]
    assert box.ran == []


def test_a_nested_run_follows_the_outer_policy_unless_it_names_one(watch: Watch) -> None:
    box = Toolbox()
    with citespan.run(policy=TAG), citespan.run():
        box.patch_file(path=SECRET)
    with citespan.run(policy=TAG), citespan.run(policy=Policy()):
        refused(box.patch_file, path=SECRET)
    assert box.ran == [SECRET]


def test_a_nested_run_draws_on_the_outer_budget(watch: Watch) -> None:
    box = Toolbox()
    generous = Policy(max_assumed=1, run_max_assumed=1)
    with citespan.run(policy=generous):
        box.patch_file(path=SECRET)
        with citespan.run(policy=generous):
            refused(box.patch_file, path="another guess")
    assert box.ran == [SECRET]


def test_what_a_tool_declared_as_a_models_returns_is_no_source(watch: Watch) -> None:
    box = Toolbox()

    @citespan.tool(output="model")
    def think() -> str:
        return LISTED[0]

    with citespan.run():
        think()
        refused(box.patch_file, path=LISTED[0])
    assert box.ran == []


def test_a_computation_is_a_source_only_if_all_its_arguments_were_cited(watch: Watch) -> None:
    box = Toolbox()

    @citespan.tool(output="computed", read_only=True)
    def shell(command: str) -> dict[str, str]:
        return {"out": LISTED[0]}

    policy = Policy(tools={"shell": ToolRule(mode="tag")})
    with citespan.run(inputs={"command": "make paths"}, policy=policy):
        shell(command="echo src/app.py")
        refused(box.patch_file, path=LISTED[0])
        shell(command="make paths")
        box.patch_file(path=LISTED[0])
    assert box.ran == LISTED[:1]


def test_the_spans_of_a_nested_run_hang_together(spans: Spans) -> None:
    box = Toolbox()

    @citespan.tool
    def delegate() -> str:
        with citespan.run("helper"):
            box.names()
        return "done"

    with citespan.run("boss", run_id="conversation-1"):
        delegate()
    parents = {span.name: span.parent and span.parent.span_id for span in spans.all()}
    ids = {span.name: span.context.span_id for span in spans.all()}
    assert parents == {
        "invoke_agent boss": None,
        "execute_tool delegate": ids["invoke_agent boss"],
        "invoke_agent helper": ids["execute_tool delegate"],
        "execute_tool names": ids["invoke_agent helper"],
    }


def test_entering_and_leaving_restores_the_outer_run(watch: Watch) -> None:
    from citespan.guard.context import current_run

    with citespan.run("outer") as outer:
        with citespan.run("inner") as inner:
            assert current_run() is inner
        assert current_run() is outer
        copied = contextvars.copy_context()
    assert current_run() is None
    assert copied.run(current_run) is None  # a run that is over is no run, wherever its context is carried
