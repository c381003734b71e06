"""The agent beside this file, unchanged, under `citespan run`."""

from pathlib import Path

from tests.instrument.unchanged import Unchanged


class TestOpenAIAgents(Unchanged):
    """Synchronous, asynchronous, and streamed."""

    agent = Path(__file__).with_name("unchanged_agent.py")
