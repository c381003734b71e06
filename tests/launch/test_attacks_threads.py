"""An agent that a tool runs in a thread is part of that call, as it is without the thread."""

import pytest
from tests.launch.conftest import PYTHON, REFUSED, World


@pytest.mark.parametrize("way", ["thread", "pool", "thread in a thread"])
def test_what_a_tool_tells_an_agent_in_a_thread_is_no_humans_word(world: World, way: str) -> None:
    """A model's words for a nested agent would otherwise let it do whatever they name."""
    done = world.run("--required", "--", PYTHON, *world.agent("thread_agent.py", way))
    assert (done.returncode, world.body_ran) == (0, False)
    assert REFUSED in done.stdout


@pytest.mark.parametrize("way", ["pool", "worker"])
def test_a_pools_worker_that_was_started_inside_a_call_keeps_nothing_of_it(world: World, way: str) -> None:
    """It serves other runs afterwards."""
    done = world.run("--required", "--", PYTHON, *world.agent("thread_agent.py", way))
    assert "a worker has a call: False" in done.stdout
