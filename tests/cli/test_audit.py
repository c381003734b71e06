"""`citespan audit` as its user meets it: what goes where, and which exit code."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import citespan
from citespan.audit import FORMATS, store
from citespan.cli import main
from citespan.core.decision import ProvenanceDenied
from citespan.core.policy import Policy

Make = Callable[..., str]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Writes the trace of a run to a file in the working directory; returns its name. `guess` is an uncited path."""
    monkeypatch.chdir(tmp_path)

    def maker(name: str, guess: str | None = None, policy: Policy | None = None) -> str:
        tools = citespan.TracedTools(
            {"list_files": lambda root: {"files": ["app.py"]}, "patch_file": lambda path: {"patched": path}},
            policy,
            inputs={"root": "."},
        )
        path = tools.call("list_files", root=".")["files"][0]
        with contextlib.suppress(ProvenanceDenied):
            tools.call("patch_file", path=path if guess is None else guess)
        tools.dump(name)
        return name

    return maker


def without_the_run(name: str) -> str:
    """The trace as it is while the run is open: its own span is not there yet."""
    document = json.loads(Path(name).read_text())
    for group in document["resourceSpans"]:
        for scope in group["scopeSpans"]:
            scope["spans"] = [span for span in scope["spans"] if span.get("parentSpanId")]
    Path(name).write_text(json.dumps(document) + "\n")
    return name


