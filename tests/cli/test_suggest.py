"""`citespan suggest` as its user meets it: what goes where, and which exit code."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.replay.recordings import call
from tests.traces.forms import FORMS

from citespan.cli import main
from citespan.cli.suggest import ENOUGH_TASKS
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
    """Standard output stays empty, standard error says what it was learned from."""
    output = tmp_path / "citespan.toml"
    assert main(["suggest", recording, "-o", str(output)]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"{output}: learned from 2 runs of 2 tasks; too few to enforce by\n")
    assert load(output).tools["order"].arguments["kind"].values == ("buy",)
    assert [path.name for path in tmp_path.iterdir() if path != output] == ["runs.jsonl"], "no part of a file is left"


@pytest.mark.parametrize(
    "runs, said",
    [
        ([RUNS[0]], "learned from 1 run of 1 task; too few to enforce by"),
        ([RUNS[0] | {"id": str(index)} for index in range(3)], "learned from 3 runs of 1 task; too few to enforce by"),
        ([{"id": str(n), "task": n, "calls": []} for n in range(ENOUGH_TASKS)], "learned from 20 runs of 20 tasks"),
    ],
    ids=["one", "copies", "enough"],
)
def test_it_says_of_how_many_tasks_it_was_learned(
    runs: list[dict[str, Any]], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Distinct tasks count, copies do not, and some tens are enough."""
    path, output = tmp_path / "runs.jsonl", tmp_path / "citespan.toml"
    path.write_text("".join(json.dumps(run) + "\n" for run in runs), encoding="utf-8")
    assert main(["suggest", str(path), "-o", str(output)]) == 0
    assert capsys.readouterr().err == f"{output}: {said}\n"


@pytest.mark.parametrize("data", FORMS.values(), ids=FORMS.keys())
def test_a_trace_is_one_in_each_of_its_forms(data: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Told by what it holds; the file's name says nothing."""
    path = tmp_path / "runs"
    path.write_bytes(data)
    assert main(["suggest", str(path)]) == 0
    assert load(capsys.readouterr().out)


def test_trajectories_may_be_gzipped(recording: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They say the same."""
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(Path(recording).read_bytes()))
    assert main(["suggest", recording]) == 0
    plainly = capsys.readouterr().out
    assert main(["suggest", str(packed)]) == 0
    assert capsys.readouterr().out == plainly


@pytest.mark.parametrize(
    "data, reason",
    [
        (b"\x28\xb5\x2f\xfd\x04\x58", "compressed with zstd"),
        (gzip.compress(FORMS["lines"])[:-9], "gzip: the file ends inside its compressed data"),
        (FORMS["one message"][:-5], "the file ends inside it"),
        (b'{"resourceSpans":[\0\0', "no JSON"),
    ],
    ids=["zstd", "gzip", "message", "NUL"],
)
def test_what_cannot_be_read_writes_nothing(
    data: bytes, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 65, the reason, and no file."""
    path = tmp_path / "runs"
    path.write_bytes(data)
    assert main(["suggest", str(path), "-o", str(tmp_path / "citespan.toml")]) == 65
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"citespan: {path}")
    assert reason in err
    assert [each.name for each in tmp_path.iterdir()] == ["runs"]


def test_a_policy_that_is_there_is_left_alone(
    recording: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 64, before anything is read; somebody may have reviewed it."""
    monkeypatch.chdir(tmp_path)
    Path("citespan.toml").write_text("reviewed")
    assert main(["suggest", "none.jsonl", "-o", "citespan.toml"]) == 64
    assert main(["suggest", recording, "-o", "citespan.toml"]) == 64
    said = "citespan: citespan.toml is there already; name another file, or add --force\n"
    assert capsys.readouterr().err == said * 2
    assert Path("citespan.toml").read_text() == "reviewed"


def test_one_that_comes_while_recordings_are_read_is_left_alone(
    recording: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading takes its time, and somebody may save a policy meanwhile."""
    output = tmp_path / "citespan.toml"

    class Slow(io.BytesIO):
        def readinto(self, buffer: Any) -> int:
            output.write_text("reviewed")
            return super().readinto(buffer)

    slow = io.BufferedReader(Slow(Path(recording).read_bytes()))  # type: ignore[arg-type]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(slow))
    assert main(["suggest", "-", "-o", str(output)]) == 64
    assert output.read_text() == "reviewed"


def test_with_force_it_is_written_over(recording: str, tmp_path: Path) -> None:
    """A link stays a link, and the file keeps its mode."""
    kept, output = tmp_path / "kept.toml", tmp_path / "citespan.toml"
    kept.write_text("old")
    kept.chmod(0o640)
    output.symlink_to(kept)
    assert main(["suggest", recording, "--force", "-o", str(output)]) == 0
    assert load(kept).tools["order"].arguments["kind"].values == ("buy",)
    assert output.is_symlink()
    assert kept.stat().st_mode & 0o777 == 0o640


def test_what_cannot_be_written_whole_changes_nothing(recording: str, tmp_path: Path) -> None:
    """No file may have more than 100 bytes here: the old policy stays, and no part of the new one."""
    output = tmp_path / "citespan.toml"
    output.write_text("old")
    program = (
        "import resource, sys; from citespan.cli import main; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)); "
        "sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", program, "suggest", recording, "--force", "-o", str(output)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (64, f"citespan: {output}: cannot be written: File too large\n")
    assert {path.name for path in tmp_path.iterdir()} == {"runs.jsonl", "citespan.toml"}
    assert output.read_text() == "old"


def test_what_is_no_regular_file_is_written_to_as_it_is(recording: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A device is not replaced by a file, with `--force` neither."""
    assert main(["suggest", recording, "-o", os.devnull]) == 0
    assert main(["suggest", recording, "--force", "-o", os.devnull]) == 0
    assert not Path(os.devnull).is_file()


def test_a_folder_that_is_not_there_is_a_usage_mistake(recording: str, tmp_path: Path) -> None:
    """Exit code 64, and no folder is made."""
    assert main(["suggest", recording, "-o", str(tmp_path / "none" / "citespan.toml")]) == 64
    assert main(["suggest", recording, "-o", str(tmp_path)]) == 64
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    "tools, said",
    [(["look"], "1 tool said to only read: it is tagged"), (["look", "see"], "2 tools said to only read: they are")],
    ids=["one", "two"],
)
def test_tools_that_only_read_are_counted_in_whole_sentences(
    tools: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One tool is one, in what must be reviewed."""
    declared = {name: {"annotations": {"readOnlyHint": True}} for name in tools}
    run = RUNS[0] | {"tools": declared, "calls": [call(name) for name in tools]}
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps(run) + "\n", encoding="utf-8")
    assert main(["suggest", str(path)]) == 0
    assert said in capsys.readouterr().out


def test_an_evidence_file_is_recognised(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 65, and what to record instead."""
    path = tmp_path / "e.jsonl"
    path.write_text('{"schema": "citespan.evidence/1", "tool": "order"}\n')
    assert main(["suggest", str(path)]) == 65
    assert "e.jsonl: this is an evidence file; record a trace" in capsys.readouterr().err


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
    lines = [line for line in page.splitlines() if line.startswith("citespan ") and "trial" not in line]
    commands = [line.split()[1:] for line in lines]
    assert [main(command) for command in commands] == [0] * 4
