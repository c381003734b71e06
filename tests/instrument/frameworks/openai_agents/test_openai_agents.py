"""The OpenAI Agents SDK: the contract, and what is its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agents import Agent
from tests.instrument.contract import Nesting, Played, Threads, Turn, World
from tests.instrument.frameworks.openai_agents.agent import Scripted, play_agent, session_of, tools_of


@dataclass
class Task:
    """What the inner agent is asked."""

    task: str


def _task(options: Any) -> str:
    return str(options["params"]["task"])


class TestOpenAIAgents(Threads, Nesting):
    """The contract, with `Runner.run`, `Runner.run_sync` and `Runner.run_streamed`."""

    adapter = "openai-agents"
    distributions = ("openai-agents",)
    flavours = ("sync", "async", "stream")

    def play(
        self, script: Sequence[Turn], world: World, *, flavour: str, said: str = "go", thread: str | None = None
    ) -> Played:
        agent = Agent(name="A", model=Scripted(script), tools=tools_of(world, flavour != "sync"))
        return play_agent(agent, said, flavour=flavour, session=session_of(world, thread))

    def play_nested(self, outer: Sequence[Turn], inner: Sequence[Turn], world: World, *, flavour: str) -> Played:
        helper = Agent(name="helper", model=Scripted(inner), tools=tools_of(world))
        ask = helper.as_tool("ask_helper", "Ask for help.", parameters=Task, input_builder=_task)
        tools = [*tools_of(world, flavour != "sync"), ask]
        return play_agent(Agent(name="A", model=Scripted(outer), tools=tools), "go", flavour=flavour)
