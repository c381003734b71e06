"""`citespan doctor`: what it says of this environment, and its exit codes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.otel.receiver import Receiver, grpc_receiver, http_receiver

from citespan import instrument
from citespan.cli import main
from citespan.guard.registry import registry
from citespan.instrument import ADAPTERS

RECEIVERS = {"grpc": grpc_receiver, "http/protobuf": http_receiver}


@pytest.fixture(autouse=True)
def quiet_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_TRACES_EXPORTER", "CITESPAN_POLICY", "CITESPAN_EVIDENCE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


@pytest.fixture(params=RECEIVERS)
def receiver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    with RECEIVERS[request.param]() as running:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", running.endpoint)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", request.param)
        yield running


def said(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, dict[str, Any]]:
    code = main(["doctor", "--format", "json", *options])
    return code, orjson.loads(capsys.readouterr().out)


def finding(document: dict[str, Any], area: str, name: str) -> dict[str, Any]:
    return next(each for each in document["findings"] if (each["area"], each["name"]) == (area, name))


def test_every_adapter_is_listed_with_what_it_wraps_and_misses(capsys: pytest.CaptureFixture[str]) -> None:
    """Also those whose framework is not installed; nothing is imported for it."""
    code, document = said(capsys)
    assert code == 0
    assert document["schema"] == "citespan.doctor/1"
    assert [framework["name"] for framework in document["frameworks"]] == list(ADAPTERS)
    for framework in document["frameworks"]:
        assert framework["covers"], framework
        assert framework["misses"], framework
        assert framework["wraps"], framework


def test_trying_wraps_and_unwraps_what_is_installed(capsys: pytest.CaptureFixture[str]) -> None:
    """It says guarded because it was; afterwards everything is as it was."""
    from mcp import ClientSession

    before = vars(ClientSession)["call_tool"]
    code, document = said(capsys, "--try")
    found = next(each for each in document["frameworks"] if each["name"] == "mcp")
    assert (code, found["state"], found["version"]) == (0, "guarded", metadata.version("mcp"))
    assert vars(ClientSession)["call_tool"] is before
    assert "mcp" not in registry.adapters


def test_a_version_that_is_not_supported_is_a_problem(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever relies on it is told why, and what is supported."""
    real = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "9.1" if name == "mcp" else real(name))
    code, document = said(capsys)
    found = next(each for each in document["frameworks"] if each["name"] == "mcp")
    assert (code, found["state"]) == (1, "unsupported")
    assert "9.1" in found["reason"]
    main(["doctor"])
    assert "NOT guarded: mcp 9.1" in capsys.readouterr().out


def test_an_endpoint_that_answers_is_reachable(receiver: Receiver, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty export by the real exporter arrives; no span is invented for it."""
    code, document = said(capsys)
    assert (code, finding(document, "telemetry", "endpoint")["state"]) == (0, "ok")
    assert receiver.spans(0) == []


@pytest.mark.parametrize("protocol", [*RECEIVERS, "carrier pigeon"])
def test_an_endpoint_that_does_not_answer_is_a_problem(
    protocol: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing listens on port 9; standard error is not filled with the exporter's tries."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
    code, document = said(capsys)
    assert (code, finding(document, "telemetry", "endpoint")["state"]) == (1, "problem")


def test_the_network_can_be_left_alone(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """`--no-network` tries no endpoint."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    assert said(capsys, "--no-network")[0] == 0


def test_a_policy_is_named_with_its_mode_and_digest(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The digest is that of every span it decides about."""
    from citespan.core.resolve import digest
    from citespan.policy_file import load

    policy = tmp_path / "citespan.toml"
    policy.write_text('version = 1\n[defaults]\nmode = "tag"\n')
    code, document = said(capsys, "--policy", str(policy))
    assert code == 0
    assert digest(load(policy)) in finding(document, "policy", "file")["text"]
    assert {framework["mode"] for framework in document["frameworks"]} == {"tag"}


@pytest.mark.parametrize("text", [None, "version = 2\n"])
def test_a_policy_that_cannot_be_used_is_a_problem(
    text: str | None, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """It is not there, or has mistakes; the rest is still looked at."""
    policy = tmp_path / "citespan.toml"
    if text is not None:
        policy.write_text(text)
    code, document = said(capsys, "--policy", str(policy))
    assert (code, finding(document, "policy", "file")["state"]) == (1, "problem")
    assert document["frameworks"]


def test_a_disabled_sdk_is_said_not_to_switch_the_guard_off(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Enforcement does not depend on telemetry being on (design section 5)."""
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    assert "guarded all the same" in finding(said(capsys)[1], "telemetry", "sdk")["text"]


def test_no_framework_is_imported_unless_it_is_tried() -> None:
    """A cold import of a framework takes up to 11 seconds."""
    import subprocess

    program = (
        "import sys; from citespan.cli import main; main(['doctor', '--no-network']); "
        "sys.exit(any(name in sys.modules for name in ('mcp', 'pydantic_ai', 'langchain_core', 'agents')))"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_what_an_adapter_is_must_not_need_its_framework() -> None:
    """The registry can be read where nothing is installed."""
    for name in ADAPTERS:
        known = instrument.adapter(name)
        assert known.name == name
        assert known.oldest < known.before
