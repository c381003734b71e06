"""Every key of a policy file has a line, however the file writes it."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citespan.policy_file.lines import MAX_PARTS, KeyPath, key_lines, line_of, long_key


def paths_of(value: Any, path: KeyPath = ()) -> set[KeyPath]:
    """Every key and array item of a parsed document."""
    members: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        members = list(value.items())
    elif isinstance(value, list):
        members = list(enumerate(value))
    found = {path} if path else set()
    for step, member in members:
        found |= paths_of(member, (*path, step))
    return found


KEYS = {
    "a bare key": ("first = 1\nkey = 2\n", ("key",), 2),
    "a dotted key": ("first = 1\na . b.c = 2\n", ("a", "b", "c"), 2),
    "a quoted key with a dot and an equals sign": ('first = 1\n"a.b = 3" = 2\n', ("a.b = 3",), 2),
    "a quoted key with escapes": ('first = 1\n"a\\u0062\\"c" = 2\n', ('ab"c',), 2),
    "a literal key with a backslash": ("first = 1\n'a\\b' = 2\n", ("a\\b",), 2),
    "a quoted header": ('first = 1\n[tools . "list_*]"] # [x]\nkey = 2\n', ("tools", "list_*]", "key"), 3),
    "a table that only a deeper header opens": ("first = 1\n[a.b.c]\n", ("a", "b"), 2),
    "a table whose own header comes later": ("[a.b]\n[a]\nkey = 1\n", ("a",), 2),
    "a key after a multi-line string": ('text = """\nkey = 0\n\\""" key = 0\n"""\nkey = 1\n', ("key",), 5),
    "a key after a string that ends in quotes": ('text = """x"""""\nkey = 1\n', ("key",), 2),
    "a key after a multi-line literal string": ("text = '''\nkey = 0 ''\n'''''\nkey = 1\n", ("key",), 4),
    "a key after an empty string": ('text = ""\nkey = 1\n', ("key",), 2),
    "an item of an array over several lines": ("a = [\n  1, # , 2\n\n  [2, 3],\n]\n", ("a", 1, 1), 4),
    "a key of an inline table": ('a = { "b" = { c = "}" }, d.e = 1 }\n', ("a", "d", "e"), 1),
    "a key of an inline table after a string over two lines": (
        'a = { b = """x\n""", c = 1 }\n',
        ("a", "c"),
        2,
    ),
    "a key of an inline table inside an array": ("a = [\n  { b = 1 },\n  { b = 2 },\n]\n", ("a", 1, "b"), 3),
    "a key of the second of an array of tables": ("[[a]]\nb = 1\n[[a]]\nb = 2\n", ("a", 1, "b"), 4),
    "a table below the second of an array of tables": ("[[a]]\n[[a]]\n[a.c]\nb = 2\n", ("a", 1, "c", "b"), 4),
    "a key in a file with Windows line breaks": ("a = 1\r\n\r\nkey = [\r\n1,\r\n2]\r\n", ("key", 1), 5),
    "a key after a date with a blank in it": ("a = 1979-05-27 07:32:00Z # b\nkey = 1\n", ("key",), 2),
}


@pytest.mark.parametrize("text, path, line", KEYS.values(), ids=KEYS.keys())
def test_a_key_is_found_on_its_line(text: str, path: KeyPath, line: int) -> None:
    lines = key_lines(text)
    assert lines[path] == line
    assert set(lines) == paths_of(tomllib.loads(text))


def test_a_key_that_is_not_written_out_has_the_line_of_the_table_around_it() -> None:
    lines = key_lines("version = 1\n[tools.x]\n")
    assert line_of(lines, ("tools", "x", "text", 3)) == 2
    assert line_of(lines, ("defaults", "mode")) == 1


