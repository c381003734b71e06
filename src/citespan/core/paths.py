"""Paths as text: their normal form, and the parts that a citation may follow from. No file system is asked."""

from __future__ import annotations

import re
from typing import Final

MAX_PATH: Final = 1024
FILE_NAME: Final = re.compile(r"\.?[\w@+-][\w@+.-]*\.[A-Za-z]\w{0,7}|\.[A-Za-z][\w.-]*", re.ASCII)


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
    if " " in cut[0] and text[0] not in "/.~":
        return None
    return last


def dirname(text: str) -> str | None:
    """The directory that holds the path, in normal form; None where the text is no path, or has no directory.

    Example:
        >>> dirname("./src/lib/app.py"), dirname("/etc"), dirname("app.py")
        ('src/lib', '/', None)
    """
    plain = normal_path(text) if basename(text) is not None else None
    if plain is None or "/" not in plain or plain == "/":
        return None
    return plain.rpartition("/")[0] or "/"


def stem(text: str) -> str | None:
    """The file name of a path without its last ending; None where it has none.

    Example:
        >>> stem("src/app.py"), stem("notes.tar.gz"), stem(".env"), stem("see app.py")
        ('app', 'notes.tar', None, None)
    """
    last = basename(text) if "/" in text else text
    if last is None or len(last) > MAX_PATH or not FILE_NAME.fullmatch(last):
        return None
    return last.rpartition(".")[0] or None
