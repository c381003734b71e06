"""Modules that have a framework's name, and a framework that lacks what is wrapped. Needs the patch of `_patch.py`."""

from __future__ import annotations

import pytest
from tests.launch.conftest import PYTHON, World

CALL = "agents.run.AgentRunner2().call()"
BODY = "from pathlib import Path\nclass AgentRunner2:\n    def call(self):\n        Path('ran').touch()\n"


def package(world: World) -> None:
    (world.folder / "agents").mkdir()
    (world.folder / "agents" / "__init__.py").touch()
    (world.folder / "agents" / "run.py").write_text(BODY)


def test_a_package_of_the_programs_own_may_have_a_frameworks_name(world: World) -> None:
    """`agents.run` is a name that many programs use."""
    package(world)
    done = world.run("--required", "--", PYTHON, "-c", f"import agents.run\n{CALL}")
    assert (done.returncode, done.stderr, (world.folder / "ran").exists()) == (0, "", True)


@pytest.mark.parametrize(
    "first",
    [
        "import threading\ndef work(): import agents.run\nt = threading.Thread(target=work); t.start(); t.join()",
        "try:\n    import agents.run\nexcept BaseException: pass",
    ],
    ids=["in a thread", "caught"],
)
def test_a_framework_that_lacks_what_is_wrapped_ends_the_process(world: World, first: str) -> None:
    """However it is imported first: the next import would find nothing that refuses."""
    package(world)
    about = world.folder / "openai_agents-0.24.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: openai-agents\nVersion: 0.24.0\n")
    (about / "RECORD").write_text("agents/__init__.py,,\nagents/run.py,,\n")
    program = f"{first}\nimport agents.run\n{CALL}"
    done = world.run("--required", "--", PYTHON, "-c", program, PYTHONPATH=str(world.folder))
    assert (done.returncode, (world.folder / "ran").exists()) == (78, False)
    assert "agents.run has no AgentRunner.run" in done.stderr
