"""`citespan approve` takes a value on standard input and appends one line that does not hold it."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import citespan
from citespan.cli import main
from citespan.core.proposals import Proposal

ROOT = Path(__file__).parents[2]
COMMAND = ["approve", "approvals.jsonl", "--tool", "create_file", "--argument", "path"]


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CITESPAN_DIGEST_KEY", "a key for tests")


@pytest.fixture
def give(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Put bytes on standard input."""

    def give(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return give


def approves(value: Any, tool: str = "create_file", argument: str = "path") -> bool:
    return citespan.recorded_approvals("approvals.jsonl").proposal(Proposal(tool, argument, value))


@pytest.mark.parametrize("value", ["docs/guide.md", "Grüße", 12, 1.5, True, None, "", [], {}], ids=repr)
def test_what_was_approved_is_what_is_read_back(value: Any, give: Any) -> None:
    give(json.dumps(value).encode())
    assert main(COMMAND) == 0
    assert approves(value)


def test_it_prints_the_digest_and_not_the_value(give: Any, capsys: pytest.CaptureFixture[str]) -> None:
    give(b'"docs/guide.md"\n')
    main([*COMMAND, "--reason", "the user wants a guide", "--by", "rosa"])
    line = json.loads(Path("approvals.jsonl").read_text())
    printed = capsys.readouterr()
    assert f"digest {line['digest']} (key {line['digest_key']})" in printed.out
    assert "guide.md" not in printed.out + printed.err + str(line)
    assert (line["reason"], line["approved_by"]) == ("the user wants a guide", "rosa")


def test_each_line_is_an_approval_of_its_own(give: Any) -> None:
    for value in (b"1", b"2"):
        give(value)
        main(COMMAND)
    assert (approves(1), approves(2), approves(3)) == (True, True, False)


@pytest.mark.parametrize(
    "data",
    [b"", b"docs/guide.md", b"\xff", b"NaN", b"1e999", b'["a"]', b'{"a": 1}', b'"\\ud800"', b"[" * 100_000, b"1 2"],
    ids=lambda data: repr(data[:20]),
)
def test_65_for_what_is_no_leaf_which_is_not_repeated(
    data: bytes, give: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    give(data)
    assert main(COMMAND) == 65
    told = capsys.readouterr().err
    assert told.startswith("citespan: ")
    assert "docs/guide.md" not in told.replace('as in "docs/guide.md"', "")
    assert not Path("approvals.jsonl").exists()


def test_65_with_the_line_for_a_broken_file(give: Any, capsys: pytest.CaptureFixture[str]) -> None:
    Path("approvals.jsonl").write_text("\nbroken\n")
    Path("approvals.jsonl").chmod(0o600)
    give(b"1")
    assert main(COMMAND) == 65
    assert capsys.readouterr().err == "citespan: approvals.jsonl:2: is no JSON object\n"
    assert Path("approvals.jsonl").read_text() == "\nbroken\n"


def test_65_for_a_file_that_others_can_write(give: Any, capsys: pytest.CaptureFixture[str]) -> None:
    Path("approvals.jsonl").touch()
    Path("approvals.jsonl").chmod(0o666)
    give(b"1")
    assert main(COMMAND) == 65
    assert "chmod go-w approvals.jsonl" in capsys.readouterr().err


def test_65_for_a_folder_that_is_not_there(give: Any, capsys: pytest.CaptureFixture[str]) -> None:
    give(b"1")
    assert main(["approve", "none/approvals.jsonl", *COMMAND[2:]]) == 65
    assert "cannot be written (No such file or directory)" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["approve", "-", *COMMAND[2:]], COMMAND[:4], [*COMMAND[:3], "", *COMMAND[4:]]])
def test_64_for_a_command_line_that_means_nothing(arguments: list[str], give: Any) -> None:
    give(b"1")
    assert main(arguments) == 64


def test_the_command_of_the_page_lets_the_program_of_the_page_through(tmp_path: Path) -> None:
    """The two blocks under "Recorded approvals": what a person types, then what the agent's host runs."""
    section = (ROOT / "docs" / "python.md").read_text(encoding="utf-8").partition("### Recorded approvals")[2]
    typed = re.search(r"^```console\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert typed is not None
    echo, _, command = typed[1].strip().replace("\\\n", " ").partition(" | ")
    value, arguments = shlex.split(echo)[1], shlex.split(command)
    assert arguments[0] == "citespan"
    done = subprocess.run(
        [sys.executable, "-m", "citespan", *arguments[1:]],
        input=value,
        cwd=tmp_path,
        env={**os.environ, "CITESPAN_DIGEST_KEY": "a key for tests"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    options = SimpleNamespace(**dict(zip((key[2:] for key in arguments[3::2]), arguments[4::2], strict=True)))
    assert approves(json.loads(value), options.tool, options.argument)
