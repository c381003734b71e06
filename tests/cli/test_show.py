"""`citespan show` as its user meets it: what goes where, and which exit code."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from tests.show.traces import RUNS, cited, line, tool_span, uncited, write

import citespan
from citespan.cli import main

OK = tool_span(1, "list_files", at=1)
BLOCKED = tool_span(2, "patch_file", uncited("path", nearest=["list_files.files.*"]), status="blocked", at=2)
FLAGGED = tool_span(3, "git_add", uncited("files"), status="flagged", at=3, run=RUNS[1])
NAMED = tool_span(
    4, "deploy", {"gen_ai.agent.name": "fixer", "gen_ai.conversation.id": "thread-42"}, status="unguarded", at=4
)


@pytest.fixture(autouse=True)
def no_policy_of_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CITESPAN_POLICY", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def trace(tmp_path: Path) -> str:
    write(tmp_path / "trace.jsonl", line(OK, BLOCKED), line(FLAGGED, NAMED))
    return "trace.jsonl"


class TestTheNewcomer:
    def test_one_command_names_the_missing_observation(self, tmp_path: Path) -> None:
        """From the README's example, with its guessed path, to the field that would have given it a source."""
        tools = citespan.TracedTools(
            {"list_files": lambda root: {"files": ["app.py", "README.md"]}, "patch_file": lambda path, comment: {}},
            inputs={"root": "."},
        )
        tools.call("list_files", root=".")
        with pytest.raises(PermissionError):
            tools.call("patch_file", path="prod.env", comment="fix the typo")
        tools.dump("trace.jsonl")
        command = [sys.executable, "-m", "citespan", "show", "trace.jsonl"]
        shown = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert (shown.returncode, shown.stderr) == (1, "")
        assert "BLOCKED patch_file" in shown.stdout
        assert "list_files.files.*" in shown.stdout


