"""What recorded runs showed of each argument, kept in bounded memory: counts by task, never a whole run."""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple, TypeAlias

from citespan.core.kinds import Kind
from citespan.learn.looks import Look

Means: TypeAlias = Literal["text", "argument", "derive", "from"]

#: runs that are kept of one thing seen; thresholds are far below
MAX_RUNS: Final = 64
#: different uncited values, and different fields, that are kept of one argument
MAX_VALUES: Final = 2_000
MAX_FIELDS: Final = 64
MAX_PLACES: Final = 20_000
#: a scale: so many different whole numbers at least, and none greater
MIN_SCALE: Final = 3
MAX_SCALE: Final = 10


class Explanation(NamedTuple):
    """What the policy would have to admit for an uncited value to be cited.

    Args:
        means: a text projection of a tool's output, a projection of the argument, a computation, or a field that is
            named because values of it look unlike each other.
        subject: the tool whose output it is, the field, or "". what: the projection, or the computation's name.
    """

    means: Means
    subject: str
    what: str


class Explained(NamedTuple):
    """An explanation of one leaf, and how many made-up values it explains as well, of how many (computations only)."""

    by: Explanation
    hits: int = 0
    tries: int = 0


class Fact(NamedTuple):
    """One leaf of one recorded call.

    Args:
        argument: the leaf's pattern: `path`, `flights.*.date`.
        mutating: whether nothing says that the tool only reads.
        known: whether the recording has the value; a trace has not.
        value: the leaf. seen_as: what it looks like.
        fields: fields that it was cited from.
        explained: what would have made it citable, each by itself.
    """

    tool: str
    argument: str
    mutating: bool
    known: bool
    value: Any
    seen_as: Look
    kind: Kind
    weak: bool
    fields: tuple[str, ...] = ()
    explained: tuple[Explained, ...] = ()


class Output(NamedTuple):
    """What one result of a tool showed: lines of its texts, those among them that read as prose, prose fields."""

    tool: str
    lines: int
    prose_lines: int
    prose_fields: tuple[str, ...]


class Runs:
    """The runs in which something was seen, as numbers of `Tasks`; the first `MAX_RUNS` of them."""

    __slots__ = ("numbers", "times")

    def __init__(self) -> None:
        self.numbers: set[int] = set()
        self.times = 0

    def add(self, run: int) -> None:
        """Count one sighting."""
        self.times += 1
        if len(self.numbers) < MAX_RUNS:
            self.numbers.add(run)


class Place:
    """All that was seen of one argument of one tool.

    Args:
        values: uncited values by type and value. looks, kinds: of every value. uncited: runs with an uncited value.
        prose: runs with an uncited value that says something.
        full: whether a bound was reached, so that nothing can be said of the rest.
    """

    __slots__ = (
        "chance", "explained", "fields", "full", "kinds", "looks", "mutating", "prose", "runs", "uncited",
        "unexplained", "values", "whole",
    )  # fmt: skip

    def __init__(self) -> None:
        self.mutating = False
        self.full = False
        #: the different values, where all of them are whole numbers from 0 to `MAX_SCALE`; else None
        self.whole: list[int] | None = []
        self.runs = Runs()
        self.uncited = Runs()
        self.unexplained = Runs()
        self.prose = Runs()
        self.values: dict[tuple[type, Any], Runs] = {}
        self.looks: dict[Look, Runs] = {}
        self.kinds: dict[str, int] = {}
        #: the fields that one value was found in, together -> runs
        self.fields: dict[tuple[str, ...], Runs] = {}
        self.explained: dict[Explanation, Runs] = {}
        self.chance: dict[Explanation, tuple[int, int]] = {}

    def add(self, fact: Fact, run: int) -> None:
        """Take one leaf in."""
        self.mutating = self.mutating or fact.mutating
        self.runs.add(run)
        if fact.known:
            self._extend(fact.value)
        self._put(self.looks, fact.seen_as, run, MAX_FIELDS)
        kind = f"{fact.kind}, weak" if fact.weak else fact.kind
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        if fact.fields:
            self._put(self.fields, fact.fields, run, MAX_FIELDS)
        for by, hits, tries in fact.explained:
            self._put(self.explained, by, run, MAX_FIELDS)
            before = self.chance.get(by, (0, 0))
            self.chance[by] = (before[0] + hits, before[1] + tries)
        if fact.kind != "assumed":
            return
        self.uncited.add(run)
        if not fact.explained:
            self.unexplained.add(run)
        if fact.known:
            self._put(self.values, _key(fact.value), run, MAX_VALUES)
            if fact.seen_as in {"prose", "phrase"}:
                self.prose.add(run)

    @property
    def scale(self) -> tuple[int, int] | None:
        """The least and the greatest value, where all are whole numbers of a short scale: a rating, a priority."""
        if self.whole is None or len(self.whole) < MIN_SCALE or self.whole[-1] - self.whole[0] > MAX_SCALE:
            return None
        return self.whole[0], self.whole[-1]

    def _extend(self, value: Any) -> None:
        if self.whole is None or (value is not None and (type(value) is not int or not 0 <= value <= MAX_SCALE)):
            self.whole = None
        elif value is not None and value not in self.whole:
            self.whole = sorted((*self.whole, value))

    def _put(self, kept: dict[Any, Runs], key: Any, run: int, most: int) -> None:
        found = kept.get(key)
        if found is None:
            if len(kept) >= most:
                self.full = True
                return
            found = kept[key] = Runs()
        found.add(run)


class Evidence:
    """All places of all tools, and what the tools' outputs look like."""

    __slots__ = ("declared", "full", "lines", "places", "prose_fields", "read_only")

    def __init__(self) -> None:
        self.places: dict[tuple[str, str], Place] = {}
        self.lines: dict[str, tuple[int, int]] = {}
        self.prose_fields: set[str] = set()
        #: tools that a recording declares -> their top-level text arguments; and those said to only read
        self.declared: dict[str, frozenset[str]] = {}
        self.read_only: dict[str, bool] = {}
        self.full = False

    def add(self, fact: Fact, run: int) -> None:
        """Take one leaf in."""
        place = self.places.get((fact.tool, fact.argument))
        if place is None:
            if len(self.places) >= MAX_PLACES:
                self.full = True
                return
            place = self.places[fact.tool, fact.argument] = Place()
        place.add(fact, run)

    def output(self, seen: Output) -> None:
        """Take one result in."""
        lines, prose = self.lines.get(seen.tool, (0, 0))
        self.lines[seen.tool] = (lines + seen.lines, prose + seen.prose_lines)
        if len(self.prose_fields) < MAX_PLACES:
            self.prose_fields.update(seen.prose_fields)


def _key(value: Any) -> tuple[type, Any]:
    kind = type(value)
    if kind is float and value.is_integer():
        return int, int(value)  # 40 and 40.0 are one number
    return (kind, value) if kind in {str, bool, int, float} else (kind, repr(value))
