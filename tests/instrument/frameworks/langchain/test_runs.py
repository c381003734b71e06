"""Runs, steps and results of LangGraph graphs, and of LangChain tools without a graph."""

import asyncio
import pickle
import subprocess
import sys
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, ToolException, tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from tests.instrument.contract import LIST, PATCH_LISTED, PATCH_SECRET, REFUSED, SECRET, Kept, Turn, World
from tests.instrument.frameworks.langchain.agent import (
    FLAVOURS,
    Scenario,
    Scripted,
    ToolNode,
    play_agent,
    play_graph,
    tools_condition,
    tools_of,
)

import citespan
from citespan import semconv
from citespan.core.decision import ProvenanceDenied
from citespan.core.policy import Policy
from citespan.guard.context import current_run

NOTES: Turn = [("patch_file", {"path": "notes.md"})]


def scripted(*script: Turn) -> Scripted:
    return Scripted(script=list(script), saw=[])


def graph_of(model: Scripted, tools: list[Any], **options: Any) -> Any:
    """The usual graph of a model and a `ToolNode`."""

    def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", ask)
    graph.add_node("tools", ToolNode(tools, **options))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    return graph.compile()


class TestSteps(Scenario):
    """Calls of one model response cannot cite each other, whoever runs them; those of the next one can."""

    @pytest.mark.parametrize("handles", [True, False])
    def test_a_tool_node(self, kept: Kept, world: World, handles: bool) -> None:
        """It runs all calls of a response in one task."""
        model = scripted([*LIST, *PATCH_LISTED], PATCH_LISTED, "done")
        graph = graph_of(model, tools_of(world), handle_tool_errors=handles)
        assert play_graph(graph, model, {"messages": "go"}, "invoke").output == "done"
        assert world.ran == ["list_files", "patch_file"]
        assert REFUSED in model.saw[1]

    def test_a_loop_in_one_node(self, kept: Kept, world: World) -> None:
        """Calls run one after the other there: the second one still was written before the first one returned."""
        tools = {made.name: made for made in tools_of(world)}
        model = scripted([*LIST, *PATCH_LISTED], PATCH_LISTED, "done")

        def loop(state: MessagesState) -> dict[str, Any]:
            messages = list(state["messages"])
            while not messages or getattr(messages[-1], "tool_calls", True):
                messages.append(model.invoke(messages))
                messages += [tools[wanted["name"]].invoke(wanted) for wanted in messages[-1].tool_calls]
            return {"messages": messages}

        graph = StateGraph(MessagesState)
        graph.add_node("loop", loop)
        graph.add_edge(START, "loop")
        assert play_graph(graph.compile(), model, {"messages": "go"}, "invoke").output == "done"
        assert world.ran == ["list_files", "patch_file"]

    def test_a_loop_without_a_graph(self, kept: Kept, world: World) -> None:
        """In a run that the host opened."""
        tools = {made.name: made for made in tools_of(world)}
        model = scripted([*LIST, *PATCH_LISTED], PATCH_LISTED, "done")
        with citespan.run():
            for _ in range(2):
                for wanted in model.invoke("go").tool_calls:
                    tools[wanted["name"]].invoke(wanted)
        assert world.ran == ["list_files", "patch_file"]

    def test_the_functional_api(self, kept: Kept, world: World) -> None:
        """Its tasks all belong to one superstep."""
        tools = {made.name: made for made in tools_of(world)}
        model = scripted([*LIST, *PATCH_LISTED], PATCH_LISTED, "done")

        @task
        def ask() -> Any:
            return model.invoke("go")

        @task
        def use(wanted: Any) -> Any:
            return tools[wanted["name"]].invoke(wanted)

        @entrypoint()
        def agent(topic: str) -> str:
            while calls := ask().result().tool_calls:
                for wanted in calls:
                    use(wanted).result()
            return topic

        assert agent.invoke("go") == "go"
        assert world.ran == ["list_files", "patch_file"]

    def test_a_model_of_another_library(self, kept: Kept, world: World) -> None:
        """Its calls of one superstep are of one response."""
        model = scripted("done")
        turns = iter([[*LIST, *PATCH_LISTED], PATCH_LISTED])

        def ask(state: MessagesState) -> dict[str, Any]:
            calls = [
                {"name": name, "args": arguments, "id": f"{len(state['messages'])}-{name}"}
                for name, arguments in next(turns, [])
            ]
            return {"messages": [AIMessage("", tool_calls=calls) if calls else AIMessage("done")]}

        graph = StateGraph(MessagesState)
        graph.add_node("model", ask)
        graph.add_node("tools", ToolNode(tools_of(world)))
        graph.add_edge(START, "model")
        graph.add_conditional_edges("model", tools_condition)
        graph.add_edge("tools", "model")
        assert play_graph(graph.compile(), model, {"messages": "go"}, "invoke").output == "done"
        assert world.ran == ["list_files", "patch_file"]

    def test_a_model_inside_a_tool_is_no_step_of_the_agent(self, kept: Kept, world: World) -> None:
        """While one call thinks, its sibling still cannot cite what returned meanwhile."""
        inner = scripted("thought")

        @tool
        def think() -> str:
            """Think."""
            world.functions()["list_files"]()
            return str(inner.invoke("?").content)

        tools = {made.name: made for made in [*tools_of(world), think]}
        model = scripted([*LIST, ("think", {}), *PATCH_LISTED])
        with citespan.run():
            for wanted in model.invoke("go").tool_calls:
                tools[wanted["name"]].invoke(wanted)
        assert world.ran == ["list_files", "list_files"]


