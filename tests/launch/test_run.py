"""`citespan run`: what it says, what it starts, and what it ends with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from importlib import metadata
from pathlib import Path

import pytest
from tests.launch.conftest import PYTHON, REFUSED, World, unexpected

from citespan.instrument import ADAPTERS, adapter


def test_an_unchanged_agent_is_guarded(world: World) -> None:
    """The server never gets the request, the agent reads why, and the refusal is in the evidence file."""
    done = world.run("--policy", world.enforcing(), "--", PYTHON, *world.agent())
    assert (done.returncode, world.body_ran) == (0, False)
    assert REFUSED in done.stdout
    assert json.loads(world.evidence.read_text())["status"] == "blocked"


def test_without_a_policy_calls_are_tagged_only_and_that_is_said_once(world: World) -> None:
    """Nothing is refused, the evidence says what would have been, and the next step is on standard error."""
    done = world.run("--", PYTHON, *world.agent())
    assert (done.returncode, world.body_ran) == (0, True)
    assert json.loads(world.evidence.read_text())["status"] == "flagged"
    assert done.stderr.count("NOTHING IS REFUSED") == 1
    assert "citespan suggest" in done.stderr


def test_required_without_a_policy_enforces_the_defaults(world: World) -> None:
    done = world.run("--required", "--", PYTHON, *world.agent())
    assert (world.body_ran, unexpected(done.stderr)) == (False, [])
    assert REFUSED in done.stdout


def test_a_mode_takes_the_place_of_the_policys(world: World) -> None:
    """A policy that enforces is tried out without refusing anything."""
    done = world.run("--policy", world.enforcing(), "--mode", "tag", "--", PYTHON, *world.agent())
    assert (done.returncode, world.body_ran, unexpected(done.stderr)) == (0, True, [])
    assert json.loads(world.evidence.read_text())["status"] == "flagged"


def test_a_program_that_uses_citespan_itself_enforces_without_a_policy(world: World) -> None:
    """`citespan run` takes nothing away that a program has without it."""
    done = world.run("--", PYTHON, *world.agent("tool_agent.py"))
    assert (done.stdout, world.body_ran) == ("refused\n", False)


@pytest.mark.parametrize("start", ["-m", "-c", "script", "shebang"])
def test_each_way_to_start_a_python_is_guarded(world: World, start: str) -> None:
    """A module, a text, a script without a Python's name before it, and a script with a Python on its first line."""
    script, folder = world.agent()
    shebang = world.folder / "console-script"
    shebang.write_text(f"#!{PYTHON}\nimport runpy\nrunpy.run_path({script!r}, run_name='__main__')\n")
    shebang.chmod(0o755)
    commands: dict[str, tuple[str, ...]] = {
        "-m": ("-m", "runpy_it", folder),
        "-c": ("-c", f"import runpy; runpy.run_path({script!r}, run_name='__main__')", folder),
        "script": (script, folder),
        "shebang": (str(shebang), folder),
    }
    (world.folder / "runpy_it.py").write_text(f"import runpy\nrunpy.run_path({script!r}, run_name='__main__')\n")
    done = world.run("--required", "--", *commands[start])
    assert (done.returncode, world.body_ran) == (0, False)
    assert REFUSED in done.stdout


@pytest.mark.parametrize("how", [[], ["sh", "-c", 'exec "$0" "$@"']], ids=["direct", "shell"])
def test_the_exit_code_is_the_commands_own(world: World, how: list[str]) -> None:
    done = world.run("--required", "--", *how, PYTHON, "-c", "raise SystemExit(3)")
    assert done.returncode == 3


