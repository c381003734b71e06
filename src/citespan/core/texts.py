"""What the declared text projections read out of a text (design section 2). Each works in time linear in its text.

They are strict: what does not stand there as a whole line, value, cell, path, hash or URL is no piece.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from citespan.core.paths import FILE_NAME, MAX_PATH
from citespan.core.shapes import is_document

MIN_SHA: Final = 7
#: pieces that are read out of one leaf, by each projection; what comes after is not citable
MAX_PIECES: Final = 200_000
MAX_URL: Final = 2048


def lines(text: str) -> Iterable[str]:
    """Each line of a text, outer blanks removed; blank lines left out."""
    return (stripped for line in text.splitlines() if (stripped := line.strip()))


#: up to four words of which the first starts with a letter, then `: ` or `=`; a list mark may come first
_KEY_VALUE = re.compile(
    r"\s*(?:[-*]\s+)?[^\W\d][\w./()#-]{0,47}(?: [\w./()#-]{1,48}){0,3}(?::(?=\s)| ?=(?![=>~]))\s*(?P<value>\S.*)",
    re.DOTALL,
)


def key_value(text: str) -> Iterator[str]:
    """The value of each `key: value` or `key=value` line; quotes around the whole value are no part of it.

    Example:
        >>> list(key_value('total: 1100\\nname = "Ada Byron"\\nsee http://h.example/a?b=c'))
        ['1100', 'Ada Byron']
    """
    for line in text.splitlines():
        found = _KEY_VALUE.match(line)
        if found is not None:
            value = found["value"].rstrip()
            quote = value[0]
            if quote in "\"'" and len(value) > 2 and value[-1] == quote and quote not in value[1:-1]:
                value = value[1:-1].strip()
            if value:
                yield value


def json_lines(text: str) -> Iterable[str]:
    """Each line that may be a JSON object or array; the index reads them and admits their leaves."""
    return (stripped for line in text.splitlines() if is_document(stripped := line.strip()))


_PATH_TOKEN = re.compile(r"[^\s\"'`<>|;,()\[\]{}:=]+")


def paths(text: str) -> Iterable[str]:
    """Each token that reads as a path: it has a slash, or it is a file name with an ending, or a dot file."""
    for found in _PATH_TOKEN.finditer(text):
        token = found.group().rstrip(".!?")
        if "@" in token and "/" not in token:
            continue  # a mailbox
        if len(token) <= MAX_PATH and token.strip("/.") and ("/" in token or FILE_NAME.fullmatch(token)):
            yield token


_SHA = re.compile(
    r"(?<![0-9A-Za-z_])(?:[0-9a-f]{40}|[0-9a-f]{64}|(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{7,39})(?![0-9A-Za-z_])"
)


def git_sha(text: str) -> Iterable[str]:
    """Each commit hash, full or as abbreviated in the text; `abbreviates` then admits shorter forms of a full one."""
    return (found.group() for found in _SHA.finditer(text))


def abbreviates(short: str, full: str) -> bool:
    """Whether `short` is git's abbreviation of a full hash: a prefix of at least 7 characters."""
    return MIN_SHA <= len(short) < len(full) and len(full) in {40, 64} and full.startswith(short)


_SCHEME_CHARS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+.-")
_URL_REST = re.compile(r"[^\s\"'`<>|\\^{}]+")
_MAX_SCHEME: Final = 32
_PAIRS: Final = {")": "(", "]": "["}


def url(text: str) -> Iterator[str]:
    """Each whole URL with a scheme, without the punctuation of the sentence around it.

    Example:
        >>> list(url("See [x](https://h.example/a_(b)), or ftp://h.example."))
        ['https://h.example/a_(b)', 'ftp://h.example']
    """
    end = 0
    at = text.find("://")
    while at >= 0:
        start = at
        while start > max(end, at - _MAX_SCHEME) and text[start - 1] in _SCHEME_CHARS:
            start -= 1
        named = text[start:at].lstrip("0123456789+.-")
        rest = _URL_REST.match(text, at + 3)
        end = at + 3 if rest is None else rest.end()
        start = at - len(named)
        glued = start > 0 and (text[start - 1].isalnum() or text[start - 1] == "_")
        if named and not glued and at + 3 < end <= start + MAX_URL:
            whole = _unpunctuated(text[start:end])
            if len(whole) > len(named) + 3:
                yield whole
        at = text.find("://", end)


def _unpunctuated(found: str) -> str:
    """Take away what belongs to the sentence: closing marks, and brackets that were opened before."""
    while found:
        last = found[-1]
        if last in ".,;:!?*_~" or (last in _PAIRS and found.count(last) > found.count(_PAIRS[last])):
            found = found[:-1]
        else:
            break
    return found


_TOKEN = re.compile(r"[^\s\"'`<>()\[\]{},;]+")


def tokens(text: str) -> Iterable[str]:
    """Each run of non-blank characters without outer punctuation; weak by definition."""
    return (token for found in _TOKEN.finditer(text) if (token := found.group().strip(".:!?")))
