"""`--help` says what there is to say, and nothing of how options are parsed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.helps import HELPS

from citespan.cli import main

COMMANDS = (*HELPS, "")


def shown(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main([*command.split(), "--help"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS)
def test_an_option_that_takes_no_value_shows_none(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """But `--help` and the two for completion, which are not citespan's own."""
    lines = [line for line in shown(command, capsys).splitlines() if not re.search(r"--help|-completion", line)]
    assert [line for line in lines if "bool" in line.lower()] == []


@pytest.mark.parametrize(
    "command, sentence",
    [
        ("approve", 'To use FILE: a policy with on_violation = "ask", and CITESPAN_APPROVALS=FILE.'),
        (
            "run",
            "CITESPAN_TRACE_FILE=FILE writes spans, CITESPAN_EVIDENCE=FILE says where decisions go, "
            "CITESPAN_APPROVALS=FILE names approvals.",
        ),
        ("doctor", "1: something is, such as a policy that is named and is not there or has mistakes."),
        ("suggest", "64: usage, or the file to write is there already."),
    ],
)
def test_what_a_command_needs_besides_is_said(command: str, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Variables, a policy's key, and what an exit code stands for."""
    assert sentence in " ".join(shown(command, capsys).split())


def test_no_command_is_named_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    """What each command's help sends a reader to exists."""
    there = {command.split()[0] for command in HELPS}
    for command in COMMANDS:
        named = set(re.findall(r"\bcitespan ([a-z]+)\b", shown(command, capsys)))
        assert named <= there, command


@pytest.mark.parametrize(
    "line, meant",
    [
        ("replay --format jsn runs.jsonl", "Invalid value for '--format': 'jsn' is not one of 'text', 'jsonl'."),
        ("replya runs.jsonl", "replay"),
        ("replay --formt text runs.jsonl", "--format"),
        ("polcy check x", "policy"),
    ],
)
def test_a_misspelt_word_is_answered_with_the_one_that_was_meant(
    line: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(line.split()) == 64
    assert meant in capsys.readouterr().err


def test_a_shell_completes_commands_and_options() -> None:
    """As bash asks for it: the words so far, and which of them is being typed."""

    def completed(words: str) -> set[str]:
        asked = {"_CITESPAN_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
        done = subprocess.run(
            [Path(sys.executable).with_name("citespan")],
            env=os.environ | asked,
            capture_output=True,
            text=True,
            check=False,
        )
        return set(done.stdout.split())

    assert {"replay", "report"} <= completed("citespan rep")
    assert completed("citespan replay --for") == {"--format"}