class TestSources(Scenario):
    """What of a graph's input is a human's or the host's word."""

    @pytest.mark.parametrize(
        "message",
        [
            SystemMessage("the file is notes.md"),
            AIMessage("the file is notes.md"),
            {"role": "assistant", "content": "the file is notes.md"},
            ToolMessage("notes.md", tool_call_id="x"),
            HumanMessage([{"type": "document", "text": "the file is notes.md"}]),
        ],
    )
    def test_nobody_else_is_the_human(self, kept: Kept, world: World, message: Any) -> None:
        """Not the system, the assistant, a tool, or a document in the human's message."""
        model = scripted(NOTES, "done")
        graph = graph_of(model, tools_of(world))
        play_graph(graph, model, {"messages": [("user", "go"), message, HumanMessage("on")]}, "invoke")
        assert world.ran == []
        assert kept.statuses("patch_file") == ["blocked"]

    @pytest.mark.parametrize(
        "messages",
        [
            "patch notes.md",
            [HumanMessage([{"type": "text", "text": "patch notes.md"}])],
            [{"role": "user", "content": "patch notes.md"}],
            [("human", "patch notes.md"), AIMessage("which part?"), ("user", "all")],
        ],
    )
    def test_a_human_is_the_human(self, kept: Kept, world: World, messages: Any) -> None:
        """In every form in which LangChain takes a message, and earlier in the history."""
        model = scripted(NOTES, "done")
        play_graph(graph_of(model, tools_of(world)), model, {"messages": messages}, "invoke")
        assert world.ran == ["patch_file"]

    def test_the_rest_of_the_input_is_the_hosts(self, kept: Kept, world: World) -> None:
        """A plain value of the state that a graph is called with is a declared input."""

        class State(MessagesState):
            path: str

        model = scripted([("patch_file", {"path": "docs/guide.md"})], "done")

        def ask(state: State) -> dict[str, Any]:
            return {"messages": [model.invoke(state["messages"])]}

        graph = StateGraph(State)
        graph.add_node("model", ask)
        graph.add_node("tools", ToolNode(tools_of(world)))
        graph.add_edge(START, "model")
        graph.add_conditional_edges("model", tools_condition)
        graph.add_edge("tools", "model")
        play_graph(graph.compile(), model, {"messages": "go", "path": "docs/guide.md"}, "invoke")
        assert world.ran == ["patch_file"]

    @pytest.mark.parametrize("given, ran", [(AIMessage("notes.md"), []), (HumanMessage("notes.md"), ["patch_file"])])
    def test_a_message_alone_is_read_as_one(self, kept: Kept, world: World, given: Any, ran: list[str]) -> None:
        """A graph may be called with anything; an assistant's message is no value of the host's."""
        tools = {made.name: made for made in tools_of(world)}

        @entrypoint()
        def agent(message: Any) -> str:
            for wanted in scripted(NOTES).invoke([message]).tool_calls:
                tools[wanted["name"]].invoke(wanted)
            return "done"

        agent.invoke(given)
        assert world.ran == ran

    def test_a_graph_inside_a_graph_hears_no_human(self, kept: Kept, world: World) -> None:
        """A node may write a human's message itself: what one model wrote is no other one's user."""
        model = scripted(NOTES, "done")
        inner = graph_of(model, tools_of(world))

        class State(TypedDict):
            plan: str

        graph = StateGraph(State)
        graph.add_node("plan", lambda state: {"plan": "patch notes.md"})
        graph.add_node("act", lambda state: {"plan": inner.invoke({"messages": state["plan"]})["messages"][-1].content})
        graph.add_edge(START, "plan")
        graph.add_edge("plan", "act")
        assert graph.compile().invoke({"plan": ""}) == {"plan": "done"}
        assert world.ran == []
        assert kept.statuses("patch_file") == ["blocked"]

    def test_a_graph_that_is_a_node_shares_the_run(self, kept: Kept, world: World) -> None:
        """And what it observed, the next one may cite."""
        looks, acts = scripted(LIST, "listed"), scripted(PATCH_LISTED, "done")
        graph = StateGraph(MessagesState)
        graph.add_node("look", graph_of(looks, tools_of(world)))
        graph.add_node("act", graph_of(acts, tools_of(world)))
        graph.add_edge(START, "look")
        graph.add_edge("look", "act")
        assert play_graph(graph.compile(), acts, {"messages": "go"}, "invoke").output == "done"
        assert world.ran == ["list_files", "patch_file"]

    def test_what_the_host_answers_to_an_interrupt_counts(self, kept: Kept, world: World) -> None:
        """It is the word of whoever resumes the run; the tool that asked is not judged a second time."""

        @tool
        def ask_human() -> str:
            """Ask."""
            world.bodies.append(("ask_human", {}))
            return "they said " + interrupt("which file?")

        model = scripted([("ask_human", {})], NOTES, "done")
        graph = graph_of(model, [*tools_of(world), ask_human])
        graph.checkpointer = InMemorySaver()
        config: Any = {"configurable": {"thread_id": "T1"}}
        graph.invoke({"messages": "go"}, config)
        assert graph.invoke(Command(resume="notes.md"), config)["messages"][-1].content == "done"
        assert world.ran == ["ask_human", "ask_human", "patch_file"]
        assert kept.judged() == {"ask_human": 1, "patch_file": 1}
        stopped, resumed = kept.of("ask_human")
        assert stopped.status.is_unset
        assert semconv.ERROR_TYPE not in (stopped.attributes or {})
        assert semconv.UNRECORDED in (stopped.attributes or {})
        assert semconv.UNRECORDED not in (resumed.attributes or {})

    def test_a_thread_id_without_a_checkpointer_is_no_conversation(self, kept: Kept, world: World) -> None:
        """The framework keeps nothing of it, so neither does the guard."""
        play_agent([LIST, "listed"], world, thread="T1")
        play_agent([PATCH_LISTED, "done"], world, thread="T1")
        assert world.ran == ["list_files"]

    def test_a_thread_id_is_of_its_checkpointer(self, kept: Kept, world: World) -> None:
        """Two stores in memory may both have a thread T1: what one of them observed is no source in the other."""
        first, second = InMemorySaver(), InMemorySaver()
        play_agent([LIST, "listed"], world, thread="T1", saver=first)
        play_agent([PATCH_LISTED, "sorry"], world, thread="T1", saver=second)
        assert world.ran == ["list_files"]
        play_agent([PATCH_LISTED, "done"], world, thread="T1", saver=first)
        assert world.ran == ["list_files", "patch_file"]
        assert {(span.attributes or {})[semconv.CONVERSATION_ID] for span in kept.of("patch_file")} == {"T1"}

    def test_a_server_may_bring_its_checkpointer(self, kept: Kept, world: World) -> None:
        """In the config, beside the thread's id, for a graph that has none."""
        config: Any = {"configurable": {"thread_id": "T1", "__pregel_checkpointer": InMemorySaver()}}
        for script in ([*LIST], [*PATCH_LISTED]):
            graph = graph_of(scripted(script, "done"), tools_of(world))
            graph.invoke({"messages": "go"}, config)
        assert world.ran == ["list_files", "patch_file"]

    def test_checkpointers_of_one_store_share_their_threads(self, kept: Kept, world: World) -> None:
        """Two that are no memory of their own may stand on one database."""

        class Database(BaseCheckpointSaver):
            """What it keeps is kept elsewhere."""

            kept = InMemorySaver()

            def put(self, *args: Any) -> Any:
                return self.kept.put(*args)

            def put_writes(self, *args: Any) -> None:
                self.kept.put_writes(*args)

            def get_tuple(self, config: Any) -> Any:
                return self.kept.get_tuple(config)

            def get_next_version(self, *args: Any) -> Any:
                return self.kept.get_next_version(*args)

        play_agent([LIST, "listed"], world, thread="T1", saver=Database())
        play_agent([PATCH_LISTED, "done"], world, thread="T1", saver=Database())
        assert world.ran == ["list_files", "patch_file"]


