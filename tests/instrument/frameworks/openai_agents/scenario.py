"""What the scenarios of this folder share: the contract's fixtures without its tests."""

from collections.abc import Sequence
from typing import Any

from agents import Agent
from tests.instrument.contract import Contract, Played, Turn, World
from tests.instrument.frameworks.openai_agents.agent import Scripted, play_agent, tools_of


class Scenario:
    """The adapter is active, as `kept` of the contract has it."""

    adapter = "openai-agents"
    own_process = Contract.own_process
    kept = Contract.kept
    world = Contract.world


def play(script: Sequence[Turn], tools: World | list[Any], said: Any = "go", **options: Any) -> Played:
    """Run an agent with these tools to its end."""
    made = tools_of(tools) if isinstance(tools, World) else tools
    return play_agent(Agent(name="A", model=Scripted(script), tools=made), said, flavour="async", **options)