class TestExitCodes:
    def test_0_when_no_call_is_in_trouble(self, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
        """One line says so."""
        assert main(["show", write(Path("t.jsonl"), line(OK))]) == 0
        assert capsysbinary.readouterr().out.count(b"\n") == 1

    def test_2_for_a_file_without_calls(self, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
        """Which is said: an agent that called nothing is not known to be clean."""
        assert main(["show", write(Path("t.jsonl"), line())]) == 2
        assert capsysbinary.readouterr().out == b"no tool call in t.jsonl\n"

    @pytest.mark.parametrize("status", ["blocked", "flagged", "unguarded"])
    def test_1_for_a_call_in_trouble(self, trace: str, status: str) -> None:
        """Whichever was asked for."""
        assert main(["show", trace]) == main(["show", trace, "--status", status]) == 1

    def test_0_for_calls_that_were_asked_for_and_are_clean(self, trace: str) -> None:
        """Showing is not finding."""
        assert main(["show", trace, "--status", "ok"]) == 0
        assert main(["show", trace, "--tool", "list_files"]) == 0

    @pytest.mark.parametrize(
        "options, says",
        [
            (["--tool", "patch_fle"], "no call passes --tool patch_fle; did you mean patch_file?"),
            (["--tool", "zz*"], "--tool: there is list_files, patch_file, git_add, deploy"),
            (["--run", "fixr"], "did you mean fixer?"),
            (["--trace", "ffff"], f"--trace: there is {RUNS[0]}, {RUNS[1]}"),
            (["--trace", "xyz"], "hex digits are needed"),
            (["--status", "blcked"], "blocked"),
            (["--limit", "0"], "greater than or equal to 1"),
            (["-"], "give - only once"),
        ],
    )
    def test_64_for_what_cannot_be_meant(
        self, trace: str, options: list[str], says: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A filter that nothing passes is not a clean run: what there is is named."""
        arguments = ["show", *(["-"] if options == ["-"] else [trace]), *options]
        assert main(arguments) == 64
        output = capsys.readouterr()
        assert output.out == ""
        assert says in " ".join(output.err.split())

    @pytest.mark.parametrize(
        "content", ["nonsense\n", '{"resourceSpans":[{"scopeSpans":[{"spans":[7]}]}}\n', "[1]\n", line(BLOCKED)[:-9]]
    )
    def test_65_for_what_is_no_trace(self, content: str, capsys: pytest.CaptureFixture[str]) -> None:
        """With file, line and reason."""
        assert main(["show", write(Path("t.jsonl"), line(OK), content)]) == 65
        output = capsys.readouterr()
        assert output.out == ""
        assert output.err.startswith("citespan: t.jsonl:2: ")

    def test_65_for_a_file_that_is_not_there(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Its name and the reason."""
        assert main(["show", "nowhere.jsonl"]) == 65
        assert capsys.readouterr().err.startswith("citespan: nowhere.jsonl: ")

    def test_78_for_a_policy_that_is_not_there(self, trace: str) -> None:
        """It was named, so it matters."""
        assert main(["show", trace, "--policy", "nowhere.toml"]) == 78


class TestWhatIsShown:
    def test_the_last_blocked_call_comes_before_later_trouble(
        self, trace: str, capsysbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        """And what else there is, with the command that shows it."""
        assert main(["show", trace]) == 1
        text = capsysbinary.readouterr().out.decode()
        assert text.splitlines()[2].startswith("BLOCKED patch_file")
        assert "nearest in this run: list_files.files.*" in text
        assert "1 more unguarded, 1 more flagged: citespan show --all trace.jsonl" in text
        assert text.splitlines()[-1].startswith("next: citespan report trace.jsonl --trace ")

    @pytest.mark.parametrize(
        "options, tools",
        [
            (["--all"], ["deploy", "git_add", "patch_file"]),
            (["--all", "--limit", "2"], ["deploy", "git_add"]),
            (["--limit", "1"], ["deploy"]),
            (["--all", "--status", "flagged", "--status", "blocked"], ["git_add", "patch_file"]),
            (["--all", "--tool", "*_*"], ["git_add", "patch_file"]),
            (["--run", "fixer"], ["deploy"]),
            (["--run", "thread-42"], ["deploy"]),
            (["--trace", RUNS[1][:30].upper()], ["git_add"]),
            (["--all", "--status", "ok"], ["list_files"]),
        ],
    )
    def test_filters_choose_and_the_newest_comes_first(
        self, trace: str, options: list[str], tools: list[str], capsysbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        """The same calls in the text and in the JSON document."""
        main(["show", trace, *options, "--json"])
        document = json.loads(capsysbinary.readouterr().out)
        assert document["schema"] == "citespan.show/1"
        assert [call["tool"] for call in document["shown"]] == tools

    def test_a_policy_names_what_an_old_trace_does_not(
        self, trace: str, capsysbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        """The fields of its `from`; that it is another than the one that decided is said."""
        rules = 'version = 1\n[tools.patch_file.arguments.path]\nfrom = ["search.hits.*.file"]\n'
        Path("citespan.toml").write_text(rules)
        assert main(["show", trace, "--policy", "citespan.toml"]) == 1
        text = capsysbinary.readouterr().out.decode()
        assert "missing: call search first: the policy accepts search.hits.*.file" in text
        assert "citespan.toml is not the policy that decided" in text
        assert "next: citespan policy explain citespan.toml patch_file path" in text


class TestFiles:
    def test_gzip_and_standard_input_show_the_same(self, trace: str) -> None:
        """Though neither is read from its bytes alone."""
        Path("t.gz").write_bytes(gzip.compress(Path(trace).read_bytes()))
        command = [sys.executable, "-m", "citespan", "show", "--json"]
        outputs = []
        for arguments, stdin in ((["t.gz"], None), (["-"], Path("t.gz")), (["-"], Path(trace)), ([trace], None)):
            with stdin.open("rb") if stdin else contextlib.nullcontext() as piped:
                done = subprocess.run([*command, *arguments], stdin=piped, capture_output=True, timeout=60, check=False)
            assert done.returncode == 1, done.stderr
            document = json.loads(done.stdout)
            for call in document["shown"]:
                call["place"] = call["place"].rpartition(":")[2]
            outputs.append({**document, "files": None})
        assert outputs[1:] == outputs[:-1]

    def test_an_evidence_file(self, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
        """Written by the library beside the spans, or without any."""
        from citespan.stores.evidence import EvidenceFile

        evidence = EvidenceFile("evidence.jsonl")
        from citespan.guard.registry import registry

        before, registry.evidence = registry.evidence, evidence
        try:
            tools = citespan.TracedTools({"patch_file": lambda path: {}})
            with pytest.raises(PermissionError):
                tools.call("patch_file", path="prod.env")
        finally:
            registry.evidence = before
            evidence.close()
        assert main(["show", "evidence.jsonl"]) == 1
        assert b"BLOCKED patch_file" in capsysbinary.readouterr().out

    def test_several_files_are_one(self, trace: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
        """The last blocked call of all."""
        newer = tool_span(9, "drop_table", uncited("name"), status="blocked", at=90)
        assert main(["show", write(Path("new.jsonl"), line(newer)), trace]) == 1
        assert b"BLOCKED drop_table" in capsysbinary.readouterr().out


class TestTerminal:
    def run(self, trace: str, **environment: str) -> str:
        """The output on a terminal of 40 columns."""
        leader, follower = pty.openpty()
        surroundings = {key: each for key, each in os.environ.items() if key not in {"NO_COLOR", "FORCE_COLOR"}}
        command = [sys.executable, "-m", "citespan", "show", trace]
        with subprocess.Popen(
            command, stdout=follower, stderr=follower, env=surroundings | {"TERM": "xterm"} | environment
        ) as process:
            os.close(follower)
            output = b""
            with contextlib.suppress(OSError):
                while piece := os.read(leader, 65536):
                    output += piece
            assert process.wait(60) == 1
        os.close(leader)
        return output.decode()

    def test_colours_on_a_terminal(self, trace: str) -> None:
        """Red for what is blocked."""
        assert "\x1b[1;31mBLOCKED" in self.run(trace)

    def test_no_colour_where_it_is_not_wanted(self, trace: str) -> None:
        """NO_COLOR, as everywhere."""
        assert "\x1b[31m" not in self.run(trace, NO_COLOR="1")
        assert "31mBLOCKED" not in self.run(trace, NO_COLOR="1")

    def test_names_do_not_drive_it(self) -> None:
        """They are printed, as escapes that one can read."""
        hostile = tool_span(1, "a\x1b[2Jb", uncited("p\x07"), status="blocked")
        output = self.run(write(Path("t.jsonl"), line(hostile)))
        assert "\x1b[2J" not in output
        assert "\x07" not in output
        assert "a\\x1b[2Jb" in output

    def test_names_do_not_drive_it_in_json_either(self, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
        """A document may be looked at on a terminal; it says the same."""
        name = "a\x9b2J\u202e\x7f\U000e0041"
        file = write(Path("t.jsonl"), line(tool_span(1, name, uncited("p"), status="blocked")))
        assert main(["show", file, "--json"]) == 1
        out = capsysbinary.readouterr().out
        assert out.isascii()
        assert b"\x7f" not in out
        assert json.loads(out)["shown"][0]["tool"] == name

    def test_no_colour_in_a_pipe(self, trace: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
        """Nor any other escape."""
        main(["show", trace])
        assert b"\x1b" not in capsysbinary.readouterr().out

    def test_an_encoding_that_lacks_a_character(self) -> None:
        """The name is written as far as it goes, and the exit code is that of the run."""
        file = write(Path("t.jsonl"), line(tool_span(1, "über", uncited("p"), status="blocked")))
        command = [sys.executable, "-m", "citespan", "show", file]
        ascii_only = os.environ | {"PYTHONIOENCODING": "ascii"}
        done = subprocess.run(command, capture_output=True, env=ascii_only, timeout=60, check=False)
        assert done.returncode == 1
        assert b"BLOCKED \\xfcber" in done.stdout


def test_the_source_of_a_citation_is_told(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """Tool, field, projection, how long before, and its span."""
    said = uncited("path") | cited("folder", "list_files", "files.0", 1, projection="dirname")
    late = tool_span(2, "patch_file", said, status="blocked", at=3)
    assert main(["show", write(Path("t.jsonl"), line(OK), line(late))]) == 1
    text = capsysbinary.readouterr().out.decode()
    assert "+ folder  observed  list_files.files.0, by dirname, 2.0 s before, span 0000000000000001" in text
