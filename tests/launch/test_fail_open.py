"""What lets an agent run unguarded under plain zero-code OpenTelemetry does not under `citespan run --required`.

The proof is the server's: whether the request reached it.
"""

from __future__ import annotations

import sys
import venv
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pytest
from opentelemetry.sdk import environment_variables
from tests.launch.conftest import PYTHON, REFUSED, World

INSTRUMENT = str(Path(PYTHON).with_name("opentelemetry-instrument"))


class Fault(NamedTuple):
    """How OpenTelemetry's start fails: variables, options of Python, and a distribution that is found first."""

    variables: Mapping[str, str] = MappingProxyType({})
    options: tuple[str, ...] = ()
    entry_points: str = ""
    module: str = ""


FAULTS = {
    "our instrumentor raises": Fault(
        entry_points="[opentelemetry_pre_instrument]\nvendor = vendor:start\n",
        module=(
            "def start():\n"
            "    from citespan.launch.entry_points import Instrumentor\n"
            "    def fail(self, **options): raise RuntimeError('ours')\n"
            "    Instrumentor._instrument = fail\n"
        ),
    ),
    "another vendor's raises first": Fault(
        entry_points="[opentelemetry_pre_instrument]\nvendor = vendor:start\n",
        module="def start(): raise RuntimeError('theirs')\n",
    ),
    "unknown exporter": Fault({"OTEL_TRACES_EXPORTER": "nonsense"}),
    "OTLP package missing": Fault(
        {"OTEL_TRACES_EXPORTER": "otlp"},
        entry_points=(
            "[opentelemetry_traces_exporter]\n"
            "otlp = not_installed.exporter:Exporter\n"
            "otlp_proto_grpc = not_installed.exporter:Exporter\n"
            "otlp_proto_http = not_installed.exporter:Exporter\n"
        ),
    ),
    "bad config file": Fault({"OTEL_CONFIG_FILE": "absent.yaml"}),
    "isolated": Fault(options=("-I",)),
    "all instrumentations disabled": Fault({"OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": "*"}),
}


@pytest.fixture(params=FAULTS)
def fault(request: pytest.FixtureRequest, world: World) -> Fault:
    found = FAULTS[request.param]
    world.environment["CITESPAN_POLICY"] = world.enforcing()
    if found.entry_points:
        vendor = world.folder / "vendor"
        info = vendor / "vendor-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: vendor\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(found.entry_points)
        (vendor / "vendor.py").write_text(found.module)
        world.environment["PYTHONPATH"] = str(vendor)
    world.environment.update(found.variables)
    return found


def test_plain_zero_code_runs_the_agent_unguarded(world: World, fault: Fault) -> None:
    """With exit code 0, and the tool's body runs: what the documentation says of its limits is so."""
    done = world.play(INSTRUMENT, PYTHON, *fault.options, *world.agent())
    knows_config_files = hasattr(environment_variables, "OTEL_CONFIG_FILE")
    harmless = "OTEL_CONFIG_FILE" in fault.variables and not knows_config_files  # an SDK that does not read it
    assert (done.returncode, world.body_ran) == (0, not harmless)


def test_citespan_run_guards_it(world: World, fault: Fault) -> None:
    """The same start ends in a guarded call."""
    done = world.run("--required", "--", INSTRUMENT, PYTHON, *fault.options, *world.agent())
    assert (done.returncode, world.body_ran) == (0, False)
    assert REFUSED in done.stdout


def site_packages() -> str:
    """Where everything is: with this on its path a Python without `site` could run the agent."""
    return next(place for place in sys.path if place.endswith("site-packages"))


def no_site(world: World) -> list[str]:
    return [PYTHON, "-S", *world.agent()]


def no_citespan(world: World) -> list[str]:
    place = world.folder / "venv"
    venv.create(place, with_pip=False, symlinks=True)
    return [str(place / "bin" / "python"), *world.agent()]


def no_citespan_in_a_shell(world: World) -> list[str]:
    return ["sh", "-c", '"$0" "$@"', *no_citespan(world)]


def no_citespan_after_exec(world: World) -> list[str]:
    return [PYTHON, "-c", "import os, sys; os.execv(sys.argv[1], sys.argv[1:])", *no_citespan(world)]


def no_python(world: World) -> list[str]:
    return ["sh", "-c", "true"]


@pytest.mark.parametrize("command", [no_site, no_citespan, no_citespan_in_a_shell, no_citespan_after_exec, no_python])
def test_what_cannot_be_guarded_ends_with_78(world: World, command: Callable[[World], list[str]]) -> None:
    """Before the agent's first tool call, with the reason; without it the agent would have run."""
    words = command(world)
    done = world.run("--required", "--", *words, PYTHONPATH=site_packages())
    assert (done.returncode, world.body_ran) == (78, False)
    assert "citespan: " in done.stderr
    if command is not no_python:
        world.play(*words, PYTHONPATH=site_packages())
        assert world.body_ran


def test_a_python_that_ignores_its_environment_is_guarded(world: World) -> None:
    done = world.run("--required", "--", PYTHON, "-E", *world.agent())
    assert (done.returncode, world.body_ran) == (0, False)
    assert REFUSED in done.stdout


@pytest.mark.parametrize("way", ["subprocess", "own environment", "cleared environment", "isolated", "shell", "exec"])
def test_an_agent_in_a_process_that_the_agent_starts_is_guarded(world: World, way: str) -> None:
    done = world.run("--required", "--", PYTHON, *world.agent("parent_agent.py", way))
    assert (done.returncode, world.body_ran) == (0, False)
    assert REFUSED in done.stdout


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_an_agent_in_a_process_of_multiprocessing_is_guarded(world: World, method: str) -> None:
    done = world.run("--required", "--", PYTHON, *world.agent("parent_agent.py", method))
    assert (done.returncode, world.body_ran) == (0, False)
    assert REFUSED in done.stdout


@pytest.mark.parametrize("way", ["no site", "exec of no site", "exec in own environment", "spawned in own environment"])
def test_a_process_that_would_lose_the_guard_is_not_started(world: World, way: str) -> None:
    """Whoever starts it gets an exception that says why."""
    done = world.run("--required", "--", PYTHON, *world.agent("parent_agent.py", way))
    assert (done.returncode, world.body_ran) == (1, False)
    assert "citespan.errors.NotGuarded: a Python" in done.stderr


def test_a_policy_that_was_changed_on_the_way_is_not_taken(world: World) -> None:
    """An agent that writes to its policy does not loosen it for the processes that it starts."""
    done = world.run("--policy", world.enforcing(), "--", PYTHON, *world.agent("parent_agent.py", "changed policy"))
    assert (done.returncode, world.body_ran) == (78, False)
    assert "changed since `citespan run` read it" in done.stderr
