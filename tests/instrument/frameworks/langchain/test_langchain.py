"""LangChain: the contract."""

from collections.abc import Sequence
from typing import ClassVar

from langchain.agents.middleware import ToolRetryMiddleware
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from tests.instrument.contract import Nesting, Played, Retries, Threads, Turn, World
from tests.instrument.frameworks.langchain.agent import FLAVOURS, helper, play_agent, tools_of


class TestLangChain(Threads, Nesting, Retries):
    """An agent of `create_agent`, in every way to run it."""

    adapter = "langchain"
    distributions: ClassVar = ("langchain-core", "langgraph", "langchain")
    flavours = FLAVOURS

    def play(
        self, script: Sequence[Turn], world: World, *, flavour: str, said: str = "go", thread: str | None = None
    ) -> Played:
        saver = None if thread is None else world.memory.setdefault("saver", InMemorySaver())
        return play_agent(script, world, flavour=flavour, said=said, thread=thread, saver=saver)

    def play_nested(self, outer: Sequence[Turn], inner: Sequence[Turn], world: World, *, flavour: str) -> Played:
        ask = StructuredTool.from_function(helper(inner, world, flavour), parse_docstring=True)
        return play_agent(outer, [*tools_of(world, "async-tools" in flavour), ask], flavour=flavour)

    def play_retrying(self, script: Sequence[Turn], world: World, *, flavour: str) -> Played:
        retry = ToolRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False)
        return play_agent(script, world, flavour=flavour, middleware=[retry])