def test_a_command_that_a_signal_ended_ends_with_128_and_its_number(world: World) -> None:
    done = world.run("--", "sh", "-c", "kill -9 $$")
    assert done.returncode == 128 + signal.SIGKILL


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("how", [[], ["sh", "-c", 'exec "$0" "$@"']], ids=["direct", "shell"])
def test_a_signal_reaches_the_command(world: World, number: signal.Signals, how: list[str]) -> None:
    """The command ends as it wants to, and its exit code is kept."""
    program = (
        "import signal, sys\n"
        "def end(number, frame): sys.exit(number + 40)\n"
        f"signal.signal({int(number)}, end)\n"
        "print('ready', flush=True)\n"
        "signal.pause()\n"
    )
    command = [PYTHON, "-m", "citespan", "run", "--required", "--", *how, PYTHON, "-c", program]
    with subprocess.Popen(
        command, env=world.environment, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        os.kill(running.pid, number)
        assert running.wait(60) == number + 40


def test_standard_input_is_the_commands(world: World) -> None:
    """The question whether a Python is guarded takes nothing of it."""
    command = [PYTHON, "-m", "citespan", "run", "--required", "--", PYTHON, "-c", "print(input())"]
    done = subprocess.run(command, env=world.environment, input="a line\n", capture_output=True, text=True, check=True)
    assert done.stdout == "a line\n"


@pytest.mark.parametrize(
    "words, code, said",
    [
        (["--required", "--mode", "off", "--", PYTHON], 64, "exclude each other"),
        (["--", "no-such-command"], 64, "no command 'no-such-command'"),
        (["--mode", "loud", "--", PYTHON], 64, "loud"),
        (["--policy", "absent.toml", "--", PYTHON], 78, "absent.toml: this policy was named but cannot be read"),
        (["--policy", "broken.toml", "--", PYTHON], 65, "broken.toml:2: colour"),
    ],
)
def test_what_cannot_be_is_said_before_anything_starts(world: World, words: list[str], code: int, said: str) -> None:
    (world.folder / "broken.toml").write_text("version = 1\ncolour = 1\n")
    done = world.run(*words, "-c", "open('started', 'w')")
    assert done.returncode == code
    assert said in done.stderr
    assert not (world.folder / "started").exists()


def test_evidence_that_cannot_be_written_stops_what_enforces(world: World) -> None:
    done = world.run("--required", "--", PYTHON, *world.agent(), CITESPAN_EVIDENCE=str(world.folder))
    assert (done.returncode, world.body_ran) == (78, False)
    assert "CITESPAN_EVIDENCE" in done.stderr


@pytest.mark.parametrize("how", [[], ["sh", "-c", 'exec "$0" "$@"']], ids=["direct", "shell"])
def test_whoever_is_not_guarded_is_told_so(world: World, how: list[str]) -> None:
    """Where no guard is required the command runs, and standard error says that it was not guarded."""
    done = world.run("--", *how, PYTHON, "-S", "-c", "print('ran')")
    assert (done.returncode, done.stdout) == (0, "ran\n")
    assert "NOT guarded" in done.stderr or "no guarded Python ran" in done.stderr


def test_a_run_inside_a_run_is_guarded_once_and_lets_nothing_go(world: World) -> None:
    """The inner one, with no options of its own, has the outer one's policy and requires what that requires."""
    inner = [PYTHON, "-m", "citespan", "run", "--", PYTHON, *world.agent()]
    done = world.run("--policy", world.enforcing(), "--", *inner)
    assert (done.returncode, world.body_ran, unexpected(done.stderr)) == (0, False, [])
    assert len(world.evidence.read_text().splitlines()) == 1


def test_the_programs_own_provider_wins(world: World) -> None:
    """Its exporter has the call's span, and the second gate was added to its provider, once."""
    done = world.run("--required", "--", PYTHON, *world.agent("tool_agent.py", "own-provider"))
    assert done.stdout == "refused\nspans 1 gates 1\n"


def test_a_provider_that_is_set_after_the_first_call_is_still_taken(world: World) -> None:
    """Nothing asked for spans before, so none was made in its place."""
    done = world.run("--required", "--", PYTHON, *world.agent("tool_agent.py", "late-provider"))
    assert done.stdout == "refused\nrefused\nspans 1 gates 1\n"
    assert unexpected(done.stderr) == []


@pytest.mark.parametrize("how", ["", "own-provider"])
def test_a_trace_file_gets_the_spans(world: World, how: str) -> None:
    """With a provider of the program's own, and with none: then one is made."""
    trace = world.folder / "trace.jsonl"
    world.run("--required", "--", PYTHON, *world.agent("tool_agent.py", how), CITESPAN_TRACE_FILE="trace.jsonl")
    assert '"execute_tool delete_note"' in trace.read_text()


def test_a_trace_file_gets_the_spans_of_a_set_of_tools(world: World) -> None:
    """`TracedTools` keeps its spans for `dump`; a trace file that was asked for gets them too."""
    (world.folder / "set.py").write_text(
        "import citespan\ntools = citespan.TracedTools({'names': lambda: ['a.py']})\ntools.call('names')\n"
    )
    world.run("--", PYTHON, "set.py", CITESPAN_TRACE_FILE="trace.jsonl")
    assert '"execute_tool names"' in (world.folder / "trace.jsonl").read_text()


@pytest.mark.parametrize(
    "variables",
    [
        {"OTEL_SDK_DISABLED": "true"},
        {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "carrier-pigeon"},
        {"CITESPAN_TRACE_FILE": "/nowhere/trace.jsonl"},
    ],
    ids=["disabled", "protocol", "file"],
)
def test_no_trouble_of_telemetry_switches_the_guard_off(world: World, variables: dict[str, str]) -> None:
    done = world.run("--required", "--", PYTHON, *world.agent("tool_agent.py"), **variables)
    assert (done.returncode, done.stdout, world.body_ran) == (0, "refused\n", False)


def test_a_framework_of_a_version_that_is_not_supported_is_refused(world: World) -> None:
    """It is said at the start, and its first tool call does not reach the server."""
    done = world.run("--required", "--", PYTHON, *world.agent(), PYTHONPATH=newer_mcp(world))
    assert (done.returncode, world.body_ran) == (0, False)
    assert "MCP client: mcp 9.0 >= 3.0: not tested with this citespan; its tool calls are refused" in done.stderr
    assert "MCP client cannot be guarded" in done.stdout


def test_a_framework_of_a_version_that_is_not_supported_runs_where_no_guard_is_required(world: World) -> None:
    """And whoever reads standard error knows that it is not guarded."""
    done = world.run("--", PYTHON, *world.agent(), PYTHONPATH=newer_mcp(world))
    assert (done.returncode, world.body_ran) == (0, True)
    assert "MCP client: mcp 9.0 >= 3.0: not tested with this citespan; its tool calls are NOT guarded" in done.stderr
    assert not world.evidence.exists() or world.evidence.read_text() == ""


def newer_mcp(world: World) -> str:
    """A path on which the installed MCP SDK has another version than it really has."""
    information = world.folder / "newer" / "mcp-9.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: mcp\nVersion: 9.0\n")
    return str(information.parent)


