"""The file of recorded approvals, schema `citespan.approval/1`, see docs/python.md (ADR 0017).

One JSON object per line, read strictly; it holds no value. What an agent may be able to write is not read at all.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from citespan.core.opaque import is_scalar
from citespan.errors import CitespanError, Problem

SCHEMA: Final = "citespan.approval/1"
MAX_BYTES: Final = 4 * 1024 * 1024
#: of a name, a reason, a person
MAX_CHARS: Final = 1000
MAX_PROBLEMS: Final = 100
DIGEST_BYTES: Final = 16
_COMMON: Final = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)  # a pipe must not make us wait
_READ: Final = os.O_RDONLY | _COMMON
_APPEND: Final = os.O_WRONLY | os.O_APPEND | _COMMON


class ApprovalsError(CitespanError):
    """A file of approvals that cannot be used. All of its problems at once, each with its line (exit 65)."""

    def __init__(self, source: str, problems: tuple[Problem, ...]) -> None:
        self.source = source
        self.problems = problems
        super().__init__("\n".join(problem.render(source) for problem in problems))

    def __reduce__(self) -> tuple[type[ApprovalsError], tuple[str, tuple[Problem, ...]]]:
        return type(self), (self.source, self.problems)


class Approval(NamedTuple):
    """One line of the file.

    Args:
        tool: `server/tool` for one of an MCP server's; argument: dotted leaf path.
        digest: 32 hex characters, see `citespan.stores.approvals.digest_of`; digest_key: names the key of it.
        reason, approved_by, time: for people; nothing is decided by them.
    """

    tool: str
    argument: str
    digest: str
    digest_key: str
    reason: str | None = None
    approved_by: str | None = None
    time: str | None = None


class Content(NamedTuple):
    """What was read of a file, and what tells that file from every other one, whatever its name is."""

    data: bytes
    file: tuple[int, int]


def read(path: Path) -> bytes:
    """As `load`, the bytes alone."""
    return load(path).data


def load(path: Path) -> Content:
    """A file that nobody but its owner and root can write.

    Raises:
        ApprovalsError: it is not that, it is too large, or it cannot be read.
    """
    source = str(path)
    try:
        handle = os.open(path, _READ)
        try:
            state = os.fstat(handle)
            check(state, source)
            with os.fdopen(handle, "rb", closefd=False) as file:
                data = file.read(MAX_BYTES + 1)
        finally:
            os.close(handle)
    except (OSError, ValueError) as error:
        raise _failure(source, f"cannot be read ({getattr(error, 'strerror', None) or error})") from error
    if len(data) > MAX_BYTES:
        raise _failure(source, f"is larger than {MAX_BYTES} bytes")
    return Content(data, (state.st_dev, state.st_ino))


def check(state: os.stat_result, source: str) -> None:
    """Refuse a file that others may write to: an agent may be one of them, and could approve its own values.

    That is why a policy is not searched for in the working directory either (design section 3).

    Raises:
        ApprovalsError: it is no regular file, is another user's than this one's or root's, or others can write it.
    """
    if not stat.S_ISREG(state.st_mode):
        raise _failure(source, "is no regular file")
    if not hasattr(os, "getuid"):
        return
    if state.st_uid not in {os.getuid(), 0}:
        raise _failure(source, "belongs to another user, who could approve anything: own it, or let root own it")
    if stat.S_IMODE(state.st_mode) & 0o022:
        command = f"chmod go-w {shlex.quote(source)}"
        raise _failure(source, f"can be written by others, who could approve anything: {command}")


def append(path: Path, approval: Approval) -> None:
    """Append one line with one `write`; the file is made where there is none, mode 0600.

    Raises:
        ApprovalsError: the file is one that could not be read, or it is full.
    """
    fields = {name: text for name, text in approval._asdict().items() if text is not None}
    line = orjson.dumps({"schema": SCHEMA, **fields}, option=orjson.OPT_APPEND_NEWLINE)
    found = _existing(path)
    there = b"" if found is None else found
    parse(there, str(path), approval.digest_key)
    if there and not there.endswith(b"\n"):
        line = b"\n" + line
    if len(there) + len(line) > MAX_BYTES:
        raise _failure(str(path), f"is full, at {MAX_BYTES} bytes: take out lines that are not needed")
    try:
        # a new file is made where it is asked for, and never where a link points that leads nowhere
        handle = os.open(path, _APPEND | (os.O_CREAT | os.O_EXCL if found is None else 0), 0o600)
        try:
            check(os.fstat(handle), str(path))
            if os.write(handle, line) != len(line):
                raise OSError("only a part of the line; take that part out")
            os.fsync(handle)
        finally:
            os.close(handle)
    except FileExistsError as error:
        if not path.exists():
            raise _failure(str(path), "cannot be written (it is a link that leads nowhere)") from error
        append(path, approval)  # somebody else has just made it
    except OSError as error:
        raise _failure(str(path), f"cannot be written ({error.strerror or error})") from error


def _existing(path: Path) -> bytes | None:
    """The bytes of the file, None where there is none."""
    try:
        os.stat(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        pass  # `read` says what is wrong
    return read(path)


def parse(data: bytes, source: str, digest_key: str) -> tuple[Approval, ...]:
    """The approvals of a file, in order; blank lines are skipped.

    Args:
        source: what problems call the file. digest_key: names the key of this process.

    Raises:
        ApprovalsError: with every problem, at most `MAX_PROBLEMS`, each with its line.
    """
    found: list[Approval] = []
    problems: list[Problem] = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        read, wrong = _line(line, number, digest_key)
        if read is not None:
            found.append(read)
        problems.extend(wrong)
        if len(problems) >= MAX_PROBLEMS:
            break
    if problems:
        raise ApprovalsError(source, tuple(problems[:MAX_PROBLEMS]))
    return tuple(found)


def _line(line: bytes, number: int, digest_key: str) -> tuple[Approval | None, list[Problem]]:
    try:
        content = json.loads(line.decode(), object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        reason = str(error) if type(error) is _Twice else "is no JSON object"
        return None, [Problem("", reason, number)]
    if not isinstance(content, dict):
        return None, [Problem("", "is no JSON object", number)]
    problems = [Problem(_shown(name), "unknown key", number) for name in content if name not in _FIELDS]
    for name, (required, wanted, right) in _FIELDS.items():
        if (name in content or required) and not right(content.get(name)):
            problems.append(
                Problem(name, f"must be {wanted}" + ("" if name in content else ", and is missing"), number)
            )
    if not problems and content["digest_key"] != digest_key:
        message = (
            f"was recorded with the digest key {content['digest_key']}, and this process has {digest_key}: "
            "set the same CITESPAN_DIGEST_KEY, or record it anew"
        )
        problems.append(Problem("digest_key", message, number))
    if problems:
        return None, problems
    del content["schema"]
    return Approval(**content), []


class _Twice(ValueError):
    """A key stands twice in one object: readers differ in which one they take."""


def _once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise _Twice(f"has the key {_shown(name)} twice")
        found[name] = value
    return found


def _shown(name: str) -> str:
    return ascii(name[:40])[1:-1]


def is_name(value: Any) -> bool:
    """Whether a value is a text of 1 to `MAX_CHARS` characters."""
    return type(value) is str and 0 < len(value) <= MAX_CHARS and is_scalar(value)


def _hexadecimal(digits: int) -> Callable[[Any], bool]:
    pattern = re.compile(f"[0-9a-f]{{{digits}}}")
    return lambda value: type(value) is str and pattern.fullmatch(value) is not None


_TEXT: Final = f"a text of 1 to {MAX_CHARS} characters"
#: key -> whether it must be there, what it must be, and the test of that
_FIELDS: Final[dict[str, tuple[bool, str, Callable[[Any], bool]]]] = {
    "schema": (True, f'"{SCHEMA}"', lambda value: value == SCHEMA),
    "tool": (True, _TEXT, is_name),
    "argument": (True, _TEXT, is_name),
    "digest": (True, f"{2 * DIGEST_BYTES} hex digits in lower case", _hexadecimal(2 * DIGEST_BYTES)),
    "digest_key": (True, "8 hex digits in lower case", _hexadecimal(8)),
    "reason": (False, _TEXT, is_name),
    "approved_by": (False, _TEXT, is_name),
    "time": (False, _TEXT, is_name),
}


def _failure(source: str, message: str) -> ApprovalsError:
    return ApprovalsError(source, (Problem("", message),))