def test_a_key_of_very_many_parts_is_found_before_it_is_parsed() -> None:
    """The parser takes time quadratic in them."""
    assert long_key("version = 1\na" + ".a" * MAX_PARTS + " = 1\n") == 2
    assert long_key("version = 1\nb = { '' " + '. "x"' * MAX_PARTS + " = 1 }\n") == 2
    assert long_key("a" + ".a" * (MAX_PARTS - 1) + " = 1\n") is None
    assert long_key('"\\"' * 200_000) is None


class Written:
    """A document under construction, and the line of everything that it has so far."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.text = ""
        self.expected: dict[KeyPath, int] = {}
        self.names = 0

    @property
    def line(self) -> int:
        return self.text.count("\n") + 1

    def name(self) -> tuple[str, str]:
        """A new key: what it is, and one way to write it."""
        self.names += 1
        plain = f"k{self.names}"
        odd = self.draw(st.sampled_from(["", ".", " = 1", "]", "#", "*", "/", "\\", '"', "'", "\u00e9"]))
        if not odd:
            return plain, plain
        basic = odd.replace("\\", "\\\\").replace('"', '\\"')
        return plain + odd, f'"{plain}{basic}"' if "'" in odd or self.draw(st.booleans()) else f"'{plain}{odd}'"

    def key(self, path: KeyPath, most: int = 3) -> KeyPath:
        written: list[str] = []
        for _ in range(self.draw(st.integers(1, most))):
            name, form = self.name()
            path = (*path, name)
            written.append(form)
            self.expected[path] = self.line
        self.text += self.draw(st.sampled_from([".", " . "])).join(written)
        return path

    def value(self, path: KeyPath, depth: int) -> None:
        form = self.draw(st.sampled_from(["scalar", "array", "inline"] if depth else ["scalar"]))
        if form == "scalar":
            self.text += self.draw(st.sampled_from(SCALARS))
        elif form == "array":
            self.text += "["
            for index in range(self.draw(st.integers(0, 3))):
                self.text += self.draw(st.sampled_from(["", " ", "\n", "# ], x = 1\n\n"]))
                self.expected[(*path, index)] = self.line
                self.value((*path, index), depth - 1)
                self.text += self.draw(st.sampled_from([",", "\n,", " , # }\n"]))
            self.text += "]"
        else:
            self.text += "{"
            for index in range(self.draw(st.integers(0, 3))):
                self.text += ", " if index else " "
                self.pair(path, depth - 1)
            self.text += " }"

    def pair(self, path: KeyPath, depth: int) -> None:
        key = self.key(path)
        self.text += self.draw(st.sampled_from(["=", " = ", "\t= "]))
        self.value(key, depth)

    def header(self) -> KeyPath:
        self.text += "[ "
        path = self.key(())
        self.text += " ]"
        return path


SCALARS = [
    "1",
    "true",
    "-0.5e3",
    "1979-05-27 07:32:00",
    '""',
    '"a # b = 1 \\" \\\\"',
    "'a \\'",
    '"""\n[x]\ny = 1 \\""" "" \n"""',
    '""""x""\n"""""',
    "'''\n# '' \n[z]\n'''",
    "''''x'''",
]


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, dict[KeyPath, int]]:
    written = Written(draw)
    table: KeyPath = ()
    for _ in range(draw(st.integers(0, 8))):
        form = draw(st.sampled_from(["pair", "pair", "header", "comment", "blank"]))
        if form == "pair":
            written.pair(table, 3)
        elif form == "header":
            table = written.header()
        elif form == "comment":
            written.text += '# x = """ ['
        written.text += draw(st.sampled_from(["\n", " # y = '''\n"]))
    return written.text, written.expected


@given(documents())
def test_the_lines_of_any_document_are_those_it_was_written_on(
    document: tuple[str, dict[KeyPath, int]],
) -> None:
    text, expected = document
    assert paths_of(tomllib.loads(text)) == set(expected)
    assert key_lines(text) == expected
    assert key_lines(text.replace("\n", "\r\n")) == expected
