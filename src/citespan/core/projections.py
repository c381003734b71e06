"""Projections: the named, strict ways in which a value may follow from an observed leaf (design section 2).

`PROJECTIONS` names them all; the policy reader, the documentation and the tests enumerate this table. Each works in
time linear in its text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final, Literal, NamedTuple, TypeAlias

Stage: TypeAlias = Literal["default", "text", "argument"]

MAX_PATH: Final = 1024


class Projection(NamedTuple):
    """One row of the table.

    Args:
        stage: "default" is always admitted, "text" where a tool's output declares it, "argument" where one does.
        brief: one sentence for the documentation.
        pieces: for a text projection, what it reads out of a text; None elsewhere.
        ready: whether this version implements it; the policy reader refuses the others with a clear error.
    """

    name: str
    stage: Stage
    brief: str
    pieces: Callable[[str], Iterable[str]] | None = None
    ready: bool = True


def normal_path(text: str) -> str | None:
    """A posix path without `./`, doubled and trailing slashes; None for what is no plain path.

    A path with `..` has no normal form here: what it names depends on links in the file system.

    Example:
        >>> normal_path("./app.py"), normal_path("a/../b"), normal_path("https://x/y")
        ('app.py', None, None)
    """
    if not text or len(text) > MAX_PATH or "://" in text or "\n" in text or "\r" in text or "\0" in text:
        return None
    steps = text.split("/")
    if ".." in steps:
        return None
    kept = [step for step in steps if step and step != "."]
    if not kept:
        return "/" if text[0] == "/" else None
    joined = "/".join(kept)
    return f"/{joined}" if text[0] == "/" else joined


def may_normalise(text: str) -> bool:
    """A quick test: whether a path may differ from its normal form."""
    return "//" in text or "/." in text or text[-1] == "/" or text[:2] == "./"


_LAST = re.compile(r"[^\s/]+|[^\s/][^/]*\.\w{1,8}")
_NOT_A_PATH = re.compile(r"[\d/.:-]+|[a-z]+/[a-z0-9.+-]+", re.ASCII)


def basename(text: str) -> str | None:
    """The last part of a whole leaf that is a path; None where it is none (a date, a URL, a media type, a sentence).

    Example:
        >>> basename("src/app.py"), basename("18/05/2024"), basename("app.py")
        ('app.py', None, None)
    """
    if len(text) > MAX_PATH or "://" in text or "\n" in text:
        return None
    cut = text.rstrip("/").rpartition("/")
    last = cut[2]
    if not cut[1] or last in {".", "..", ""} or not _LAST.fullmatch(last):
        return None
    if _NOT_A_PATH.fullmatch(text) and "." not in last:
        return None
    if " " in cut[0] and text[0] not in "/.~" and "." not in last:
        return None
    return last


def lines(text: str) -> Iterable[str]:
    """Each line of a text, outer blanks removed; blank lines left out."""
    return (stripped for line in text.splitlines() if (stripped := line.strip()))


_PATH_TOKEN = re.compile(r"[^\s\"'`<>|;,()\[\]{}:=]+")
_FILE_NAME = re.compile(r"\.?[\w@+-][\w@+.-]*\.[A-Za-z]\w{0,7}|\.[A-Za-z][\w.-]*", re.ASCII)


def paths(text: str) -> Iterable[str]:
    """Each token that reads as a path: it has a slash, or it is a file name with an ending, or a dot file."""
    for found in _PATH_TOKEN.finditer(text):
        token = found.group().rstrip(".!?")
        if len(token) <= MAX_PATH and token.strip("/.") and ("/" in token or _FILE_NAME.fullmatch(token)):
            yield token


_SHA = re.compile(
    r"(?<![0-9A-Za-z_])(?:[0-9a-f]{40}|[0-9a-f]{64}|(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{7,39})(?![0-9A-Za-z_])"
)
MIN_SHA: Final = 7


def git_sha(text: str) -> Iterable[str]:
    """Each commit hash, full or as abbreviated in the text; `abbreviates` then admits shorter forms of a full one."""
    return (found.group() for found in _SHA.finditer(text))


def abbreviates(short: str, full: str) -> bool:
    """Whether `short` is git's abbreviation of a full hash: a prefix of at least 7 characters."""
    return MIN_SHA <= len(short) < len(full) and len(full) in {40, 64} and full.startswith(short)


_TOKEN = re.compile(r"[^\s\"'`<>()\[\]{},;]+")


def tokens(text: str) -> Iterable[str]:
    """Each run of non-blank characters without outer punctuation; weak by definition."""
    return (token for found in _TOKEN.finditer(text) if (token := found.group().strip(".:!?")))


_ROWS: Final = (
    Projection("exact", "default", "The leaf itself."),
    Projection("key", "default", "A key of an observed object."),
    Projection("json", "default", "The whole leaf is a JSON document: one of its leaves."),
    Projection("posix_path", "default", "The whole leaf as a path, normalised: `./app.py` is `app.py`."),
    Projection("basename", "default", "The last part of a whole leaf that is a path."),
    Projection("lines", "text", "A whole line, outer blanks removed.", lines),
    Projection("paths", "text", "A token that reads as a path or file name.", paths),
    Projection("git_sha", "text", "A commit hash, full or abbreviated to at least 7 characters.", git_sha),
    Projection("tokens", "text", "Any token; always weak.", tokens),
    Projection("key_value", "text", "The value of a `key: value` or `key=value` line.", ready=False),
    Projection("json_lines", "text", "A leaf of a line that is a JSON document.", ready=False),
    Projection("table", "text", "A cell of an aligned or delimited table.", ready=False),
    Projection("url", "text", "A whole URL.", ready=False),
    Projection("regex", "text", "A named, linear-time expression of the policy.", ready=False),
    Projection("dirname", "argument", "The directory of a cited path.", ready=False),
    Projection("stem", "argument", "A file name without its ending.", ready=False),
    Projection("casefold", "argument", "The same text in another case.", ready=False),
    Projection("number", "argument", "A number as text, and a numeric text as number.", ready=False),
    Projection("date_part", "argument", "The date, or the time, of a cited date-time.", ready=False),
    Projection("join", "argument", "A path joined of two cited parts.", ready=False),
)
PROJECTIONS: Final[dict[str, Projection]] = {row.name: row for row in _ROWS}
