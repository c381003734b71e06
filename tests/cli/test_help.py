"""`--help` says what there is to say, and nothing of how options are parsed."""

from __future__ import annotations

import re

import pytest

from citespan.cli import main

COMMANDS = ("approve", "demo", "doctor", "replay", "run", "suggest", "policy check", "policy explain", "")


def shown(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main([*command.split(), "--help"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS)
def test_an_option_that_takes_no_value_shows_none(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """But `--help`, which is not citespan's own."""
    lines = shown(command, capsys).splitlines()
    assert [line for line in lines if "bool" in line.lower() and "--help" not in line] == []


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
    there = {command.split()[0] for command in COMMANDS if command}
    for command in COMMANDS:
        named = set(re.findall(r"\bcitespan ([a-z]+)\b", shown(command, capsys)))
        assert named <= there, command
