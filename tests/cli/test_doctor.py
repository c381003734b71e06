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
from citespan.doctor.render import NOWHERE
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


def test_without_a_policy_it_says_what_enforces(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """`citespan run` only tags then; `mode` of the JSON is what the Python API does, and `note` says the rest."""
    note = "no policy: tagged only by citespan run, enforced with --required"
    code, document = said(capsys)
    assert code == 0
    assert {(each["mode"], each["note"]) for each in document["frameworks"]} == {("enforce", note)}
    main(["doctor"])
    text = capsys.readouterr().out
    assert f"MCP client {metadata.version('mcp')}: {note} (" in text
    assert "enforce, policy" not in text
    policy = tmp_path / "citespan.toml"
    policy.write_text("version = 1\n")
    assert {each["note"] for each in said(capsys, "--policy", str(policy))[1]["frameworks"]} == {""}
    main(["doctor", "--policy", str(policy)])
    assert f"MCP client {metadata.version('mcp')}: enforce, policy " in capsys.readouterr().out


def test_what_each_side_of_a_refusal_gets_is_a_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever an adapter says of it: a thing, or a sentence."""
    main(["doctor"])
    text = capsys.readouterr().out
    assert "          refusal: to the model: a result with `isError`\n" in text
    assert "          abort:   to the caller: `ProvenanceDenied` from `call_tool`\n" in text


def test_what_nobody_covers_stands_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever reads it to the end knows what no adapter can see."""
    main(["doctor"])
    _, _, end = capsys.readouterr().out.partition("not covered anywhere\n")
    assert end.splitlines() == [f"  {line}" for line in NOWHERE]


@pytest.mark.parametrize("key", [None, "a key for tests"], ids=["none", "set"])
def test_whose_digest_key_it_is(
    key: str | None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variable's, else the user's own; the key itself is not shown."""
    monkeypatch.delenv("CITESPAN_DIGEST_KEY", raising=False)
    if key is not None:
        monkeypatch.setenv("CITESPAN_DIGEST_KEY", key)
    text = finding(said(capsys)[1], "telemetry", "digest key")["text"]
    whose = "this user's own, CITESPAN_DIGEST_KEY is not set" if key is None else "from CITESPAN_DIGEST_KEY"
    assert text == f"{whose}; only digests of the same key can be compared"


@pytest.mark.parametrize("protocol", RECEIVERS)
def test_an_endpoint_without_a_scheme_is_told_how_to_be_written(
    protocol: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host and a port are no URL; a password is not repeated."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
    for named in ("localhost:9", "me:secret@localhost:9"):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", named)
        found = finding(said(capsys)[1], "telemetry", "endpoint")
        assert (found["state"], found["advice"]) == ("problem", "write http://localhost:9")
        assert found["text"] == f"localhost:9 ({protocol}) takes no spans"
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:9")
    assert "is the collector running" in finding(said(capsys)[1], "telemetry", "endpoint")["advice"]


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
    notes = {framework["note"] for framework in document["frameworks"]}
    assert notes == {"the policy cannot be used: no guard is installed"}


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
