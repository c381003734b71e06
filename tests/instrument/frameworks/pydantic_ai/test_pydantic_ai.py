"""Pydantic AI: the contract, and what is its own."""

from collections.abc import Sequence

from pydantic_ai import Agent
from tests.instrument.contract import Nesting, Played, Threads, Turn, World
from tests.instrument.frameworks.pydantic_ai.agent import Script, asking, play_agent, tools_of


class TestPydanticAI(Threads, Nesting):
    """The contract, in every way to run an agent."""

    adapter = "pydantic-ai"
    distributions = ("pydantic-ai-slim",)
    flavours = ("sync", "async", "iter", "stream", "stream-sync", "events")

    def play(
        self, script: Sequence[Turn], world: World, *, flavour: str, said: str = "go", thread: str | None = None
    ) -> Played:
        agent = Agent(tools=tools_of(world, flavour != "sync"), name="A")
        options = {} if thread is None else {"conversation_id": thread}
        return play_agent(agent, Script(script), said, flavour=flavour, **options)

    def play_nested(self, outer: Sequence[Turn], inner: Sequence[Turn], world: World, *, flavour: str) -> Played:
        ask = asking(inner, world, flavour)
        agent = Agent(tools=[*tools_of(world, flavour != "sync"), ask], name="A")
        return play_agent(agent, Script(outer), "go", flavour=flavour)
