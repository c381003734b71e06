"""`citespan replay` as its user meets it: what goes where, and which exit code."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.replay.recordings import call

from citespan.cli import main
from citespan.replay import policies

PAGE = (Path(__file__).parents[2] / "docs" / "replay.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"^```\w+ (\w+)\n(.*?)^```\n", PAGE, re.MULTILINE | re.DOTALL))

CITED = {"id": "cited", "user_messages": ["cut a1.md"], "calls": [call("cut", path="a1.md")]}
GUESSED = {"id": "guessed", "user_messages": ["cut a1.md"], "calls": [call("cut", path="b2.md")]}
BROKEN = {"id": "broken", "user_messages": [], "calls": [call("look"), {"arguments": {}, "turn": 0}]}

Write = Callable[..., str]


@pytest.fixture(autouse=True)
def no_policy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CITESPAN_POLICY", raising=False)


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes runs to a file in the working directory; returns its name."""
    monkeypatch.chdir(tmp_path)

    def writer(name: str, *runs: dict[str, Any]) -> str:
        Path(name).write_text("".join(json.dumps(run) + "\n" for run in runs))
        return name

    return writer


def objects(text: str) -> list[tuple[str, int, str]]:
    return [(line["trajectory"], line["call"], line["status"]) for line in map(json.loads, text.splitlines())]