class TestRefusals(Scenario):
    """How no is said."""

    @pytest.mark.parametrize("flavour", FLAVOURS)
    @pytest.mark.parametrize("handles", [True, False])
    def test_abort_gets_through_a_tool_node_that_handles_errors(
        self, kept: Kept, world: World, flavour: str, handles: bool
    ) -> None:
        """It is a signal to the graph, not an error of a tool; it pickles as the refusal that it is."""
        kept.configure(Policy(on_violation="abort"))
        model = scripted(PATCH_SECRET, "done")
        graph = graph_of(model, tools_of(world, "async-tools" in flavour), handle_tool_errors=handles)
        played = play_graph(graph, model, {"messages": "go"}, flavour)
        assert isinstance(played.raised, ProvenanceDenied)
        assert world.ran == []
        copy = pickle.loads(pickle.dumps(played.raised))
        assert (type(copy), str(copy)) == (ProvenanceDenied, str(played.raised))

    def test_abort_in_a_nested_agent_ends_the_outer_run(self, kept: Kept, world: World) -> None:
        """The caller of the outermost run gets it."""
        kept.configure(Policy(on_violation="abort", allow=frozenset({"task"})))

        @tool
        def ask_helper(task: str) -> str:
            """Ask."""
            played = play_agent([PATCH_SECRET, "sorry"], world)
            assert played.raised is not None
            raise played.raised

        played = play_agent([[("ask_helper", {"task": "x"})], "done"], [ask_helper])
        assert isinstance(played.raised, ProvenanceDenied)
        assert world.ran == []

    def test_a_call_by_hand_gets_the_refusal(self, kept: Kept, world: World) -> None:
        """Without a tool call id there is no message to answer with; without a run, nothing to cite."""
        tools = {made.name: made for made in tools_of(world)}
        with pytest.raises(ProvenanceDenied, match=r"patch_file\.path: no run is open here"):
            tools["patch_file"].invoke({"path": "a.py"})
        with citespan.run():
            tools["list_files"].invoke({})
            with pytest.raises(ProvenanceDenied, match=REFUSED):
                asyncio.run(tools["patch_file"].ainvoke({"path": SECRET}))
            tools["patch_file"].invoke({"path": "a.py"})
            wanted = {"name": "patch_file", "args": {"path": SECRET}, "id": "c1", "type": "tool_call"}
            answer = tools["patch_file"].invoke(wanted)
        assert (answer.status, answer.tool_call_id, answer.name) == ("error", "c1", "patch_file")
        assert world.ran == ["list_files", "patch_file"]

    def test_a_handoff_is_no_tool_and_a_transfer_of_money_is_one(self, kept: Kept, world: World) -> None:
        """Langgraph marks its handoffs; a name proves nothing."""

        @tool
        def transfer_to_helper(task_description: str) -> str:
            """Hand over."""
            world.bodies.append(("transfer_to_helper", {}))
            return "handed over"

        @tool
        def transfer_to_account(number: str) -> str:
            """Pay."""
            world.bodies.append(("transfer_to_account", {}))
            return "paid"

        transfer_to_helper.metadata = {"__handoff_destination": "helper"}
        calls: Turn = [
            ("transfer_to_helper", {"task_description": "do it"}),
            ("transfer_to_account", {"number": "DE 4711"}),
        ]
        play_agent(
            [calls, [("patch_file", {"path": "handed over"})], "done"], [transfer_to_helper, transfer_to_account]
        )
        assert world.ran == ["transfer_to_helper"]
        assert kept.of("transfer_to_helper") == []
        assert kept.statuses("transfer_to_account") == ["blocked"]


