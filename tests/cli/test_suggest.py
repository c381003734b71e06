"""`citespan suggest` as its user meets it: what goes where, and which exit code."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.replay.recordings import call

from citespan.cli import main
from citespan.policy_file import load

RUNS = [
    {"id": f"r{index}", "task": index, "user_messages": [said], "calls": [call("order", kind="buy")]}
    for index, said in enumerate(["get the crane for the plot by the river", "a heron for my sister please"])
]


@pytest.fixture
def recording(tmp_path: Path) -> str:
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(json.dumps(run) + "\n" for run in RUNS), encoding="utf-8")
    return str(path)


def test_the_policy_goes_to_standard_output_and_can_be_used(recording: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["suggest", recording]) == 0
    out, err = capsys.readouterr()
    assert load(out).tools["order"].arguments["kind"].values == ("buy",)
    assert err == "", "no progress where nobody watches"


def test_it_starts_with_what_a_person_must_review(recording: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["suggest", recording])
    head, _, rest = capsys.readouterr().out.partition("version = 1")
    assert "Review before you enforce it" in head
    assert "[ ] values: order.kind. Risk:" in head
    assert '"buy", # seen 2 times in 2 tasks' in rest


def test_or_into_a_file(recording: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "citespan.toml"
    assert main(["suggest", recording, "-o", str(output)]) == 0
    assert capsys.readouterr().out == ""
    assert load(output).tools["order"].arguments["kind"].values == ("buy",)


def test_the_profile_says_how_much_must_back_it(recording: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["suggest", "--profile", "strict", recording])
    assert "values" not in load(capsys.readouterr().out).tools.get("order", {})  # type: ignore[operator]


def test_standard_input_is_read(
    recording: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = io.TextIOWrapper(io.BufferedReader(io.BytesIO(Path(recording).read_bytes())))  # type: ignore[arg-type]
    monkeypatch.setattr(sys, "stdin", text)
    assert main(["suggest", "-"]) == 0
    assert '"buy"' in capsys.readouterr().out


def test_a_trace_is_recognised(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def attribute(key: str, value: str) -> dict[str, Any]:
        return {"key": key, "value": {"stringValue": value}}

    keys = {"gen_ai.tool.name": "order", "provenance.status": "flagged", "provenance.kind.kind": "assumed"}
    span = {"traceId": "0" * 31 + "1", "spanId": "0" * 15 + "1", "name": "execute_tool order", "kind": 1}
    span |= {"startTimeUnixNano": "1", "endTimeUnixNano": "2"}
    span |= {"attributes": [attribute(key, value) for key, value in keys.items()]}
    path = tmp_path / "trace.jsonl"
    path.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}) + "\n", encoding="utf-8")
    assert main(["suggest", str(path)]) == 0
    assert "#   order.kind: 1 time in 1 task" in capsys.readouterr().out


def test_a_line_that_cannot_be_used_ends_it_with_65(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps(RUNS[0]) + '\n{"id": "x"\n', encoding="utf-8")
    assert main(["suggest", str(path)]) == 65
    assert "runs.jsonl:2: not JSON" in capsys.readouterr().err


def test_a_file_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    assert main(["suggest", str(tmp_path / "none.jsonl")]) == 65


def test_standard_input_cannot_be_read_twice() -> None:
    assert main(["suggest", "-", "-"]) == 64


def test_names_out_of_a_recording_cannot_break_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    odd = 'a"b\n[x]'
    runs = [
        {"id": f"r{index}", "task": index, "user_messages": [], "calls": [call(odd, **{"k.\u007f'": "buy"})]}
        for index in range(3)
    ]
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(json.dumps(run) + "\n" for run in runs), encoding="utf-8")
    assert main(["suggest", str(path)]) == 0
    load(capsys.readouterr().out)


def test_the_commands_of_the_page_work(recording: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("others.jsonl").write_bytes(Path(recording).read_bytes())
    page = (Path(__file__).parents[2] / "docs" / "enforce-in-a-day.md").read_text(encoding="utf-8")
    commands = [line.split()[1:] for line in page.splitlines() if line.startswith("citespan ")]
    assert [main(command) for command in commands] == [0] * 4