class TestExitCodes:
    def test_0_when_no_call_is_blocked(self, write: Write) -> None:
        assert main(["replay", write("a.jsonl", CITED)]) == 0

    def test_0_when_calls_are_flagged_only(self, write: Write) -> None:
        Path("tag.toml").write_text('version = 1\n[defaults]\nmode = "tag"\n')
        assert main(["replay", write("a.jsonl", GUESSED), "--policy", "tag.toml"]) == 0

    def test_1_when_one_is_blocked(self, write: Write) -> None:
        assert main(["replay", write("a.jsonl", GUESSED, CITED)]) == 1

    @pytest.mark.parametrize(
        "arguments", [[], ["a.jsonl", "--format", "xml"], ["--colour"], ["-", "-"]], ids=["no file", "format", "?", "-"]
    )
    def test_64_for_a_command_line_that_makes_no_sense(self, arguments: list[str], write: Write) -> None:
        write("a.jsonl", CITED)
        assert main(["replay", *arguments]) == 64

    def test_65_for_a_bad_line_even_where_calls_are_blocked(
        self, write: Write, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["replay", write("a.jsonl", GUESSED, BROKEN, CITED)]) == 65
        captured = capsys.readouterr()
        assert captured.err == "citespan: a.jsonl:2: calls.1.tool: is missing: a string\n"
        assert captured.out == ""

    def test_65_for_a_file_that_is_not_there(self, write: Write, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["replay", write("a.jsonl", CITED), "none.jsonl"]) == 65
        assert capsys.readouterr().err == "citespan: none.jsonl: cannot be read: No such file or directory\n"

    @pytest.mark.parametrize("options", [[], ["--keep-going"]], ids=["", "keep going"])
    def test_65_for_a_trace_which_is_told_from_a_bad_line(
        self, options: list[str], write: Write, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """It is said once, however many lines it has, and what to do with a policy where there is only a trace."""
        line = {"resourceSpans": [{"scopeSpans": []}]}
        assert main(["replay", *options, write("trace.jsonl", line, line)]) == 65
        assert capsys.readouterr().err == (
            "citespan: trace.jsonl: this is a trace; it holds no values and cannot be replayed. "
            "Try the policy on the agent: citespan run --policy FILE --mode tag -- ...\n"
        )

    @pytest.mark.parametrize("way", ["option", "environment"])
    def test_78_for_a_policy_that_is_not_there(self, way: str, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
        arguments = ["replay", write("a.jsonl", CITED)]
        if way == "option":
            arguments += ["--policy", "none.toml"]
        else:
            monkeypatch.setenv("CITESPAN_POLICY", "none.toml")
        assert main(arguments) == 78

    def test_65_for_a_policy_with_mistakes(self, write: Write, capsys: pytest.CaptureFixture[str]) -> None:
        Path("bad.toml").write_text("version = 1\n[run]\nmax_refused = -1\n")
        assert main(["replay", write("a.jsonl", CITED), "--policy", "bad.toml"]) == 65
        assert "bad.toml:3: run.max_refused" in capsys.readouterr().err


class TestKeepGoing:
    def test_the_rest_is_judged(self, write: Write, capsys: pytest.CaptureFixture[str]) -> None:
        files = [write("a.jsonl", CITED, BROKEN, GUESSED, CITED), "none.jsonl", write("b.jsonl", CITED)]
        assert main(["replay", "--keep-going", "--format", "jsonl", *files]) == 65
        captured = capsys.readouterr()
        assert objects(captured.out) == [("cited", 0, "ok"), ("guessed", 0, "blocked"), ("cited", 0, "ok")]
        assert captured.err.splitlines() == [
            "citespan: a.jsonl:2: calls.1.tool: is missing: a string",
            "citespan: a.jsonl:4: id: the trajectory on line 1 has the same id",
            "citespan: none.jsonl: cannot be read: No such file or directory",
        ]

    def test_a_run_whose_own_policy_is_wrong_is_a_bad_line(
        self, write: Write, capsys: pytest.CaptureFixture[str]
    ) -> None:
        wrong = GUESSED | {"policy": "version = 2\n"}
        assert main(["replay", "--keep-going", write("a.jsonl", wrong, CITED)]) == 65
        captured = capsys.readouterr()
        assert captured.err.startswith("citespan: a.jsonl:1: policy:1: version: ")
        assert re.search(r"a\.jsonl +1 +1 +1 +0 ", captured.out), "one run, one bad line, one call, none blocked"

    def test_without_it_what_came_before_is_printed_whole_and_nothing_of_the_bad_line(
        self, write: Write, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["replay", "--format", "jsonl", write("a.jsonl", CITED, BROKEN, GUESSED)]) == 65
        assert objects(capsys.readouterr().out) == [("cited", 0, "ok")]


class TestPolicy:
    def test_the_option_wins_over_the_runs_own_and_that_over_the_environment(
        self, write: Write, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for mode in ("tag", "off"):
            Path(f"{mode}.toml").write_text(f'version = 1\n[defaults]\nmode = "{mode}"\n')
        monkeypatch.setenv("CITESPAN_POLICY", "off.toml")
        enforced = GUESSED | {"id": "own", "policy": "version = 1\n"}
        file = write("a.jsonl", GUESSED, enforced)
        assert main(["replay", "--format", "jsonl", file]) == 1
        assert objects(capsys.readouterr().out) == [("guessed", 0, "ok"), ("own", 0, "blocked")]
        assert main(["replay", "--format", "jsonl", "--policy", "tag.toml", file]) == 0
        assert objects(capsys.readouterr().out) == [("guessed", 0, "flagged"), ("own", 0, "flagged")]

    def test_many_policies_are_not_all_kept(self, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(policies, "MAX_KEPT", 2)
        texts = [f"version = 1\n[run]\nmax_refused = {number}\n" for number in (1, 2, 3, 1)]
        runs = [GUESSED | {"id": f"r{number}", "policy": text} for number, text in enumerate(texts)]
        assert main(["replay", write("a.jsonl", *runs)]) == 1


class TestStreams:
    def test_in_a_process_of_its_own(self, write: Write) -> None:
        """Standard input in, objects out, and nothing on standard error."""
        path = Path(write("a.jsonl", CITED, GUESSED))
        command = [sys.executable, "-m", "citespan.cli", "replay", "-", "--format", "jsonl"]
        done = subprocess.run(command, input=path.read_bytes(), capture_output=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (1, b"")
        assert objects(done.stdout.decode()) == [("cited", 0, "ok"), ("guessed", 0, "blocked")]

    def test_standard_input_has_a_name_in_errors(self) -> None:
        command = [sys.executable, "-m", "citespan.cli", "replay", "-"]
        packed = gzip.compress(b"{")
        done = subprocess.run(command, input=packed, capture_output=True, timeout=60, check=False)
        assert done.returncode == 65
        assert done.stderr.startswith(b"citespan: <stdin>:1: not JSON")

    def test_on_a_terminal_a_bar_shows_on_standard_error_alone(self, write: Write) -> None:
        runs = [CITED | {"id": str(number), "note": "x" * 300_000} for number in range(4)]
        terminal, theirs = pty.openpty()
        command = [sys.executable, "-m", "citespan.cli", "replay", write("a.jsonl", *runs)]
        environment = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=environment)
        os.close(theirs)
        seen = b""
        with contextlib.suppress(OSError):  # Linux says that the other end is closed
            while chunk := os.read(terminal, 65536):
                seen += chunk
        os.close(terminal)
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        assert b"replay" in seen
        assert b"MB" in seen
        assert out.startswith(b"file ")
        assert b"\x1b" not in out


class TestDocumentation:
    def test_the_page_shows_what_its_example_prints(self, write: Write, capsys: pytest.CaptureFixture[str]) -> None:
        file = write("runs.jsonl", json.loads(BLOCKS["trajectory"]))
        assert main(["replay", file]) == 1
        assert capsys.readouterr().out == BLOCKS["summary"]
        assert main(["replay", "--format", "jsonl", file]) == 1
        assert json.loads(capsys.readouterr().out.splitlines()[-1]) == json.loads(BLOCKS["line"])
