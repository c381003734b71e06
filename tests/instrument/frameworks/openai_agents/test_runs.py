"""What is one conversation in the OpenAI Agents SDK, and what a human said in it."""

from typing import Any

import pytest
from agents import Agent, RunConfig, SQLiteSession
from tests.instrument.contract import LIST, PATCH_LISTED, PATCH_SECRET, Kept, Turn, World
from tests.instrument.frameworks.openai_agents.agent import Scripted, play_agent, run, tools_of
from tests.instrument.frameworks.openai_agents.scenario import Scenario, play

import citespan
from citespan import semconv
from citespan.core.decision import ProvenanceDenied

NOTES: Turn = [("patch_file", {"path": "notes.md"})]
SAID = "please patch notes.md"


def user(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, **more}


def text(value: str) -> dict[str, Any]:
    return {"type": "input_text", "text": value}


class TestSaid(Scenario):
    @pytest.mark.parametrize(
        "given",
        [
            [user(SAID)],
            [user([text(SAID)])],
            [user(SAID, type="message")],
            [user([text("look:"), {"type": "input_image", "image_url": "http://host/x.png"}, text(SAID)])],
        ],
    )
    def test_text_of_user_messages_is_what_a_human_said(self, kept: Kept, world: World, given: Any) -> None:
        """However the SDK lets it be written."""
        play([NOTES, "done"], world, given)
        assert world.ran == ["patch_file"]

    @pytest.mark.parametrize(
        "item",
        [
            {"role": "assistant", "content": SAID},
            {"role": "system", "content": SAID},
            {"role": "developer", "content": SAID},
            user([{"type": "input_file", "file_data": "notes.md", "filename": "notes.md"}]),
            user([{"type": "input_image", "image_url": "notes.md"}]),
            {"type": "function_call_output", "call_id": "c", "output": "notes.md"},
            {"type": "function_call_output", "call_id": "c", "output": "notes.md", "role": "user", "content": SAID},
        ],
    )
    def test_nothing_else_in_the_input_is(self, kept: Kept, world: World, item: Any) -> None:
        """The assistant, the system, a document, a tool's result."""
        play([NOTES, "done"], world, [user("go"), item])
        assert world.ran == []

    def test_instructions_are_not(self, kept: Kept, world: World) -> None:
        """The system prompt never is."""
        agent = Agent(name="A", instructions=SAID, model=Scripted([NOTES, "done"]), tools=tools_of(world))
        play_agent(agent, "go", flavour="async")
        assert world.ran == []