ACTIVE = "from citespan.guard.registry import registry; print(*sorted(registry.adapters))"


@pytest.mark.parametrize("environment", ["os.environ", "{}"], ids=["inherited", "own"])
def test_a_server_that_is_started_in_an_environment_of_its_own_is_judged_by_its_client(
    world: World, environment: str
) -> None:
    """The client knows what the user said, the server does not: judging there too would refuse what is cited."""
    program = f"import os, subprocess, sys; subprocess.run([sys.executable, '-c', {ACTIVE!r}], env={environment})"
    done = world.run("--required", "--", PYTHON, "-c", program)
    serving = {name for name in ADAPTERS if adapter(name).serves}
    assert serving
    assert set(done.stdout.split()) == set(ADAPTERS) - (serving if environment == "{}" else set())


def test_a_python_that_nobody_started_so_is_left_alone(world: World) -> None:
    """Without `CITESPAN_RUN` the file beside the package does nothing."""
    question = "import sys; print([name for name in sys.modules if name.startswith('citespan')])"
    done = world.play(PYTHON, "-c", question)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_the_installation_has_the_file_that_starts_the_guard() -> None:
    """It lies beside the package, where Python looks for such files, and goes when the package goes."""
    files = metadata.files("citespan") or []
    (found,) = [file for file in files if file.name == "citespan-run.pth"]
    assert found.parent == Path()
    assert found.read_text() == (Path(__file__).parents[2] / "src" / "citespan-run.pth").read_text()
