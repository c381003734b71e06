"""On which line each key of a TOML document stands.

`tomllib` parses but keeps no positions, and the TOML libraries that keep them are writers' tools: tomlkit
does not expose them, and a native parser would be a further binary dependency for one integer per key. This
scanner is given only text that `tomllib` has accepted. It therefore decides nothing, recognises the few
constructs in which a key may hide (strings, arrays, inline tables, comments), and leaves the decoding of
quoted keys to `tomllib`.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

#: keys and array indexes from the root: `("tools", "list_*", "text", 0)`
KeyPath: TypeAlias = tuple[str | int, ...]

MAX_PARTS: Final = 256

_BLANK = re.compile(r"(?:[ \t\r\n]++|#[^\n]*+)*+")
_STRING = re.compile(
    r'''
      """ (?: [^"\\]++ | \\. | "{1,2}(?!") )*+ "{3,5}
    | \'\'\' (?: [^']++ | '{1,2}(?!') )*+ '{3,5}
    | " (?: [^"\\]++ | \\. )*+ "
    | ' [^']*+ '
    ''',
    re.VERBOSE | re.DOTALL,
)
_SCALAR = re.compile(r"[^,\]}#\r\n]++")
_PART = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]++|\\.)*+"|'[^'\n]*+')"""
_KEY = re.compile(rf"{_PART}(?:[ \t]*+\.[ \t]*+{_PART})*+")
# the quoted forms are bounded here: an unclosed quote must not be followed to its line's end again and again
_PART_AND_DOT = re.compile(
    r"""(?:(?<![A-Za-z0-9_-])[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.){0,128}+"|'[^'\n]{0,128}+')[ \t]*+\.[ \t]*+"""
)


def key_lines(text: str) -> dict[KeyPath, int]:
    """Map every key, table and array item of a valid document to its 1-based line.

    A table stands on the line of its own header; one without, on the line of the first key that implies it.

    Args:
        text: a document that `tomllib.loads` accepts, with `\\n` or `\\r\\n` as line break.

    Raises:
        RecursionError: values are nested about as deep as `tomllib` itself can follow.

    Example:
        >>> key_lines('version = 1\\n[tools."a.b"]\\ntext = ["lines"]\\n')[("tools", "a.b", "text", 0)]
        3
    """
    return _Scanner(text).document()


def long_key(text: str) -> int | None:
    """The line of the first key of more than `MAX_PARTS` dotted parts, None without one.

    `tomllib` takes time quadratic in the parts of one key: a file of one megabyte could keep it busy for an
    hour. Any dotted run counts, in a string or comment too, since this is asked before anything is parsed.
    """
    parts, end = 0, -1
    for found in _PART_AND_DOT.finditer(text):
        parts = parts + 1 if found.start() == end else 1
        end = found.end()
        if parts >= MAX_PARTS:
            return text.count("\n", 0, found.start()) + 1
    return None


def line_of(lines: Mapping[KeyPath, int], path: KeyPath) -> int:
    """The line of a key, or of the nearest table around it that is written out; 1 for the document itself."""
    for length in range(len(path), 0, -1):
        if (line := lines.get(path[:length])) is not None:
            return line
    return 1


class _Scanner:
    """One pass over one document; `at` is the index of the next character."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[KeyPath, int] = {}
        self.breaks = [found.start() for found in re.finditer("\n", text)]
        self.tables_in_array: dict[KeyPath, int] = {}

    def document(self) -> dict[KeyPath, int]:
        table: KeyPath = ()
        while self.blank():
            if self.text[self.at] == "[":
                table = self.header()
            else:
                self.pair(table)
        return self.lines

    def header(self) -> KeyPath:
        """`[a.b]` or `[[a.b]]`; a step that names an array of tables means that array's last table."""
        line = self.line()
        is_array = self.text.startswith("[[", self.at)
        self.at += 2 if is_array else 1
        self.blank()
        parts = self.key()
        self.blank()
        self.at += 2 if is_array else 1
        path: KeyPath = ()
        for position, part in enumerate(parts, start=1):
            path = (*path, part)
            if is_array and position == len(parts):
                index = self.tables_in_array.get(path, 0)
                self.tables_in_array[path] = index + 1
                self.lines.setdefault(path, line)
                path = (*path, index)
            elif path in self.tables_in_array:
                path = (*path, self.tables_in_array[path] - 1)
            self.lines.setdefault(path, line)
        self.lines[path] = line
        return path

    def pair(self, table: KeyPath) -> None:
        """`key = value`, the key perhaps dotted."""
        line = self.line()
        path = table
        for part in self.key():
            path = (*path, part)
            self.lines.setdefault(path, line)
        self.blank()
        self.at += 1  # the equals sign
        self.value(path)

    def value(self, path: KeyPath) -> None:
        self.blank()
        first = self.text[self.at]
        if first == "[":
            self.array(path)
        elif first == "{":
            self.inline_table(path)
        elif found := (_STRING if first in "\"'" else _SCALAR).match(self.text, self.at):
            self.at = found.end()

    def array(self, path: KeyPath) -> None:
        self.at += 1
        index = 0
        while self.blank() and self.text[self.at] != "]":
            self.lines[(*path, index)] = self.line()
            self.value((*path, index))
            index += 1
            self.comma()
        self.at += 1

    def inline_table(self, path: KeyPath) -> None:
        self.at += 1
        while self.blank() and self.text[self.at] != "}":
            self.pair(path)
            self.comma()
        self.at += 1

    def key(self) -> tuple[str, ...]:
        found = _KEY.match(self.text, self.at)
        if found is None:
            raise ValueError(f"no key at line {self.line()}: the document is not valid TOML")
        self.at = found.end()
        raw = found.group()
        if '"' not in raw and "'" not in raw:
            return tuple(part.strip(" \t") for part in raw.split("."))
        return _decoded(raw)

    def blank(self) -> bool:
        """Skip blanks, line breaks and comments; False at the end of the text."""
        found = _BLANK.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.at < len(self.text)

    def comma(self) -> None:
        if self.blank() and self.text[self.at] == ",":
            self.at += 1

    def line(self) -> int:
        return bisect_left(self.breaks, self.at) + 1


def _decoded(raw: str) -> tuple[str, ...]:
    """The parts of a key with quotes, read by `tomllib` so that every escape means what it means there."""
    parts: list[str] = []
    inner: Any = tomllib.loads(f"{raw} = 0")
    while isinstance(inner, dict):
        part, inner = next(iter(inner.items()))
        parts.append(part)
    return tuple(parts)
