"""What tools return, made up: few distinct values, so that results hold the same ones in many places and forms."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

WORDS = ("kestrel", "heron", "osprey", "two words", "é", "K-40211", "a@b.example", "true", "1", "1.0", "")
PATHS = (
    "app.py",
    "./app.py",
    "src/app.py",
    "src//app.py",
    "src/./app.py/",
    "/srv/x",
    "a/b",
    "a/../b",
    "//x",
    "Docs/My plan.txt",
)
ODDITIES: tuple[Any, ...] = (0, 1, -1, 1.0, 0.5, 2**40, 2**60, True, False, None, [], {}, "{", "[]", "{}", "\n", "a\nb")
KEYS = ("name", "id", "files", "a.b", "K-40211", "kestrel", "app.py", "x1", "")

scalars = st.sampled_from([*WORDS, *PATHS, *ODDITIES])
keys = st.sampled_from(KEYS)


def _records(names: list[str], rows: list[list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(names, row, strict=False)) for row in rows]


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    names = st.lists(keys, min_size=1, max_size=3, unique=True)
    rows = st.lists(st.lists(inner, min_size=3, max_size=3), min_size=1, max_size=4)
    return st.one_of(
        st.lists(inner, max_size=5),
        st.dictionaries(keys, inner, max_size=4),
        st.builds(_records, names, rows),
        inner.map(json.dumps),
    )


documents = st.recursive(scalars, _containers, max_leaves=14)


def _repeat(members: list[Any], times: int) -> list[Any]:
    return (members * times)[: 130 + times]


#: lists longer than one part of the index, plain, mixed or of records
long_documents = st.builds(
    _repeat,
    st.lists(documents, min_size=1, max_size=4)
    | st.builds(
        _records, st.just(["id", "name"]), st.lists(st.lists(scalars, min_size=2, max_size=2), min_size=1, max_size=5)
    ),
    st.integers(129, 300),
)
wide_documents = st.integers(129, 300).map(lambda size: {f"k{number}": number % 7 for number in range(size)})


def neighbours(value: Any) -> list[Any]:
    """A value and others that are easily mistaken for it."""
    if type(value) is str:
        return [value, f"./{value}", f"{value}/", value.upper(), value.rpartition("/")[2], f"x/{value}"]
    if type(value) is bool or value is None:
        return [value, str(value), str(value).lower(), 0, 1]
    if type(value) is int or type(value) is float:
        return [value, str(value), float(value), int(value), bool(value), -value]
    return [value]


#: plain words of one shape, for properties in which the look of a field is not the question
plain = st.sampled_from(["kestrel", "heron", "osprey", "harrier", "bittern", "avocet"])
plain_documents = st.recursive(
    plain | st.integers(0, 300) | st.booleans() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["birds", "seen", "rows"]), inner, max_size=3)
    ),
    max_leaves=10,
)