class TestConversations(Scenario):
    async def test_a_history_that_is_handed_on_has_no_ledger(self, kept: Kept, world: World) -> None:
        """`to_input_list()` holds old results as the caller has them: its messages count, its results do not."""
        agent = Agent(name="A", model=Scripted([LIST, "listed", PATCH_LISTED, NOTES, "done"]), tools=tools_of(world))
        first = await run(agent, SAID, "async")
        await run(agent, [*first.to_input_list(), user("and now?")], "async")
        assert [arguments.get("path") for _, arguments in world.bodies] == [None, "notes.md"]

    async def test_a_run_around_them_has_one(self, kept: Kept, world: World) -> None:
        """What `citespan.run` opens is shared by all that the SDK runs in it."""
        agent = Agent(name="A", model=Scripted([LIST, "listed", PATCH_LISTED, "done"]), tools=tools_of(world))
        with citespan.run("mine"):
            first = await run(agent, "go", "async")
            await run(agent, [*first.to_input_list(), user("and now?")], "stream")
        assert world.ran == ["list_files", "patch_file"]

    @pytest.mark.parametrize("flavour", ["async", "stream"])
    async def test_a_conversation_of_the_server_keeps_its_ledger(self, kept: Kept, world: World, flavour: str) -> None:
        """Its id names it."""
        agent = Agent(name="A", model=Scripted([LIST, "listed", PATCH_LISTED, "done"]), tools=tools_of(world))
        await run(agent, "go", flavour, conversation_id="conv-1")
        await run(agent, "and now?", flavour, conversation_id="conv-1")
        assert world.ran == ["list_files", "patch_file"]

    @pytest.mark.parametrize("flavour", ["async", "stream"])
    async def test_a_chain_of_responses_keeps_its_ledger(self, kept: Kept, world: World, flavour: str) -> None:
        """Each run names the last response of the one before."""
        script: list[Turn] = [LIST, "listed", PATCH_LISTED, "patched", NOTES, "done"]
        model = Scripted(script, [f"{flavour}-{number}" for number in range(6)])
        agent = Agent(name="A", model=model, tools=tools_of(world))
        result = await run(agent, SAID, flavour, auto_previous_response_id=True)
        for _ in range(2):
            result = await run(agent, "and now?", flavour, previous_response_id=result.last_response_id)
        assert world.ran == ["list_files", "patch_file", "patch_file"]
        assert [(span.attributes or {})[semconv.KIND + "path"] for span in kept.of("patch_file")] == [
            "observed",
            "user",
        ]

    async def test_another_chain_does_not_see_it(self, kept: Kept, world: World) -> None:
        """Nor one that was not announced: its first run is one of its own."""
        model = Scripted([LIST, "listed", PATCH_LISTED, "done"], ["p-0", "p-1", "p-2", "p-3"])
        agent = Agent(name="A", model=model, tools=tools_of(world))
        result = await run(agent, "go", "async")
        await run(agent, "and now?", "async", previous_response_id=result.last_response_id)
        assert world.ran == ["list_files"]

    @pytest.mark.parametrize("flavour", ["async", "stream"])
    async def test_an_approved_call_is_judged_by_what_was_seen_before(
        self, kept: Kept, world: World, flavour: str
    ) -> None:
        """The SDK leaves the run to ask a human, and comes back with its state; approval vouches for nothing else."""
        look = tools_of(world)[0]
        asked = tools_of(world, needs_approval=True)
        patch = next(tool for tool in asked if tool.name == "patch_file")
        both: Turn = [*PATCH_LISTED, *PATCH_SECRET]  # type: ignore[list-item]
        agent = Agent(name="A", model=Scripted([LIST, both, "done"]), tools=[look, patch])
        result = await run(agent, "go", flavour)
        assert world.ran == ["list_files"]
        state = result.to_state()
        for interruption in result.interruptions:
            state.approve(interruption)
        result = await run(agent, state, flavour)
        assert result.final_output == "done"
        assert [arguments.get("path") for _, arguments in world.bodies] == [None, "a.py"]
        assert kept.statuses("patch_file") == ["blocked", "ok"]

    async def test_sessions_keep_their_ledgers_apart(self, kept: Kept, world: World) -> None:
        """The SDK's group of traces is no conversation: it may hold those of many people."""
        agent = Agent(name="A", model=Scripted([LIST, "listed", PATCH_LISTED, "done"]), tools=tools_of(world))
        config = RunConfig(group_id="all", tracing_disabled=True)
        await run(agent, "go", "async", session=SQLiteSession("S1"), run_config=config)
        await run(agent, "and now?", "async", session=SQLiteSession("S2"), run_config=config)
        assert world.ran == ["list_files"]


class TestStreams(Scenario):
    async def test_a_stream_that_nobody_reads_is_guarded(self, kept: Kept, world: World) -> None:
        """The SDK works in a task of its own."""
        from agents import Runner

        agent = Agent(name="A", model=Scripted([LIST, PATCH_SECRET, PATCH_LISTED, "done"]), tools=tools_of(world))
        result = Runner.run_streamed(agent, "go")
        await result.run_loop_task
        assert world.ran == ["list_files", "patch_file"]

    async def test_the_run_is_over_when_its_stream_is(self, kept: Kept, world: World) -> None:
        """Its span has ended by then, and the caller's context has no run in it."""
        from citespan.guard.context import current_run

        agent = Agent(name="A", model=Scripted([LIST, "done"]), tools=tools_of(world))
        result = await run(agent, "go", "stream")
        assert result.final_output == "done"
        assert current_run() is None
        (span,) = [span for span in kept.all() if (span.attributes or {}).get(semconv.OPERATION) == "invoke_agent"]
        (listing,) = kept.of("list_files")
        assert listing.parent is not None
        assert span.context is not None
        assert (span.name, listing.parent.span_id) == ("invoke_agent A", span.context.span_id)

    def test_a_run_that_cannot_start_raises_what_it_did(self, kept: Kept, world: World) -> None:
        """And leaves nothing open."""
        from agents import Runner, UserError

        from citespan.guard.context import current_run

        agent = Agent(name="A", model=Scripted([]), tools=tools_of(world))
        with pytest.raises((UserError, TypeError)):
            Runner.run_streamed(agent, "go", hooks=object())
        assert current_run() is None
        assert not isinstance(play([PATCH_LISTED, "done"], world).raised, ProvenanceDenied)
