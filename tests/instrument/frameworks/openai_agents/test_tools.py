"""What the OpenAI Agents SDK does with a tool, guarded: copies of it, text that is no JSON, errors that become text."""

import asyncio
import copy
import dataclasses
import pickle
from typing import Any

import pytest
from agents import Agent, AgentsException, FunctionTool, RunConfig, RunHooks, function_tool, handoff
from agents.tool import ToolOutputImage, ToolOutputText
from tests.instrument.contract import LIST, PATCH_LISTED, PATCH_SECRET, REFUSED, SECRET, Kept, World
from tests.instrument.frameworks.openai_agents.agent import Scripted, play_agent, tools_of
from tests.instrument.frameworks.openai_agents.scenario import Scenario, play

import citespan
from citespan import semconv
from citespan.core.decision import ProvenanceDenied
from citespan.core.policy import Policy
from citespan.instrument import activate, deactivate

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


class Raw:
    """A function tool without the SDK's decorator: its body gets the text itself."""

    def __init__(self) -> None:
        self.got: list[str] = []
        self.tool = FunctionTool("patch_file", "Patch a file.", SCHEMA, self.invoke, strict_json_schema=False)

    async def invoke(self, context: Any, text: str) -> str:
        self.got.append(text)
        return "patched"


class TestTools(Scenario):
    @pytest.mark.parametrize("text", ["patch a.py", '["a.py"]', '[["path", "a.py"]]', "3", "{", "null"])
    def test_what_is_no_json_object_does_not_reach_the_body(self, kept: Kept, text: str) -> None:
        """A tool of one's own might make something of it, and nobody judged that."""
        raw = Raw()
        played = play([[("patch_file", text)], "done"], [raw.tool], "patch a.py")  # type: ignore[list-item]
        assert raw.got == []
        assert "patch_file was not run" in played.model_saw[1]
        assert kept.statuses("patch_file") == ["blocked"]

    def test_in_tag_mode_the_body_gets_it_as_it_was(self, kept: Kept) -> None:
        """Nothing is refused there; the span says that the guard could not do its work."""
        kept.configure(Policy(mode="tag"))
        raw = Raw()
        play([[("patch_file", "patch a.py")], "done"], [raw.tool])  # type: ignore[list-item]
        assert raw.got == ["patch a.py"]
        assert kept.statuses("patch_file") == ["error"]

    def test_the_body_gets_the_judged_copy_as_text(self, kept: Kept) -> None:
        """A key that is there twice is judged by its last value, and the body sees no other one."""
        raw = Raw()
        text = f'{{"path": "{SECRET}", "path": "a.py"}}'
        play([[("patch_file", text)], "done"], [raw.tool], "patch a.py")  # type: ignore[list-item]
        assert raw.got == ['{"path": "a.py"}']

    def test_no_arguments_at_all_are_an_empty_object(self, kept: Kept, world: World) -> None:
        """As the SDK reads them."""
        play([[("list_files", "")], "done"], world)  # type: ignore[list-item]
        assert world.ran == ["list_files"]

    def test_a_tool_that_was_built_before_is_guarded(self, kept: Kept, world: World) -> None:
        """The SDK asks the tool for its invoker when it calls it."""
        deactivate("openai-agents")
        tools = tools_of(world)
        activate("openai-agents")
        play([PATCH_SECRET, "done"], tools)
        assert world.ran == []

    def test_a_tool_that_was_built_while_active_is_free_afterwards(self, kept: Kept, world: World) -> None:
        """It keeps its own invoker, not ours."""
        tools = tools_of(world)
        assert all(tool.on_invoke_tool is tool.on_invoke_tool for tool in tools)
        deactivate("openai-agents")
        play([PATCH_SECRET, "done"], tools)
        assert world.ran == ["patch_file"]

    def test_copies_are_judged_once_and_by_their_own_name(self, kept: Kept) -> None:
        """`dataclasses.replace` and `copy` hand over an invoker that is guarded already."""
        raw = Raw()
        assert raw.tool.on_invoke_tool is raw.tool.on_invoke_tool
        replaced = dataclasses.replace(raw.tool, name="replaced")
        copied, deep = copy.copy(raw.tool), copy.deepcopy(raw.tool)
        copied.name, deep.name = "copied", "deep"
        names = ("replaced", "copied", "deep")
        play([[(name, {"path": "a.py"}) for name in names], "done"], [replaced, copied, deep], "patch a.py")
        assert kept.judged() == dict.fromkeys(names, 1)
        assert raw.got == ['{"path": "a.py"}'] * 2  # the deep copy has a `Raw` of its own
        assert deep.on_invoke_tool.__self__.got == ['{"path": "a.py"}']

    def test_a_guarded_tool_pickles_as_it_did(self, kept: Kept) -> None:
        """An invoker of a module pickles by its name."""
        tool = FunctionTool("patch_file", "Patch.", SCHEMA, invoke_nothing, strict_json_schema=False)
        assert tool.on_invoke_tool is not invoke_nothing
        again = pickle.loads(pickle.dumps(tool))
        assert vars(again)["on_invoke_tool"] is invoke_nothing
        play([PATCH_SECRET, "done"], [again])
        assert kept.statuses("patch_file") == ["blocked"]

    def test_a_tool_around_a_tool_is_one_call(self, kept: Kept, world: World) -> None:
        """Another tool of the same name that hands the same arguments on is the same call."""
        inner = next(tool for tool in tools_of(world) if tool.name == "patch_file")

        async def audited(context: Any, text: str) -> Any:
            return await inner.on_invoke_tool(context, text)

        outer = dataclasses.replace(inner, on_invoke_tool=audited)
        play([PATCH_LISTED, "done"], [outer], "patch a.py")
        assert world.ran == ["patch_file"]
        assert kept.judged() == {"patch_file": 1}

    def test_a_class_still_has_no_invoker(self, kept: Kept) -> None:
        """A dataclass derived from `FunctionTool` must not find a default for the field."""
        assert not hasattr(FunctionTool, "on_invoke_tool")

        @dataclasses.dataclass
        class Mine(FunctionTool):
            """A tool."""

        with pytest.raises(TypeError, match="on_invoke_tool"):
            Mine("patch_file", "Patch a file.", SCHEMA)  # type: ignore[call-arg]

    def test_an_exception_that_became_text_teaches_nothing(self, kept: Kept, world: World) -> None:
        """Not even by a formatter of one's own, whose text is nothing but the value."""

        def format_it(context: Any, error: Exception) -> str:
            return "leaked.py"

        tools = tools_of(world, failure_error_function=format_it)
        script = [LIST, [("broken", {"path": "a.py"})], [("patch_file", {"path": "leaked.py"})], "done"]
        played = play(script, tools)  # type: ignore[arg-type]
        assert "leaked.py" in played.model_saw[2]
        assert world.ran == ["list_files", "broken"]

    def test_calls_of_one_response_that_run_in_turn_cannot_cite_each_other(self, kept: Kept, world: World) -> None:
        """The second one starts when the first one has returned, and was written before."""
        listed = asyncio.Event()

        class InTurn(RunHooks):  # type: ignore[type-arg]
            async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
                if tool.name == "patch_file":
                    await listed.wait()

            async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
                listed.set()

        play([[*LIST, *PATCH_LISTED], PATCH_LISTED, "done"], world, hooks=InTurn())  # type: ignore[misc]
        assert world.ran == ["list_files", "patch_file"]
        assert kept.statuses("patch_file") == ["blocked", "ok"]

    @pytest.mark.parametrize("mark", ["_is_agent_tool", "_is_codex_tool"])
    def test_what_the_sdk_says_is_a_models_word_is_no_observation(self, kept: Kept, world: World, mark: str) -> None:
        """Also where no run was opened in this process for it."""
        tools = tools_of(world)
        setattr(tools[0], mark, True)
        play([LIST, PATCH_LISTED, "done"], tools)
        assert world.ran == ["list_files"]

    def test_a_text_part_is_its_text(self, kept: Kept, world: World) -> None:
        """The SDK's envelope is no part of the result; an image in it is none at all."""

        @function_tool
        async def look() -> list[Any]:
            """Look."""
            return [
                ToolOutputText(text="a.py"),
                ToolOutputImage(image_url="http://host/b.py"),
                ToolOutputText(text="c"),
            ]

        script = [[("look", {})], PATCH_LISTED, [("patch_file", {"path": "http://host/b.py"})], "done"]
        play(script, [look, *tools_of(world)])  # type: ignore[arg-type]
        assert [arguments["path"] for _, arguments in world.bodies] == ["a.py"]

    def test_an_approval_by_function_still_runs_the_judged_copy(self, kept: Kept, world: World) -> None:
        """The SDK may have parsed the text by then; that is parsed anew."""

        async def never(context: Any, arguments: dict[str, Any], call_id: str) -> bool:
            return False

        tools = tools_of(world, needs_approval=never)
        look = [("list_files", '{"root":"."}')]
        play([look, [("patch_file", '{"path":"a.py","comment":""}')], "done"], tools, "what is in .?")  # type: ignore[list-item]
        assert world.ran == ["list_files", "patch_file"]

    def test_a_handoff_is_no_tool_call(self, kept: Kept, world: World) -> None:
        """It is not judged; the agent that takes over has the same ledger, and is told the history, not by a human."""
        second = Agent(name="second", model=Scripted([PATCH_LISTED, PATCH_SECRET, "done"]), tools=tools_of(world))
        first = Agent(
            name="first",
            model=Scripted([LIST, [("over", {"reason": SECRET})]]),
            tools=tools_of(world),
            handoffs=[handoff(second, tool_name_override="over")],
        )
        played = play_agent(first, "go", flavour="async")
        assert played.output == "done"
        assert world.ran == ["list_files", "patch_file"]
        assert kept.judged() == {"list_files": 1, "patch_file": 2}


