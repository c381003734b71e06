"""Which commands start a Python, and with which options of it: what can be known without running them."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Sequence
from typing import Final, NamedTuple

_PYTHON: Final = re.compile(r"(?:python|pypy|graalpy)[\d.]*(?:[tdw]*|-dbg|-debug)(?:\.exe)?", re.IGNORECASE)
_ENV: Final = "env"
#: options of `env`, by their last letter or in full: that clear the environment, that take a value, that split a text
_ENV_CLEARS: Final = frozenset({"i", "--ignore-environment"})
_ENV_VALUED: Final = frozenset({"u", "C", "a", "P", "--unset", "--chdir", "--argv0"})
_ENV_SPLITS: Final = frozenset({"S", "--split-string"})
#: how installers write a shebang that would be too long: a shell that starts the Python
_LONG: Final = re.compile(rb"#!/bin/sh\n'''exec' (\"[^\"\n]+\"|\S+)")
_MAX_SHEBANG: Final = 4096
#: options of Python that take a value, in the same argument or in the next one
_WITH_VALUE: Final = "WX"
_LONG_WITH_VALUE: Final = "--check-hash-based-pycs"


class Interpreter(NamedTuple):
    """A Python that a command starts, with the options that it gets: `python -I`.

    Args:
        python: its name or path. flags: its own options. cleared: `env` takes the environment away from it.
        before: the `env` before it, with what that changes: which Python it is may depend on it.
    """

    python: str
    flags: tuple[str, ...] = ()
    cleared: bool = False
    before: tuple[str, ...] = ()


def interpreter(command: Sequence[str]) -> Interpreter | None:
    """The Python that a command starts directly: by its name, through `env`, or as a script's interpreter. Else None.

    Example:
        >>> interpreter(["/opt/bin/python3.12", "-Im", "agent"])
        Interpreter(python='/opt/bin/python3.12', flags=('-I',), cleared=False, before=())
        >>> interpreter(["env", "-i", "python", "agent.py"])
        Interpreter(python='python', flags=(), cleared=True, before=())
        >>> interpreter(["make", "agent"])
    """
    words = list(command)
    if not is_python(words[0]) and os.path.basename(words[0]) != _ENV:
        path = shutil.which(words[0])
        words = [] if path is None else _shebang(path)
    found = _Env((), words, False)
    if words and os.path.basename(words[0]) == _ENV:
        try:
            found = _after_env(words)
        except ValueError:  # quotes that do not end: `env` says so itself
            return None
    if not found.rest or not is_python(found.rest[0]):
        return None
    return Interpreter(found.rest[0], flags_of(found.rest[1:]), found.cleared, found.before)


def is_python(name: str) -> bool:
    """Whether a command has the name of a Python, or is a link to a file that has."""
    if _PYTHON.fullmatch(os.path.basename(name)) is not None:
        return True
    path = shutil.which(name)
    return path is not None and _PYTHON.fullmatch(os.path.basename(os.path.realpath(path))) is not None


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


class _Env(NamedTuple):
    """A command behind `env`: what that changes, the command, and whether its environment is cleared."""

    before: tuple[str, ...]
    rest: Sequence[str]
    cleared: bool


def _after_env(words: Sequence[str]) -> _Env:
    env, *rest = words
    changes: list[str] = []
    cleared = False
    while rest and (rest[0].startswith("-") or "=" in rest[0]):
        word = rest.pop(0)
        if not word.startswith("-"):
            changes.append(word)
        for option, value in _options_of_env(word):
            cleared = cleared or option in _ENV_CLEARS
            if option in _ENV_VALUED | _ENV_SPLITS:
                given = value or (rest.pop(0) if rest else "")
                if option in _ENV_SPLITS:
                    rest[:0] = shlex.split(given)
                else:
                    changes += (f"{option}={given}",) if option.startswith("--") else (f"-{option}", given)
    return _Env((env, *changes) if changes else (), rest, cleared)


def _options_of_env(word: str) -> list[tuple[str, str]]:
    """The options in one word, each with what the word says of its value: `-iSpython` is `i`, and `S` with a value."""
    if word.startswith("--"):
        name, _, value = word.partition("=")
        return [(name, value)]
    found: list[tuple[str, str]] = [("i", "")] if word == "-" else []
    for position, letter in enumerate(word[1:] if word.startswith("-") else "", 2):
        if letter in _ENV_VALUED | _ENV_SPLITS:
            return [*found, (letter, word[position:])]
        found.append((letter, ""))
    return found


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