class TestResults(Scenario):
    """What of a result is an observation."""

    def patches(self, made: Any, world: World, path: str = "new.py", **options: Any) -> list[str]:
        """Call a tool, then patch what it may have named; which of them ran."""
        script: list[Turn] = [[(made.name, {})], [("patch_file", {"path": path})], "done"]
        play_agent(script, [made, *tools_of(world)], **options)
        return world.ran

    def test_a_handled_error_teaches_nothing(self, kept: Kept, world: World) -> None:
        """The tool says itself that it failed, whatever its text."""

        @tool
        def look() -> str:
            """Look."""
            raise ToolException("new.py")

        look.handle_tool_error = True
        assert self.patches(look, world) == []
        assert kept.statuses("patch_file") == ["blocked"]
        assert (kept.of("look")[0].attributes or {})[semconv.ERROR_TYPE] == semconv.ERROR_TOOL

    @pytest.mark.parametrize("status, ran", [("success", ["patch_file"]), ("error", [])])
    def test_a_message_is_read_by_its_status(self, kept: Kept, world: World, status: Any, ran: list[str]) -> None:
        """A tool may answer with the message itself."""

        @tool
        def look(call_id: Annotated[str, InjectedToolCallId]) -> ToolMessage:
            """Look."""
            return ToolMessage("new.py", tool_call_id=call_id, status=status)

        assert self.patches(look, world) == ran

    def test_a_command_is_read_by_its_messages(self, kept: Kept, world: World) -> None:
        """The state that it sets beside is not what the model reads."""

        @tool
        def look(call_id: Annotated[str, InjectedToolCallId]) -> Command:
            """Look."""
            return Command(update={"messages": [ToolMessage("new.py", tool_call_id=call_id)]})

        assert self.patches(look, world) == ["patch_file"]

    @pytest.mark.parametrize("path, ran", [("shown.py", ["patch_file"]), ("kept.py", [])])
    def test_an_artifact_is_not_what_the_model_saw(self, kept: Kept, world: World, path: str, ran: list[str]) -> None:
        """Of content and artifact, the content is the result."""

        @tool(response_format="content_and_artifact")
        def look() -> tuple[str, Any]:
            """Look."""
            return "shown.py", {"file": "kept.py"}

        assert self.patches(look, world, path) == ran

    def test_a_call_inside_a_body_does_not_speak_for_it(self, kept: Kept, world: World) -> None:
        """Each call has the result that it returned."""

        @tool
        def inner() -> str:
            """Inner."""
            return "inner.py"

        @tool
        def look() -> str:
            """Look."""
            inner.invoke({})
            return "new.py"

        assert self.patches(look, world) == ["patch_file"]


