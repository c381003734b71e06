"""What a guarded process says when it ends."""

from __future__ import annotations

import pytest
from tests.launch.conftest import PYTHON, World

from citespan.guard.registry import Tally
from citespan.launch.farewell import farewell


def test_a_refusal_is_said_to_whoever_started_the_agent(world: World) -> None:
    """The model read the reason; the person sees that there is one, of which tool, and where to look."""
    done = world.run("--required", "--", PYTHON, *world.agent("tool_agent.py"))
    assert "was refused (delete_note)" in done.stderr
    assert f"see {world.evidence}" in done.stderr
    assert "hidden.env" not in done.stderr.rpartition("citespan:")[2]


@pytest.mark.parametrize(
    "refused, flagged, said",
    [
        ({}, {}, ""),
        ({"patch": 1}, {}, "citespan: 1 call was refused (patch); see e.jsonl\n"),
        (
            {"patch": 2, "send": 1},
            {"post": 1},
            "citespan: 3 calls were refused (patch, send); see e.jsonl\n"
            "citespan: 1 call ran and would be refused where enforced (post); see e.jsonl\n",
        ),
    ],
)
def test_it_counts_by_tool(refused: dict[str, int], flagged: dict[str, int], said: str) -> None:
    """Nothing is said where nothing is to be said."""
    tally = Tally()
    tally.refused, tally.flagged = refused, flagged
    assert farewell(tally, "e.jsonl") == said