class TestRefusals(Scenario):
    def test_abort_inside_a_nested_agent_stops_the_outermost_run(self, kept: Kept, world: World) -> None:
        """The SDK would tell the outer model that the tool failed."""
        kept.configure(Policy(on_violation="abort", allow=frozenset({"input"})))
        helper = Agent(name="helper", model=Scripted([PATCH_SECRET, "sorry"]), tools=tools_of(world))
        tools = [helper.as_tool("ask_helper", "Ask for help.")]
        played = play([[("ask_helper", {"input": "go"})], "done"], tools)
        assert isinstance(played.raised, ProvenanceDenied)
        assert len(played.model_saw) == 1
        assert world.ran == []

    def test_abort_inside_a_tools_body_stops_the_run(self, kept: Kept, world: World) -> None:
        """The body calls a function that is guarded itself; the SDK would make a text of its refusal."""
        kept.configure(Policy(on_violation="abort"))
        delete = citespan.tool(world.functions()["patch_file"])

        @function_tool
        async def clean_up() -> str:
            """Clean up."""
            return str(delete(path=SECRET))

        played = play([[("clean_up", {})], "done"], [clean_up])
        assert isinstance(played.raised, ProvenanceDenied)
        assert isinstance(played.raised, AgentsException)
        assert world.ran == []

    def test_the_exception_of_an_abort_pickles(self, kept: Kept, world: World) -> None:
        """As the refusal that it is, for processes without the SDK."""
        kept.configure(Policy(on_violation="abort"))
        raised = play([PATCH_SECRET, "done"], world).raised
        assert isinstance(raised, AgentsException)
        again = pickle.loads(pickle.dumps(raised))
        assert type(again) is ProvenanceDenied
        assert str(again) == str(raised)

    def test_abort_cancels_no_call_that_was_let_through(self, kept: Kept, world: World) -> None:
        """A sibling that was judged has its own verdict; the run still ends with the refusal."""
        kept.configure(Policy(on_violation="abort"))
        played = play([[*LIST, *PATCH_SECRET], "done"], world)  # type: ignore[misc]
        assert isinstance(played.raised, ProvenanceDenied)
        assert "patch_file" not in world.ran

    @pytest.mark.parametrize("sensitive", [True, False])
    def test_tracing_does_not_change_it(self, kept: Kept, world: World, sensitive: bool) -> None:
        """With the SDK's own tracing on, and with what it calls sensitive in it or not."""
        config = RunConfig(trace_include_sensitive_data=sensitive)
        played = play([PATCH_SECRET, LIST, PATCH_LISTED, "done"], world, run_config=config)
        assert REFUSED in played.model_saw[1]
        assert world.ran == ["list_files", "patch_file"]

    def test_a_call_that_timed_out_teaches_nothing(self, kept: Kept, world: World) -> None:
        """The SDK cancels the body and tells the model; the span has no result."""

        async def never_ends(path: str) -> str:
            """Wait.

            Args:
                path: What for.
            """
            await asyncio.Event().wait()
            return path

        slow = function_tool(never_ends, timeout=0.05)
        played = play([[("never_ends", {"path": "a.py"})], "done"], [slow], "wait for a.py")
        assert played.output == "done"
        (span,) = kept.of("never_ends")
        assert (span.attributes or {})[semconv.STATUS] == "ok"


async def invoke_nothing(context: Any, text: str) -> str:
    """An invoker that pickles."""
    return ""
