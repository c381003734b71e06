"""Which commands start a Python, and with which options of it: what can be known without running them."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Sequence
from typing import Final, NamedTuple

_PYTHON: Final = re.compile(r"(?:python|pypy)[\d.]*w?(?:\.exe)?", re.IGNORECASE)
_ENV: Final = "env"
#: how installers write a shebang that would be too long: a shell that starts the Python
_LONG: Final = re.compile(rb"#!/bin/sh\n'''exec' (\"[^\"\n]+\"|\S+)")
_MAX_SHEBANG: Final = 4096
#: options of Python that take a value, in the same argument or in the next one
_WITH_VALUE: Final = "WX"
_LONG_WITH_VALUE: Final = "--check-hash-based-pycs"


class Interpreter(NamedTuple):
    """A Python that a command starts, with the options that it gets: `python -I`."""

    python: str
    flags: tuple[str, ...] = ()


def interpreter(command: Sequence[str]) -> Interpreter | None:
    """The Python that a command starts directly: by its name, or as the interpreter of a script. Else None.

    Example:
        >>> interpreter(["/opt/bin/python3.12", "-Im", "agent"])
        Interpreter(python='/opt/bin/python3.12', flags=('-I',))
        >>> interpreter(["make", "agent"])
    """
    name, *arguments = command
    if is_python(name):
        return Interpreter(name, flags_of(arguments))
    path = shutil.which(name)
    found = [] if path is None else _shebang(path)
    if found and os.path.basename(found[0]) == _ENV:
        found = [word for word in found[1:] if word not in {"-S", "--split-string"} and "=" not in word]
    return Interpreter(found[0], flags_of(found[1:])) if found and is_python(found[0]) else None


def is_python(name: str) -> bool:
    """Whether a command has the name of a Python."""
    return _PYTHON.fullmatch(os.path.basename(name)) is not None


def flags_of(arguments: Sequence[str]) -> tuple[str, ...]:
    """Python's own options at the start of its arguments, without the program that they end with.

    Example:
        >>> flags_of(["-I", "-X", "utf8", "-Wdefault", "-uc", "print()", "-S"])
        ('-I', '-X', 'utf8', '-Wdefault', '-u')
    """
    flags: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if argument in {"-", "--"} or not argument.startswith("-"):
            break
        if argument == _LONG_WITH_VALUE:
            flags += (argument, next(rest, ""))
        elif argument.startswith("--"):
            flags.append(argument)
        else:
            letters, ending = _until_value(argument)
            if ending in {"c", "m"}:
                flags += [letters] * (len(letters) > 1)
                break
            flags.append(argument)
            if ending and argument == letters + ending:
                flags.append(next(rest, ""))
    return tuple(flags)


def without_site(command: Sequence[str]) -> bool:
    """Whether a command starts a Python that leaves out `site`, and with it everything that could guard it.

    Example:
        >>> without_site(["python", "-uS", "agent.py"]), without_site(["python", "-W", "S", "agent.py"])
        (True, False)
    """
    found = interpreter(command)
    if found is None:
        return False
    previous = ""
    for flag in found.flags:
        if previous[-1:] not in tuple(_WITH_VALUE) and not flag.startswith("--") and "S" in _until_value(flag)[0]:
            return True
        previous = "" if previous[-1:] in tuple(_WITH_VALUE) else flag
    return False


def _until_value(argument: str) -> tuple[str, str]:
    """The letters of one argument up to the one that takes a value or starts the program, and that one."""
    for position, letter in enumerate(argument[1:], 1):
        if letter in f"cm{_WITH_VALUE}":
            return argument[:position], letter
    return argument, ""


def _shebang(path: str) -> list[str]:
    try:
        with open(path, "rb") as file:
            start = file.read(_MAX_SHEBANG)
    except OSError:
        return []
    long = _LONG.match(start)
    if long is not None:
        return [os.fsdecode(long[1]).strip('"')]
    if not start.startswith(b"#!"):
        return []
    try:
        return shlex.split(os.fsdecode(start[2:].partition(b"\n")[0]))
    except ValueError:
        return []
