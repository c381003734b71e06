"""Projections: the named, strict ways in which a value may follow from an observed leaf (design section 2).

`PROJECTIONS` names them all; the policy reader, the documentation and the tests enumerate this table. The functions are
in `paths`, `texts`, `tables`, `patterns` and `images`; each works in time linear in its text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from typing import Final, Literal, NamedTuple, TypeAlias

from citespan.core.images import IMAGES, Image
from citespan.core.paths import MAX_PATH, basename, may_normalise, normal_path
from citespan.core.patterns import matches
from citespan.core.tables import table
from citespan.core.texts import (
    MAX_PIECES,
    MIN_SHA,
    abbreviates,
    git_sha,
    json_lines,
    key_value,
    lines,
    paths,
    tokens,
    url,
)

__all__ = [
    "MAX_PATH",
    "MAX_PIECES",
    "MIN_SHA",
    "PROJECTIONS",
    "Pair",
    "Projection",
    "Stage",
    "abbreviates",
    "basename",
    "git_sha",
    "lines",
    "may_normalise",
    "normal_path",
    "paths",
    "reader",
    "tokens",
]

Stage: TypeAlias = Literal["default", "text", "argument"]
Pieces: TypeAlias = Callable[[str], Iterable[str]]

#: what a tool's output may declare for a pattern of the policy: `regex:NAME=PATTERN`
REGEX: Final = "regex"
PATTERN_NAME: Final = re.compile(r"[A-Za-z_][\w-]{0,63}", re.ASCII)


class Pair(NamedTuple):
    """An observed value (JSON), and an argument (JSON) that follows from it, or does not."""

    observed: str
    argument: str


class Projection(NamedTuple):
    """One row of the table.

    Args:
        stage: "default" is always admitted, "text" where a tool's output declares it, "argument" where one does.
        brief: one sentence for the documentation.
        yes, no: what it admits, and what it does not; documentation that the tests run.
        pieces: for a text projection, what it reads out of a text; None elsewhere.
        image: for an argument projection, how it is indexed; None elsewhere, and for `join`, which asks for two parts.
        limits: what it does not read, for the documentation.
        declared: how a policy names it, where that is more than the name.
        ready: whether this version implements it; the policy reader refuses the others with a clear error.
    """

    name: str
    stage: Stage
    brief: str
    yes: Pair
    no: Pair
    pieces: Pieces | None = None
    image: Image | None = None
    limits: str = ""
    declared: str = ""
    ready: bool = True


_SHA_EXAMPLE: Final = "5d41402abc4b2a76b9719d911017c592aaf3e2d1"
_ROWS: Final = (
    Projection("exact", "default", "The leaf itself.", Pair('"Ada Byron"', '"Ada Byron"'), Pair('"1"', "1")),
    Projection(
        "key",
        "default",
        "A key of an observed object.",
        Pair('{"Lisbon": 4}', '"Lisbon"'),
        Pair('{"Lisbon": {"n": 4}}', '"Lisbon.n"'),
    ),
    Projection(
        "json",
        "default",
        "The whole leaf is a JSON document: one of its leaves.",
        Pair('"{\\"bird\\": \\"kestrel\\"}"', '"kestrel"'),
        Pair('"see {\\"bird\\": \\"kestrel\\"}"', '"kestrel"'),
        limits="Documents inside documents are read four deep.",
    ),
    Projection(
        "posix_path",
        "default",
        "The whole leaf as a path, normalised: `./app.py` is `app.py`.",
        Pair('"./src//app.py"', '"src/app.py"'),
        Pair('"lib/../src/app.py"', '"src/app.py"'),
        limits="Paths with `..` and of more than 1,024 characters have no normal form.",
    ),
    Projection(
        "basename",
        "default",
        "The last part of a whole leaf that is a path.",
        Pair('"src/app.py"', '"app.py"'),
        Pair('"18/05/2031"', '"2031"'),
    ),
    Projection(
        "lines",
        "text",
        "A whole line, outer blanks removed.",
        Pair('"heron\\n  two words \\n"', '"two words"'),
        Pair('"heron\\n  two words \\n"', '"two"'),
        lines,
    ),
    Projection(
        "key_value",
        "text",
        "The value of a `key: value` or `key=value` line.",
        Pair('"rent: 1100 EUR\\ncity = \\"Graz\\""', '"1100 EUR"'),
        Pair('"The answer to all of it: 1100 EUR"', '"1100 EUR"'),
        key_value,
        limits="A key starts with a letter and has at most four words; a colon needs a blank after it. Quotes around "
        "the whole value are no part of it.",
    ),
    Projection(
        "json_lines",
        "text",
        "A leaf of a line that is a JSON document.",
        Pair('"{\\"id\\": \\"K-40211\\"}\\n{\\"id\\": \\"K-40212\\"}"', '"K-40212"'),
        Pair('"done {\\"id\\": \\"K-40211\\"}"', '"K-40211"'),
        json_lines,
        limits="The line is an object or an array. Its leaves have paths and fields of their own: `logs.result.*.id`.",
    ),
    Projection(
        "table",
        "text",
        "A cell of an aligned or delimited table.",
        Pair('"NAME    READY\\nweb-1   1/1"', '"web-1"'),
        Pair('"NAME    READY\\n\\nweb-1   1/1"', '"web-1"'),
        table,
        limits="At least two rows that agree on their columns: cells between `|`, between tabs, or in columns that two "
        "or more blanks divide in every row (of up to 1,024 characters); commas only where the whole text is CSV.",
    ),
    Projection(
        "paths",
        "text",
        "A token that reads as a path or file name.",
        Pair('"M  src/app.py"', '"src/app.py"'),
        Pair('"M  src/app.py"', '"app.py"'),
        paths,
    ),
    Projection(
        "git_sha",
        "text",
        "A commit hash, full or abbreviated to at least 7 characters.",
        Pair(f'"commit {_SHA_EXAMPLE}"', f'"{_SHA_EXAMPLE[:9]}"'),
        Pair(f'"commit {_SHA_EXAMPLE}"', f'"{_SHA_EXAMPLE[:6]}"'),
        git_sha,
    ),
    Projection(
        "url",
        "text",
        "A whole URL.",
        Pair('"See (https://h.example/a?b=1)."', '"https://h.example/a?b=1"'),
        Pair('"See https://h.example/a?b=1"', '"https://h.example/a"'),
        url,
        limits="It has a scheme and at most 2,048 characters.",
    ),
    Projection(
        REGEX,
        "text",
        "A named, linear-time expression of the policy: its first group, or the whole match.",
        Pair('"fixes #40211"', '"40211"'),
        Pair('"fixes 40211"', '"40211"'),
        matches,
        limits="A part of Python's expressions: no look-around, back-reference, flag, lazy or nested repetition. A "
        "repetition takes all that it can, gives nothing back, and takes at most 256 characters. (Example: `#(\\d+)`.)",
        declared="regex:NAME",
    ),
    Projection(
        "tokens",
        "text",
        "Any token; always weak.",
        Pair('"Paid: INV-20418, twice!"', '"INV-20418"'),
        Pair('"Paid: INV-20418, twice!"', '"20418"'),
        tokens,
    ),
    Projection(
        "dirname",
        "argument",
        "The directory of a cited path.",
        Pair('"src/lib/app.py"', '"src/lib"'),
        Pair('"src/lib/app.py"', '"src"'),
        image=IMAGES["dirname"],
    ),
    Projection(
        "stem",
        "argument",
        "A file name without its ending.",
        Pair('"src/app.py"', '"app"'),
        Pair('"src/app.py"', '"src/app"'),
        image=IMAGES["stem"],
    ),
    Projection(
        "casefold",
        "argument",
        "The same text in another case.",
        Pair('"Kestrel"', '"KESTREL"'),
        Pair('"Kestrel "', '"KESTREL"'),
        image=IMAGES["casefold"],
    ),
    Projection(
        "number",
        "argument",
        "A number as text, and a numeric text as number.",
        Pair('"1100"', "1100"),
        Pair('"1,100"', "1100"),
        image=IMAGES["number"],
        limits="Plain decimal text: `-` at most, no grouping, currency, exponent or leading zero. It also lets a "
        "computation use numbers that are text.",
    ),
    Projection(
        "date_part",
        "argument",
        "The date, or the time, of a cited date-time.",
        Pair('"2031-05-18T08:00:00"', '"2031-05-18"'),
        Pair('"2031-05-18T08:00:00"', '"18 May 2031"'),
        image=IMAGES["date_part"],
        limits="ISO 8601 only; seconds may be left out where they are 00.",
    ),
    Projection(
        "join",
        "argument",
        "A path joined of two cited parts.",
        Pair('{"dir": "src/lib", "files": ["app.py"]}', '"src/lib/app.py"'),
        Pair('{"dir": "src/lib", "files": ["app.py"]}', '"src/app.py"'),
        limits="Both parts are observed; the path has at most 32 steps.",
    ),
)
PROJECTIONS: Final[dict[str, Projection]] = {row.name: row for row in _ROWS}


@lru_cache(maxsize=1024)
def reader(declared: str) -> tuple[str, Pieces] | None:
    """The name and the function of a declared text projection; None, which reads nothing, for any other text.

    Example:
        >>> name, pieces = reader(r"regex:issue=#(\\d+)")
        >>> name, list(pieces("see #7"))
        ('regex:issue', ['7'])
    """
    kind, colon, rest = declared.partition(":")
    if colon:
        name, equals, pattern = rest.partition("=")
        known = kind == REGEX and equals and PATTERN_NAME.fullmatch(name)
        return (f"{kind}:{name}", partial(matches, pattern=pattern)) if known else None
    row = PROJECTIONS.get(kind)
    return None if row is None or row.pieces is None else (kind, row.pieces)
