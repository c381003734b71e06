"""Where the facts of spans are while the others are read: a private SQLite database that no file name leads to.

SQLite holds small ones in memory alone; what does not fit into its page cache goes to an unnamed file in the folder for
temporary files (`SQLITE_TMPDIR`, else `TMPDIR`), which is gone when the database is closed or the process ends.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from citespan.errors import TraceFileError

#: bytes of memory for pages
CACHE_BYTES: Final = 48 * 1024 * 1024
PAGE_BYTES: Final = 8192
#: bytes on disk; beyond them the audit ends with exit code 65
MAX_BYTES: Final = 16 * 1024**3
#: spans of one id, told apart by what they say, that are looked at; more would cost their square to hold against each
#: other, and are a finding by themselves
MAX_VERSIONS: Final = 4
#: rows that wait to be written together
_BATCH: Final = 1000
#: names kept in memory, so that each row holds a number for them; of more, rows hold the text itself
_MAX_NAMES: Final = 4096
_MAX_NAME: Final = 1024

#: roles of a span
OTHER, RUN, CALL = range(3)
#: flags of a span: its parent is in another process by its kind; the guard opened it
SERVED, OWN = 1, 2

_SCHEMA: Final = """
CREATE TABLE span (
    n INTEGER PRIMARY KEY, trace BLOB, id BLOB, parent BLOB, start INTEGER, end INTEGER, role INTEGER, flags INTEGER,
    process INTEGER, mark BLOB, source, line INTEGER, tool, status TEXT, teaches INTEGER, policy, found BLOB
);
CREATE TABLE citation (n INTEGER, trace BLOB, id BLOB, argument, tool, field, key, digest);
CREATE TABLE crowd (trace BLOB, id BLOB, versions INTEGER, PRIMARY KEY (trace, id));
"""
#: of the same span the copy of the first file (by name), not the one that happened to be read first
_AGAIN: Final = """
DELETE FROM span WHERE n IN (
    SELECT n FROM (
        SELECT n, row_number() OVER (PARTITION BY trace, id, mark ORDER BY text_of(source), line, process, n) AS copy
        FROM span
        WHERE (trace, id, mark) IN (SELECT trace, id, mark FROM span GROUP BY trace, id, mark HAVING count(*) > 1)
    ) WHERE copy > 1
)
"""
_CROWDS: Final = f"""
INSERT INTO crowd SELECT trace, id, count(*) FROM span GROUP BY trace, id HAVING count(*) > {MAX_VERSIONS}
"""
_SURPLUS: Final = f"""
DELETE FROM span WHERE n IN (
    SELECT n FROM (
        SELECT n, row_number() OVER (PARTITION BY trace, id ORDER BY mark) AS version FROM span
        WHERE (trace, id) IN (SELECT trace, id FROM crowd)
    ) WHERE version > {MAX_VERSIONS}
)
"""


class SpanRow(NamedTuple):
    """The facts of one span.

    Args:
        trace, id, parent, mark: bytes; parent None for a root. mark: a digest of all of its contents.
        start, end: nanoseconds. role, flags: as above. process: of the resource. source, line: the place.
        tool, status, teaches, policy: of a tool call; teaches: whether its result can be cited.
        found: JSON of what is wrong with it by itself, None for nothing.
    """

    trace: bytes
    id: bytes
    parent: bytes | None
    start: int
    end: int
    role: int
    flags: int
    process: int
    mark: bytes
    source: int | str
    line: int
    tool: int | str | None
    status: str | None
    teaches: bool | None
    policy: int | str | None
    found: bytes | None


class CitationRow(NamedTuple):
    """One argument of a call that cites a span; digest None where digests of it cannot be compared with others."""

    trace: bytes
    id: bytes
    argument: int | str
    tool: int | str
    field: int | str | None
    key: int | str | None
    digest: int | str | None


class Store:
    """Takes rows, then answers queries.

    Raises (from every method):
        TraceFileError: the disk is full, or the bound is reached.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._names: dict[str, int] = {}
        self._texts: list[str] = []
        self._spans: list[tuple[Any, ...]] = []
        self._citations: list[tuple[Any, ...]] = []
        self._count = 0
        self._max_bytes = max_bytes
        # one thread at a time, but not always the same
        self._base = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._base.create_function("text_of", 1, self.text, deterministic=True)
        with self._full():
            for setting in (
                f"page_size = {PAGE_BYTES}",
                f"cache_size = -{CACHE_BYTES // 1024}",
                f"max_page_count = {max(1, max_bytes // PAGE_BYTES)}",
                "journal_mode = OFF",
                "synchronous = OFF",
                "secure_delete = OFF",
                "temp_store = FILE",
            ):
                self._base.execute(f"PRAGMA {setting}")
            self._base.executescript(_SCHEMA)

    def name(self, text: str) -> int | str:
        """What rows hold for a text that comes again and again."""
        text = encodable(text)
        known = self._names.get(text)
        if known is not None:
            return known
        if len(self._names) >= _MAX_NAMES or len(text) > _MAX_NAME:
            return text
        self._names[text] = len(self._texts)
        self._texts.append(text)
        return self._names[text]

    def text(self, name: int | str | None) -> str:
        """The text that a row holds, "" for none."""
        return "" if name is None else name if isinstance(name, str) else self._texts[name]

    def add(self, span: SpanRow, citations: Iterable[CitationRow]) -> None:
        """Add a span and what it cites."""
        self._count += 1
        self._spans.append((self._count, *span))
        self._citations.extend((self._count, *citation) for citation in citations)
        if len(self._spans) >= _BATCH or len(self._citations) >= _BATCH:
            self._write()

    def _write(self) -> None:
        with self._full():
            self._base.executemany(f"INSERT INTO span VALUES ({_marks(17)})", self._spans)
            self._base.executemany(f"INSERT INTO citation VALUES ({_marks(8)})", self._citations)
        self._spans.clear()
        self._citations.clear()

    def settle(self) -> None:
        """All rows are there: the same span again is forgotten, and the others can be found by their ids.

        Of an id that more than `MAX_VERSIONS` different spans have that many are kept, and table `crowd` has the id.
        """
        self._write()
        self.run("CREATE INDEX by_id ON span (trace, id, mark)")
        ((distinct, ids),) = self.rows(
            "SELECT coalesce(sum(marks), 0), count(*) FROM "
            "(SELECT count(DISTINCT mark) AS marks FROM span GROUP BY trace, id)"
        )
        if distinct < self._count:
            self.run(_AGAIN)
        if ids < distinct:
            self.run(_CROWDS)
            self.run(_SURPLUS)
        if ids < self._count:
            self.run("DELETE FROM citation WHERE n NOT IN (SELECT n FROM span)")

    def run(self, sql: str, *values: Any) -> None:
        """Run a statement."""
        with self._full():
            self._base.execute(sql, values)

    def rows(self, sql: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """The rows of a query, one by one."""
        with self._full():
            yield from self._base.execute(sql, values)

    def one(self, sql: str, *values: Any) -> tuple[Any, ...] | None:
        """The first row of a query."""
        with self._full():
            found: tuple[Any, ...] | None = self._base.execute(sql, values).fetchone()
        return found

    def close(self) -> None:
        """Let go of memory and disk; a second time is nothing."""
        self._spans.clear()
        self._citations.clear()
        self._base.close()

    @contextmanager
    def _full(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise TraceFileError(
                f"the audit cannot keep its notes: {error}; it needs room in the folder for temporary files (set "
                f"TMPDIR to another), at most {self._max_bytes // 1024**2:,} MiB; audit fewer files at once"
            ) from error


def encodable(text: str) -> str:
    """A text that the database takes: lone surrogates become escapes."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _marks(columns: int) -> str:
    return ", ".join("?" * columns)