class TestStreams(Scenario):
    """A run holds for the steps of its stream and for nothing between them."""

    def graph(self, world: World, *script: Turn) -> Any:
        return graph_of(scripted(*script), tools_of(world))

    def test_between_two_steps_no_run_is_open(self, kept: Kept, world: World) -> None:
        """The consumer's own context is untouched."""
        for _ in self.graph(world, LIST, PATCH_LISTED, "done").stream({"messages": "go"}):
            assert current_run() is None
        assert world.ran == ["list_files", "patch_file"]

    def test_between_two_async_steps_no_run_is_open(self, kept: Kept, world: World) -> None:
        """Nor there."""

        async def consume() -> None:
            async for _ in self.graph(world, LIST, PATCH_LISTED, "done").astream({"messages": "go"}):
                assert current_run() is None

        asyncio.run(consume())
        assert world.ran == ["list_files", "patch_file"]

    def test_a_stream_that_is_left_ends_its_run(self, kept: Kept, world: World) -> None:
        """Its span is exported, without an error."""
        stream = self.graph(world, LIST, PATCH_LISTED, "done").stream({"messages": "go"})
        next(stream)
        stream.close()
        (span,) = [span for span in kept.all() if span.name.startswith("invoke_agent")]
        assert span.status.is_ok or span.status.is_unset

    def test_two_agents_in_one_event_loop(self, kept: Kept) -> None:
        """Both run at once, step by step; only one of them has listed."""
        looks, guesses = World(), World()

        async def both() -> None:
            first = self.graph(looks, LIST, PATCH_LISTED, "done").astream({"messages": "go"})
            second = self.graph(guesses, [("pause", {})], PATCH_LISTED, "done").astream({"messages": "go"})
            for _ in range(5):
                await anext(first, None)
                await anext(second, None)
            await first.aclose()
            await second.aclose()

        asyncio.run(both())
        assert looks.ran == ["list_files", "patch_file"]
        assert guesses.ran == ["pause"]

    def test_a_streamed_run_is_one_trace(self, kept: Kept, world: World) -> None:
        """Each tool call is a child of the one `invoke_agent`, which has the agent's name."""
        graph = self.graph(world, LIST, PATCH_LISTED, "done")
        graph.name = "patcher"
        list(graph.stream({"messages": "go"}))
        (run,) = [span for span in kept.all() if span.name == "invoke_agent patcher"]
        assert run.context is not None
        for name in ("list_files", "patch_file"):
            (span,) = kept.of(name)
            assert span.parent is not None
            assert span.parent.span_id == run.context.span_id
            assert (span.attributes or {})[semconv.TOOL_CALL_ID]


