"""`citespan diff` as its user meets it: what goes where, and which exit code."""

from __future__ import annotations

import gzip
import io
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
from citespan.core.kinds import KINDS
from citespan.diff import collect
from citespan.diff.align import MAX_CELLS
from citespan.diff.collect import MAX_CALLS
from citespan.diff.model import VERDICTS

GOLDEN = Path(__file__).parents[1] / "diff" / "golden"
PAGE = (Path(__file__).parents[2] / "docs" / "diff.md").read_text(encoding="utf-8")
LISTED = call("look", result={"files": ["a1.md", "b2.md"]})
CITED = {"id": "r1", "user_messages": ["cut one"], "calls": [LISTED, call("cut", path="a1.md")]}
GUESSED = {"id": "r1", "user_messages": ["cut one"], "calls": [LISTED, call("cut", path="c3.md")]}
SAID = {"id": "r1", "user_messages": ["cut a1.md"], "calls": [call("look"), call("cut", path="a1.md")]}
ELSEWHERE = {
    "id": "r1",
    "user_messages": ["cut one"],
    "calls": [call("look", result={"names": ["a1.md"]}), call("cut", path="a1.md")],
}
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


def golden(name: str, arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> int:
    """Runs a comparison of the demo's two runs, and holds its output to a file."""
    monkeypatch.chdir(GOLDEN)
    code = main(["diff", *arguments])
    assert capsys.readouterr().out == (GOLDEN / name).read_text(encoding="utf-8")
    return code


class TestGolden:
    """The two runs of `citespan demo`, as they were traced."""

    def test_text(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        """One sign per line, unchanged calls as a count."""
        assert golden("changes.txt", ["careful.jsonl", "guessing.jsonl"], capsys, monkeypatch) == 1

    def test_all(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        """Each unchanged call has a line."""
        assert golden("all.txt", ["guessing.jsonl", "careful.jsonl", "--all"], capsys, monkeypatch) == 1

    def test_only_worse(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        """What got no worse is left out."""
        assert golden("worse.txt", ["careful.jsonl", "guessing.jsonl", "--only-worse"], capsys, monkeypatch) == 1

    def test_json(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        """One object of schema citespan.diff/1."""
        arguments = ["careful.jsonl", "guessing.jsonl", "--format", "json"]
        assert golden("changes.json", arguments, capsys, monkeypatch) == 1


class TestExitCodes:
    """As `--help` lists them."""

    def test_0_when_nothing_changed(self, write: Write) -> None:
        """A file and itself."""
        assert main(["diff", write("a.jsonl", CITED), "a.jsonl"]) == 0

    def test_0_when_only_a_source_changed(self, write: Write, capsys: pytest.CaptureFixture[str]) -> None:
        """It is shown, and no failure."""
        assert main(["diff", write("a.jsonl", CITED), write("b.jsonl", ELSEWHERE)]) == 0
        assert "look.files.* -> look.names.*" in capsys.readouterr().out

    def test_1_when_a_kind_changed(self, write: Write) -> None:
        """To the better, too: somebody should look at it."""
        assert main(["diff", write("a.jsonl", CITED), write("b.jsonl", SAID)]) == 1
        assert main(["diff", "b.jsonl", "a.jsonl"]) == 1

    def test_with_only_worse_0_when_it_got_better(self, write: Write) -> None:
        """And 1 from the other side."""
        good, bad = write("a.jsonl", CITED), write("b.jsonl", GUESSED)
        assert main(["diff", bad, good, "--only-worse"]) == 0
        assert main(["diff", good, bad, "--only-worse"]) == 1

    def test_1_when_a_call_with_an_uncited_argument_was_added(self, write: Write) -> None:
        """A call whose arguments are cited may be added freely."""
        more = {**CITED, "calls": [*CITED["calls"], call("cut", path="b2.md")]}
        worse = {**CITED, "calls": [*CITED["calls"], call("cut", path="c3.md")]}
        a = write("a.jsonl", CITED)
        assert main(["diff", a, write("b.jsonl", more), "--only-worse"]) == 0
        assert main(["diff", a, write("c.jsonl", worse), "--only-worse"]) == 1

    @pytest.mark.parametrize(
        "arguments",
        [
            ["-", "-"],
            ["a.jsonl", "a.jsonl", "--all", "--only-worse"],
            ["a.jsonl", "a.jsonl", "--run", "1", "--run", "2", "--run", "3"],
            ["a.jsonl", "a.jsonl", "--run", "none"],
            ["a.jsonl", "a.jsonl", "--trace", "0f"],
            ["a.jsonl"],
            ["a.jsonl", "a.jsonl", "--format", "xml"],
        ],
        ids=" ".join,
    )
    def test_64_when_the_command_line_makes_no_sense(self, write: Write, arguments: list[str]) -> None:
        """Nothing is printed on standard output then."""
        write("a.jsonl", CITED)
        assert main(["diff", *arguments]) == 64

    def test_64_when_there_are_too_many_calls(
        self, write: Write, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """It says how to choose a run, and that is possible."""
        monkeypatch.setattr(sys.modules[collect.__module__], "MAX_CALLS", 2)
        a = write("a.jsonl", CITED, {**CITED, "id": "r2"})
        assert main(["diff", a, a]) == 64
        assert "choose one run of it with --run or --trace" in capsys.readouterr().err
        assert main(["diff", a, a, "--run", "r2"]) == 0

    @pytest.mark.parametrize(
        "content",
        [
            b"{",
            b"nonsense\n",
            b'{"id":"1","calls":3}\n',
            b'{"resourceSpans":7}\n',
            b'{"schema":"citespan.evidence/1"}\n',
            b'{"schema":"citespan.evidence/1","tool":"t"}\n{"schema',
            b'{"schema":"citespan.evidence/9","tool":"t"}\n',
            b"\x1f\x8b\x08",
            b"\0\0\0\0",
        ],
    )
    def test_65_when_a_file_cannot_be_used(
        self, write: Write, content: bytes, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """It is named, and nothing is on standard output."""
        write("a.jsonl", CITED)
        Path("b.jsonl").write_bytes(content)
        for arguments in (["a.jsonl", "b.jsonl"], ["b.jsonl", "a.jsonl"], ["a.jsonl", "missing.jsonl"]):
            assert main(["diff", *arguments]) == 65
            captured = capsys.readouterr()
            assert captured.out == ""
            assert "b.jsonl" in captured.err or "missing.jsonl" in captured.err

    @pytest.mark.parametrize("content", [b"", b"\n", b'{"id":"1","calls":[]}\n', b'{"resourceSpans":[]}\n'])
    def test_2_when_a_file_holds_no_tool_call(
        self, write: Write, content: bytes, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """An agent that called nothing is neither the same as another nor different: incomplete is no success."""
        write("a.jsonl", CITED)
        Path("b.jsonl").write_bytes(content)
        for arguments in (["a.jsonl", "b.jsonl"], ["b.jsonl", "a.jsonl"]):
            assert main(["diff", *arguments]) == 2
            captured = capsys.readouterr()
            assert captured.out == ""
            assert captured.err == "citespan: b.jsonl: no tool call in it, so there is nothing to compare\n"

    def test_78_when_the_policy_is_not_there(self, write: Write) -> None:
        """Named but missing."""
        assert main(["diff", write("a.jsonl", CITED), "a.jsonl", "--policy", "none.toml"]) == 78


class TestChoosing:
    """One run out of many, and a policy for each side."""

    def test_given_once_it_holds_for_both(self, write: Write, capsys: pytest.CaptureFixture[str]) -> None:
        """The run of that id in each file."""
        a = write("a.jsonl", CITED, {**GUESSED, "id": "r2"})
        b = write("b.jsonl", CITED, {**CITED, "id": "r2"})
        assert main(["diff", a, b]) == 1
        assert main(["diff", a, b, "--run", "r1"]) == 0
        assert "2 calls -> 2 calls" in capsys.readouterr().out

    def test_given_twice_the_first_is_of_a(self, write: Write) -> None:
        """Two runs of one file can be compared."""
        a = write("a.jsonl", CITED, {**GUESSED, "id": "r2"})
        assert main(["diff", a, a, "--run", "r1", "--run", "r2", "--only-worse"]) == 1
        assert main(["diff", a, a, "--run", "r2", "--run", "r1", "--only-worse"]) == 0

    def test_a_trace_by_the_start_of_its_id(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """In upper case too."""
        monkeypatch.chdir(GOLDEN)
        assert main(["diff", "careful.jsonl", "careful.jsonl", "--trace", "BC2130"]) == 0

    def test_one_recording_under_two_policies(self, write: Write) -> None:
        """What a stricter policy would refuse."""
        a = write("a.jsonl", SAID)
        Path("old.toml").write_text("version = 1\n")
        Path("new.toml").write_text('version = 1\n[defaults]\naccept = ["observed"]\n')
        assert main(["diff", a, a, "--policy", "old.toml", "--policy", "new.toml", "--only-worse"]) == 1
        assert main(["diff", a, a, "--policy", "new.toml"]) == 0


class TestOutput:
    """Results on standard output, safe for terminals, coloured only there."""

    def test_standard_input_can_be_one_side(self, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
        """Gzipped as well."""
        a = write("a.jsonl", CITED)
        data = gzip.compress(Path(a).read_bytes())
        for arguments in (["-", a], [a, "-"]):
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
            assert main(["diff", *arguments]) == 0

    def test_names_out_of_a_file_drive_no_terminal(self, write: Write, capsys: pytest.CaptureFixture[str]) -> None:
        """Escapes in tool names and ids become visible."""
        evil = "cut\x1b[2J\x07\u202e"
        run = {**CITED, "id": f"r{evil}", "calls": [LISTED, call(evil, path="a1.md")]}
        assert main(["diff", write("a.jsonl", run), write("b.jsonl", {**run, "calls": [call(evil, path="x.md")]})]) == 1
        out = capsys.readouterr().out
        assert "cut\\x1b[2J" in out
        assert not set("\x1b\x07\u202e") & set(out)

    def test_json_stays_one_object_whatever_the_names(self, write: Write, capsysbinary: Any) -> None:
        """And has what `--only-worse` leaves out in its counts only."""
        a, b = write("a.jsonl", GUESSED), write("b.jsonl", CITED)
        assert main(["diff", a, b, "--format", "json", "--only-worse"]) == 0
        found = json.loads(capsysbinary.readouterr().out)
        assert (found["schema"], found["better"], found["runs"][0]["calls"]) == ("citespan.diff/1", 2, [])

    def test_colours_on_a_terminal_only(self, write: Write) -> None:
        """And not there if `NO_COLOR` is set."""
        a, b = write("a.jsonl", CITED), write("b.jsonl", GUESSED)
        assert b"\x1b[" in on_terminal([a, b], {"TERM": "xterm", "NO_COLOR": ""})
        assert b"\x1b[3" not in on_terminal([a, b], {"TERM": "xterm", "NO_COLOR": "1"})
        piped = subprocess.run(
            [sys.executable, "-m", "citespan", "diff", a, b], check=False, capture_output=True, timeout=60
        )
        assert piped.returncode == 1
        assert b"\x1b" not in piped.stdout


def on_terminal(arguments: list[str], environment: dict[str, str]) -> bytes:
    """What the command shows on a terminal."""
    master, terminal = pty.openpty()
    kept = {key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "FORCE_COLOR", "CI"}}
    environment = {key: value for key, value in environment.items() if value}
    with subprocess.Popen(
        [sys.executable, "-m", "citespan", "diff", *arguments], stdout=terminal, env=kept | environment
    ) as process:
        os.close(terminal)
        shown = b""
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            shown += piece
        assert process.wait(60) == 1
    os.close(master)
    return shown


class TestPage:
    """docs/diff.md says what the command does."""

    def test_its_example_is_what_is_printed(self) -> None:
        """To the letter."""
        block = re.search(r"^```text changes\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
        assert block is not None
        assert block[1] == (GOLDEN / "changes.txt").read_text(encoding="utf-8")

    def test_its_orders_are_those_of_the_code(self) -> None:
        """Kinds and verdicts, from the best to the worst."""
        assert ", ".join(f"`{kind}`" for kind in KINDS) in PAGE
        shown = [f"`{verdict}`" if verdict != "none" else "(none)" for verdict in VERDICTS if verdict != "within"]
        assert ", ".join(shown) in PAGE

    def test_its_bounds_are_those_of_the_code(self) -> None:
        """400 x 400 and 200,000."""
        assert f"{int(MAX_CELLS**0.5)} x {int(MAX_CELLS**0.5)}" in PAGE
        assert f"{MAX_CALLS:,} calls" in PAGE

    def test_every_key_of_the_json_is_listed(self) -> None:
        """In a table of the page."""
        found = json.loads((GOLDEN / "changes.json").read_text(encoding="utf-8"))

        def keys(value: Any) -> set[str]:
            if isinstance(value, dict):
                return set(value).union(*(keys(member) for member in value.values()))
            return set().union(*(keys(member) for member in value)) if isinstance(value, list) else set()

        assert {key for key in keys(found) if f"`{key}`" not in PAGE} == set()