class TestExitCodes:
    """Design section 7."""

    def test_0_for_a_clean_run(self, make: Make) -> None:
        """Each argument has its source, and the run ended."""
        assert main(["audit", make("a.jsonl")]) == 0

    def test_0_with_warnings(self, make: Make) -> None:
        """Another policy judged, and would have said the same."""
        Path("p.toml").write_text("version = 1\n[defaults]\nmax_assumed = 3\n")
        assert main(["audit", make("a.jsonl"), "--policy", "p.toml"]) == 0

    def test_1_for_a_refused_call(self, make: Make) -> None:
        """Somebody should look at it."""
        assert main(["audit", make("a.jsonl", "prod.env")]) == 1

    def test_1_for_a_call_over_the_named_policy(self, make: Make) -> None:
        """It was within its budget under its own."""
        Path("p.toml").write_text("version = 1\n")
        name = make("a.jsonl", "prod.env", Policy(max_assumed=1))
        assert main(["audit", name]) == 0
        assert main(["audit", name, "--policy", "p.toml"]) == 1

    def test_2_for_a_run_that_never_ended(self, make: Make) -> None:
        """Incomplete is not success."""
        assert main(["audit", without_the_run(make("a.jsonl"))]) == 2

    def test_1_before_2(self, make: Make) -> None:
        """A violation is one whatever is missing."""
        assert main(["audit", without_the_run(make("a.jsonl", "prod.env"))]) == 1

    def test_2_for_a_file_without_a_call(self, make: Make) -> None:
        """An empty file proves nothing."""
        Path("empty.jsonl").write_text('{"resourceSpans":[]}\n')
        assert main(["audit", "empty.jsonl"]) == 2

    @pytest.mark.parametrize(
        "arguments", [[], ["a.jsonl", "--format", "xml"], ["--colour"], ["-", "-"], ["a.jsonl", "-o", "no/such/x"]]
    )
    def test_64_for_a_command_line_that_makes_no_sense(self, arguments: list[str], make: Make) -> None:
        """And for a file that cannot be written."""
        make("a.jsonl")
        assert main(["audit", *arguments]) == 64

    def test_65_for_a_file_that_is_no_trace(self, make: Make, capsys: pytest.CaptureFixture[str]) -> None:
        """File, line and reason are on standard error, nothing on standard output, and nothing is written."""
        make("a.jsonl", "prod.env")
        Path("b.jsonl").write_bytes(Path("a.jsonl").read_bytes() + b'{"resourceSpans": [')
        assert main(["audit", "a.jsonl", "b.jsonl", "-o", "out.json", "--format", "json"]) == 65
        captured = capsys.readouterr()
        assert captured.err.startswith("citespan: b.jsonl:2: ")
        assert captured.out == ""
        assert not Path("out.json").exists()

    def test_65_for_a_file_that_is_not_there(self, make: Make) -> None:
        """The same."""
        make("a.jsonl")
        assert main(["audit", "a.jsonl", "none.jsonl"]) == 65

    def test_65_where_the_disk_is_full(
        self, make: Make, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It says what it needs, and which variable gives it another folder."""
        monkeypatch.setattr(store.Store.__init__, "__defaults__", (2 * store.PAGE_BYTES,))
        assert main(["audit", make("a.jsonl")]) == 65
        assert "database or disk is full" in (said := capsys.readouterr().err)
        assert "TMPDIR" in said

    def test_78_for_a_policy_that_is_not_there(self, make: Make) -> None:
        """None is taken in its place."""
        assert main(["audit", make("a.jsonl"), "--policy", "none.toml"]) == 78


class TestFiles:
    """What is read, and what is written."""

    def test_standard_input(self, make: Make) -> None:
        """`-`, and a pipe."""
        name = make("a.jsonl", "prod.env")
        with Path(name).open("rb") as file:
            command = [sys.executable, "-m", "citespan", "audit", "-"]
            done = subprocess.run(command, check=False, stdin=file, capture_output=True)
        assert done.returncode == 1
        assert b"<stdin>:1" in done.stdout
        assert done.stderr == b""

    def test_gzip(self, make: Make) -> None:
        """Whatever the reader reads."""
        Path("a.jsonl.gz").write_bytes(gzip.compress(Path(make("a.jsonl")).read_bytes()))
        assert main(["audit", "a.jsonl.gz"]) == 0

    def test_a_trace_in_two_files(self, make: Make) -> None:
        """Together they are clean; each by itself is not whole."""
        (line,) = Path(make("a.jsonl")).read_text().splitlines()
        document = json.loads(line)
        (scope,) = document["resourceSpans"][0]["scopeSpans"]
        spans = scope["spans"]
        for name, part in (("b.jsonl", spans[:1]), ("c.jsonl", spans[1:])):
            scope["spans"] = part
            Path(name).write_text(json.dumps(document) + "\n")
        assert main(["audit", "b.jsonl", "c.jsonl"]) == main(["audit", "c.jsonl", "b.jsonl"]) == 0
        assert main(["audit", "b.jsonl"]) == 2
        assert main(["audit", "c.jsonl"]) == 1

    @pytest.mark.parametrize("form", FORMATS)
    def test_o_writes_what_standard_output_would_get(
        self, form: Any, make: Make, capfdbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        """In each format, with the same exit code."""
        name = make("a.jsonl", "prod.env")
        assert main(["audit", name, "--format", form]) == 1
        printed = capfdbinary.readouterr().out
        assert printed
        assert main(["audit", name, "--format", form, "-o", "out"]) == 1
        assert capfdbinary.readouterr().out == b""
        assert Path("out").read_bytes() == printed

    def test_no_file_is_left_behind(self, make: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """What is kept on disk has no name, also where reading fails."""
        folder = tmp_path / "room"
        folder.mkdir()
        monkeypatch.setenv("TMPDIR", str(folder))
        monkeypatch.setenv("SQLITE_TMPDIR", str(folder))
        monkeypatch.setattr(store, "CACHE_BYTES", 64 * 1024)
        name = make("a.jsonl")
        assert main(["audit", name, "none.jsonl"]) == 65
        assert main(["audit", name]) == 0
        assert os.listdir(folder) == []


def test_json_is_what_the_page_says(make: Make, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """The keys, and no others."""
    assert main(["audit", make("a.jsonl", "prod.env"), "--format", "json"]) == 1
    audit = json.load(io.BytesIO(capfdbinary.readouterr().out))
    assert list(audit) == ["schema", "exit_code", "incomplete", "spans", "calls", "counts", "left_out", "findings"]
    assert audit["schema"] == "citespan.audit/1"
    assert list(audit["findings"][0]) == [
        *("rule", "severity", "family", "message", "tool", "argument", "trace_id", "span_id", "place")
    ]
