"""What the scenarios of this folder share: the contract's fixtures without its tests."""

from collections.abc import Sequence
from typing import Any

from pydantic_ai import Agent
from tests.instrument.contract import Contract, Played, World
from tests.instrument.frameworks.pydantic_ai.agent import Script, play_agent, tools_of


class Scenario:
    """The adapter is active, as `kept` of the contract has it."""

    adapter = "pydantic-ai"
    own_process = Contract.own_process
    kept = Contract.kept
    world = Contract.world


def play(
    script: Sequence[Any] | Script, tools: World | list[Any], said: Any = "go", *, retries: int = 1, **options: Any
) -> Played:
    """Run an agent with these tools to its end; `retries` is the framework's default."""
    made = tools_of(tools, True) if isinstance(tools, World) else tools
    script = script if isinstance(script, Script) else Script(script)
    return play_agent(Agent(tools=made, name="A", retries=retries), script, said, flavour="async", **options)
