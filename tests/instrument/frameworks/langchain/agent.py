"""LangChain agents with a scripted model, for any version of it."""

import asyncio
import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.base import BaseCheckpointSaver

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # langgraph-prebuilt 1.0 warns of what it itself imports
    from langgraph.prebuilt import ToolNode, tools_condition

from tests.instrument.contract import Contract, Played, Turn, World

__all__ = ["FLAVOURS", "Scenario", "Scripted", "ToolNode", "play_agent", "play_graph", "tools_condition", "tools_of"]

FLAVOURS = ("invoke", "ainvoke", "ainvoke-async-tools", "stream", "astream", "astream-messages", "astream_events")


class Scripted(BaseChatModel):
    """Plays a script, and keeps the texts that it was given at each turn."""

    script: list[Any]
    saw: list[str]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> "Scripted":
        return self

    def _turn(self, messages: Any) -> dict[str, Any]:
        self.saw.append("\n".join(str(message.content) for message in messages))
        number = len(self.saw)
        turn = self.script[number - 1]
        if isinstance(turn, str):
            return {"content": turn}
        calls = [
            {"name": name, "args": arguments, "id": f"call-{number}-{index}", "type": "tool_call"}
            for index, (name, arguments) in enumerate(turn)
        ]
        return {"content": "", "tool_calls": calls}

    def _generate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(**self._turn(messages)))])


class Streaming(Scripted):
    """The same, in one chunk."""

    def _stream(self, messages: Any, *_: Any, **__: Any) -> Iterator[ChatGenerationChunk]:
        turn = self._turn(messages)
        chunks = [
            {"name": call["name"], "args": json.dumps(call["args"]), "id": call["id"], "index": index}
            for index, call in enumerate(turn.get("tool_calls", []))
        ]
        yield ChatGenerationChunk(message=AIMessageChunk(content=turn["content"], tool_call_chunks=chunks))


def tools_of(world: World, asynchronous: bool = False) -> list[StructuredTool]:
    """The tools of a world, as LangChain's."""
    functions = world.functions(asynchronous)
    if asynchronous:
        return [StructuredTool.from_function(coroutine=body, parse_docstring=True) for body in functions.values()]
    return [StructuredTool.from_function(body, parse_docstring=True) for body in functions.values()]


def run(graph: Any, given: Any, config: Any, flavour: str) -> Any:
    """Run a graph to its end, and give its last state."""
    if flavour == "invoke":
        return graph.invoke(given, config)
    if flavour == "stream":
        return list(graph.stream(given, config, stream_mode="values"))[-1]
    return asyncio.run(_run_async(graph, given, config, flavour))


async def _run_async(graph: Any, given: Any, config: Any, flavour: str) -> Any:
    if flavour.startswith("ainvoke"):
        return await graph.ainvoke(given, config)
    if flavour == "astream_events":
        events = [event async for event in graph.astream_events(given, config, version="v2")]
        return events[-1]["data"]["output"]
    modes = ["values", "messages"] if flavour == "astream-messages" else ["values"]
    states = [state async for mode, state in graph.astream(given, config, stream_mode=modes) if mode == "values"]
    return states[-1]


def play_graph(graph: Any, model: Scripted, given: Any, flavour: str, thread: str | None = None) -> Played:
    """Run an agent's graph, and say what came of it."""
    config = {} if thread is None else {"configurable": {"thread_id": thread}}
    try:
        last = run(graph, given, config, flavour)["messages"][-1]
    except Exception as error:
        return Played(None, error, model.saw)
    return Played(str(last.content), None, model.saw)


def play_agent(
    script: Sequence[Turn],
    tools: World | list[Any],
    *,
    flavour: str = "invoke",
    said: Any = "go",
    thread: str | None = None,
    saver: BaseCheckpointSaver | None = None,
    **options: Any,
) -> Played:
    """Run `create_agent` with these tools and this script."""
    model = (Streaming if "messages" in flavour else Scripted)(script=list(script), saw=[])
    made = tools_of(tools, "async-tools" in flavour) if isinstance(tools, World) else tools
    graph = create_agent(model, tools=made, checkpointer=saver, **options)
    return play_graph(graph, model, {"messages": [("user", said)]}, flavour, thread)


def helper(inner: Sequence[Turn], world: World, flavour: str) -> Callable[[str], str]:
    """A tool's function whose body runs another agent."""

    def ask_helper(task: str) -> str:
        """Ask the helper.

        Args:
            task: What to do.
        """
        played = play_agent(inner, world, said=task, flavour="stream" if "stream" in flavour else "invoke")
        if played.raised is not None:
            raise played.raised
        return str(played.output)

    return ask_helper


class Scenario:
    """The adapter is active, as `kept` of the contract has it."""

    adapter = "langchain"
    own_process = Contract.own_process
    kept = Contract.kept
    world = Contract.world