_WITHOUT_LANGGRAPH = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"langgraph", "langchain_mcp_adapters"}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hidden())
import importlib.util
find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name: None if name in {"langgraph", "langchain_mcp_adapters"} else find_spec(name)
import citespan
from citespan.core.policy import Policy
from citespan.instrument import activate_when_imported, activate
assert "langchain_core" not in sys.modules
activate_when_imported("langchain", "raise")
assert "langchain_core" not in sys.modules
from langchain_core.tools import tool
@tool
def save(path: str) -> str:
    "Save."
    print("saved", path)
    return "saved"
citespan.configure(Policy(on_violation="abort"), evidence=False)
with citespan.run(inputs={"file": "a.py"}):
    save.invoke({"path": "a.py"})
    try:
        save.invoke({"name": "save", "args": {"path": "b.py"}, "id": "c1", "type": "tool_call"})
    except citespan.ProvenanceDenied as refusal:
        print(type(refusal).__name__)
assert "langgraph" not in sys.modules
activate("langchain")
"""


def test_without_langgraph_and_before_langchain_is_imported() -> None:
    """With langchain-core alone the tools are guarded too, from the moment on at which the program imports it."""
    command = [sys.executable, "-W", "error", "-c", _WITHOUT_LANGGRAPH]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout == "saved a.py\nProvenanceDenied\n"
