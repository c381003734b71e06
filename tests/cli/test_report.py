"""`citespan report` as its user meets it: what goes where, and which exit code."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.replay.recordings import call

import citespan
from citespan.cli import main


def record(path: Path, name: str) -> str:
    """A run that lists files and patches one; its trace file."""
    tools = citespan.TracedTools(
        {"list_files": lambda: {"files": ["app.py"]}, "patch_file": lambda path: {"patched": path}}
    )
    tools.call("list_files")
    with suppress(PermissionError):
        tools.call("patch_file", path=name)
    tools.dump(path)
    return str(path)


@pytest.fixture
def bad(tmp_path: Path) -> str:
    return record(tmp_path / "bad.jsonl", "prod.env")


def data_of(text: str) -> Any:
    return json.loads(text.partition('id="data">')[2].partition("</script>")[0])


def tools_of(text: str) -> list[str]:
    return [facts["t"] for run in data_of(text)["runs"] for _, _, facts in run["calls"]]


def test_the_page_goes_into_a_file(bad: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 0 although a call is blocked: a report is a rendering. Standard output stays empty."""
    output = tmp_path / "report.html"
    assert main(["report", bad, "-o", str(output), "--title", "Fix <it>"]) == 0
    assert capsys.readouterr() == ("", f"{output}: 2 calls, 1 blocked\n")
    text = output.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert "<title>Fix &lt;it&gt;</title>" in text
    assert tools_of(text) == ["list_files", "patch_file"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.jsonl", "report.html"], "no part of a file is left"


def test_or_to_standard_output(bad: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """Where that is no terminal, and nothing else with it."""
    assert main(["report", bad]) == 0
    out, err = capsysbinary.readouterr()
    assert tools_of(out.decode()) == ["list_files", "patch_file"]
    assert out.endswith(b"</html>\n")
    assert err == b""


def test_a_terminal_gets_no_page(bad: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """But what to add."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main(["report", bad]) == 64
    out, err = capsys.readouterr()
    assert out == ""
    assert "add -o report.html" in err


def test_several_files_and_standard_input_make_one_page(bad: str, tmp_path: Path) -> None:
    """Each run keeps to itself."""
    good = record(tmp_path / "good.jsonl", "app.py")
    output = tmp_path / "report.html"
    command = [sys.executable, "-m", "citespan", "report", good, "-", "-o", str(output)]
    done = subprocess.run(command, input=Path(bad).read_bytes(), capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (0, b"")
    runs = data_of(output.read_text(encoding="utf-8"))["runs"]
    assert [len(run["calls"]) for run in runs] == [2, 2]


def test_recorded_runs_are_drawn_too(tmp_path: Path) -> None:
    """As a policy judges them."""
    path, output = tmp_path / "runs.jsonl", tmp_path / "report.html"
    run = {"id": "r1", "user_messages": ["get the crane"], "calls": [call("order", kind="buy")]}
    path.write_text(json.dumps(run) + "\n", encoding="utf-8")
    assert main(["report", str(path), "-o", str(output)]) == 0
    assert tools_of(output.read_text(encoding="utf-8")) == ["order"]


@pytest.fixture
def conversations(tmp_path: Path) -> str:
    """Two conversations of two agents in one file."""
    parts = []
    for agent, conversation in (("fixer", "thread-1"), ("tidier", "thread-2")):
        line = Path(record(tmp_path / "part.jsonl", "app.py")).read_text(encoding="utf-8")
        said = "".join(
            f'{{"key":"{key}","value":{{"stringValue":"{value}"}}}},'
            for key, value in (("gen_ai.agent.name", agent), ("gen_ai.conversation.id", conversation))
        )
        parts.append(line.replace('"attributes":[{"key":"provenance.', f'"attributes":[{said}{{"key":"provenance.'))
    path = tmp_path / "both.jsonl"
    path.write_text("".join(parts), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("name", ["thread-2", "tidier"])
def test_one_run_can_be_picked_by_conversation_or_agent(
    conversations: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only its calls are on the page."""
    assert main(["report", conversations, "--run", name]) == 0
    (run,) = data_of(capsys.readouterr().out)["runs"]
    assert {facts["ag"] for _, _, facts in run["calls"]} == {"tidier"}


def test_or_by_the_start_of_its_trace_id(conversations: str, capsys: pytest.CaptureFixture[str]) -> None:
    """In any case of letters."""
    main(["report", conversations])
    traces = [run["calls"][0][2]["tr"] for run in data_of(capsys.readouterr().out)["runs"]]
    assert main(["report", conversations, "--trace", traces[0][:12].upper()]) == 0
    (run,) = data_of(capsys.readouterr().out)["runs"]
    assert run["calls"][0][2]["tr"] == traces[0]


@pytest.mark.parametrize("option", ["--run", "--trace"])
def test_a_run_that_is_not_there_is_a_mistake(
    bad: str, tmp_path: Path, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 64, no page, and where to look for what there is."""
    output = tmp_path / "report.html"
    assert main(["report", bad, option, "nope", "-o", str(output)]) == 64
    assert "none of 2 calls is of" in capsys.readouterr().err
    assert not output.exists()


def test_a_file_that_cannot_be_read_leaves_the_old_page(
    bad: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 65 with file, line and reason; what `-o` names stays as it was."""
    output = tmp_path / "report.html"
    output.write_text("yesterday", encoding="utf-8")
    broken = tmp_path / "broken.jsonl"
    broken.write_bytes(Path(bad).read_bytes() + b'{"resourceSpans":[{"scopeSp')
    assert main(["report", bad, str(broken), "-o", str(output)]) == 65
    assert f"{broken}:" in capsys.readouterr().err
    assert output.read_text(encoding="utf-8") == "yesterday"


def test_a_folder_that_is_not_there_is_a_mistake(bad: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 64, and the reason."""
    assert main(["report", bad, "-o", str(tmp_path / "none" / "report.html")]) == 64
    assert "cannot be written" in capsys.readouterr().err


def test_standard_input_is_read_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 64."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert main(["report", "-", "-"]) == 64
    assert "only once" in capsys.readouterr().err
