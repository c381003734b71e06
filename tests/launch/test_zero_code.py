"""Plain zero-code OpenTelemetry: `opentelemetry-instrument python agent.py`, through entry points."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path

import pytest
from opentelemetry.instrumentation.instrumentor import BaseInstrumentor
from opentelemetry.sdk.trace.export import SpanExportResult
from tests.launch.conftest import PYTHON, REFUSED, World

from citespan.guard.registry import registry
from citespan.instrument import ADAPTERS, deactivate
from citespan.launch import entry_points
from citespan.launch.entry_points import TraceFileExporter

INSTRUMENT = str(Path(PYTHON).with_name("opentelemetry-instrument"))


def ours(group: str) -> dict[str, metadata.EntryPoint]:
    found = metadata.entry_points(group=group)
    return {each.name: each for each in found if each.value.startswith("citespan.")}


def test_a_policy_is_enforced(world: World) -> None:
    """With the distro, which is installed here."""
    done = world.play(INSTRUMENT, PYTHON, *world.agent(), CITESPAN_POLICY=world.enforcing())
    assert (done.returncode, world.body_ran) == (0, False)
    assert REFUSED in done.stdout
    assert json.loads(world.evidence.read_text())["status"] == "blocked"


def test_a_policy_is_enforced_without_a_distro(world: World) -> None:
    """Nobody sets a provider then: one is made for the trace file."""
    variables = {"OTEL_PYTHON_DISTRO": "none", "OTEL_PYTHON_CONFIGURATOR": "none", "CITESPAN_TRACE_FILE": "trace.jsonl"}
    done = world.play(INSTRUMENT, PYTHON, *world.agent(), CITESPAN_POLICY=world.enforcing(), **variables)
    assert (done.returncode, world.body_ran) == (0, False)
    assert '"execute_tool delete_note"' in (world.folder / "trace.jsonl").read_text()


def test_the_settings_are_options_and_the_exporter_is_there(world: World) -> None:
    """`--citespan_policy` names the policy, and `citespan_file` writes the trace file."""
    options = ["--citespan_policy", world.enforcing(), "--citespan_trace_file", "spans.jsonl"]
    options += ["--traces_exporter", "citespan_file"]
    done = world.play(INSTRUMENT, *options, PYTHON, *world.agent())
    assert (done.returncode, world.body_ran) == (0, False)
    assert (world.folder / "spans.jsonl").read_text().count('"execute_tool delete_note"') == 1


def test_without_a_policy_calls_are_tagged_only_and_that_is_said(world: World) -> None:
    done = world.play(INSTRUMENT, PYTHON, *world.agent())
    assert (done.returncode, world.body_ran) == (0, True)
    assert done.stderr.count("NOTHING IS REFUSED") == 1
    assert json.loads(world.evidence.read_text())["status"] == "flagged"


@pytest.mark.parametrize("text, code", [(None, 78), ("version = 1\ncolour = 1\n", 65)], ids=["absent", "broken"])
def test_a_policy_that_cannot_be_used_ends_the_process(world: World, text: str | None, code: int) -> None:
    if text is not None:
        world.policy.write_text(text)
    done = world.play(INSTRUMENT, PYTHON, *world.agent(), CITESPAN_POLICY=str(world.policy))
    assert (done.returncode, world.body_ran) == (code, False)
    assert str(world.policy) in done.stderr


def test_there_is_one_instrumentor_per_framework() -> None:
    """Each loads, needs no framework, and a second one does not become the first."""
    found = ours("opentelemetry_instrumentor")
    assert {name: each.attr for name, each in found.items()} == {
        f"citespan_{name.replace('-', '_')}": name.replace("-", "_") for name in ADAPTERS
    }
    made = {name: each.load() for name, each in found.items()}
    assert all(issubclass(kind, BaseInstrumentor) for kind in made.values())
    assert {kind.adapter for kind in made.values()} == set(ADAPTERS)
    assert all(kind().instrumentation_dependencies() == () for kind in made.values())
    assert len({id(kind()) for kind in made.values()}) == len(ADAPTERS)


def test_an_instrumentor_waits_for_its_framework_and_puts_everything_back() -> None:
    instrumentor = entry_points.__getattr__("mcp")()
    try:
        instrumentor.instrument()
        assert "mcp" in registry.adapters
        instrumentor.uninstrument()
        assert "mcp" not in registry.adapters
    finally:
        deactivate("mcp")


def test_a_name_that_is_no_adapters_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="no attribute 'crewmate'"):
        entry_points.__getattr__("crewmate")


def test_the_exporter_that_cannot_open_its_file_fails_and_raises_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """An exception here would keep the guard from starting: OpenTelemetry gives up its whole start."""
    monkeypatch.setenv("CITESPAN_TRACE_FILE", str(tmp_path))
    exporter = TraceFileExporter()
    assert exporter.export([]) is SpanExportResult.FAILURE
    exporter.shutdown()
    assert "no spans are exported" in caplog.text
