"""Which commands start a Python, and what options it gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from citespan.launch.commands import Interpreter, flags_of, interpreter, is_python, without_site


@pytest.mark.parametrize(
    "words, flags",
    [
        ("agent.py -S", ""),
        ("-I agent.py", "-I"),
        ("-Im agent -S", "-I"),
        ("-m agent -S", ""),
        ("-c print() -S", ""),
        ("-uBc print()", "-uB"),
        ("-X utf8 -W ignore -E agent.py", "-X utf8 -W ignore -E"),
        ("-Xutf8 -bW ignore agent.py", "-Xutf8 -bW ignore"),
        ("--check-hash-based-pycs always -s agent.py", "--check-hash-based-pycs always -s"),
        ("--version", "--version"),
        ("- -S", ""),
        ("", ""),
    ],
)
def test_the_options_of_python_end_where_the_program_starts(words: str, flags: str) -> None:
    assert flags_of(words.split()) == tuple(flags.split())


@pytest.mark.parametrize(
    "words, found",
    [
        ("python -S agent.py", True),
        ("python3.12 -uS agent.py", True),
        ("/opt/venv/bin/python -I -S -m agent", True),
        ("python -W S agent.py", False),
        ("python -XS agent.py", False),
        ("python -Im agent -S", False),
        ("python agent.py -S", False),
        ("sort -S 1M", False),
    ],
)
def test_a_python_without_site_is_recognised(words: str, found: bool) -> None:
    assert without_site(words.split()) is found


@pytest.mark.parametrize("name", ["python", "python3", "python3.13", "/usr/bin/python3.11", "pypy3", "pypy3.11"])
def test_a_python_is_known_by_its_name(name: str) -> None:
    assert is_python(name)


@pytest.mark.parametrize("name", ["pythonic", "python-config", "ipython", "sh", "bpython", "python3.py"])
def test_other_names_are_no_pythons(name: str) -> None:
    assert not is_python(name)


@pytest.mark.parametrize(
    "first, found",
    [
        ("#!/opt/venv/bin/python", Interpreter("/opt/venv/bin/python")),
        ("#!/usr/bin/python3 -I", Interpreter("/usr/bin/python3", ("-I",))),
        ("#! /usr/bin/env python3", Interpreter("python3")),
        ("#!/usr/bin/env -S python3 -E -u", Interpreter("python3", ("-E", "-u"))),
        ("#!/usr/bin/env -S MODE=1 python3", Interpreter("python3", before=("/usr/bin/env", "MODE=1"))),
        ("#!/bin/sh\n'''exec' /a/very/long/path/bin/python \"$0\" \"$@\"", Interpreter("/a/very/long/path/bin/python")),
        ('#!/bin/sh\n\'\'\'exec\' "/a path/bin/python" "$0" "$@"', Interpreter("/a path/bin/python")),
        ("#!/bin/sh\necho python", None),
        ("#!/usr/bin/env 'python", None),
        ("#!", None),
        ("\x7fELF", None),
    ],
)
def test_a_script_is_known_by_its_first_line(tmp_path: Path, first: str, found: Interpreter | None) -> None:
    script = tmp_path / "script"
    script.write_text(f"{first}\n")
    script.chmod(0o755)
    assert interpreter([str(script), "-S"]) == found


def test_a_command_that_is_not_there_is_no_python(tmp_path: Path) -> None:
    assert interpreter([str(tmp_path / "absent")]) is None
