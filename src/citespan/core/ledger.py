"""The ledger: the observations of a run, append-only, bounded, read through views (design sections 1 and 2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple, TypeVar

from citespan.core import locks
from citespan.core.index import Decode, Index
from citespan.core.kinds import SpanRef
from citespan.core.looks import looks_like_its_field
from citespan.core.moments import Moment
from citespan.core.places import Place
from citespan.core.policy import Bounds
from citespan.core.uncited import Given

T = TypeVar("T")

#: after an overflow this share of each bound is kept, so that the index is rebuilt seldom
KEEP: Final = 0.75


class Observation:
    """One successful tool result as the ledger keeps it: a private copy, never handed out.

    Args:
        ordinal: position in the run, from 0.
        tool: its name, `server/name` for an MCP tool where the server is known; server: that server.
        span: the span of the call.
        given: U(c), the folded uncited values of its call.
        text: text projections that the policy declares for the tool.
        confirms: result fields that the policy lists, as dotted patterns without the tool.
        size: bytes of its JSON.
    """

    __slots__ = (
        "_uncited",
        "confirms",
        "data",
        "document",
        "given",
        "leaves",
        "ordinal",
        "server",
        "size",
        "span",
        "text",
        "tool",
    )

    def __init__(
        self,
        ordinal: int,
        tool: str,
        server: str | None,
        span: SpanRef | None,
        given: tuple[str, ...],
        text: tuple[str, ...],
        confirms: tuple[str, ...],
        data: bytes,
    ) -> None:
        self.ordinal = ordinal
        self.tool = tool
        self.server = server
        self.span = span
        self.given = given
        self._uncited: Given | None = None
        self.text = text
        self.confirms = confirms
        self.size = len(data)
        self.data: bytes | None = data
        self.document: Any = None
        #: known once it is indexed
        self.leaves = 0

    @property
    def uncited(self) -> Given:
        """U(c) made ready for many values; once, and only when it is asked for."""
        if self._uncited is None:
            self._uncited = Given(self.given)
        return self._uncited

    def read(self, decode: Decode) -> Any:
        """The document; its bytes are let go once it is read, so that one copy is kept."""
        if self.data is not None:
            self.document = decode(self.data)
            self.data = None
        return self.document


class View(NamedTuple):
    """The ledger as it was at one moment: observations with an ordinal below `upto`."""

    ledger: Ledger
    upto: int

    def find(self, value: Any) -> list[Place]:
        """Every place before this view's moment from which a scalar follows."""
        return self.ledger.find(value, self.upto)

    def image(self, name: str, value: Any) -> list[Place]:
        """Every place before this view's moment from which a value follows under a declared argument projection."""
        return self.ledger.ask(lambda index: index.aspects.image(name, value, self.upto))

    def moments(self, when: Moment) -> list[Place]:
        """Every place before this view's moment that holds a date, a time, or a date-time with such a part."""
        return self.ledger.ask(lambda index: index.aspects.moments(when, self.upto))

    def numbers(self, most: int, *, texts: bool) -> list[Place]:
        """The newest numbers before this view's moment; with `texts`, numbers that are text as well."""
        return self.ledger.ask(lambda index: list(islice(index.aspects.numbers(self.upto, texts=texts), most)))

    def field(self, pattern: str, most: int) -> list[Place]:
        """The newest scalars of a declared field before this view's moment."""
        return self.ledger.ask(lambda index: list(islice(index.aspects.field(pattern, self.upto), most)))


class Ledger:
    """Observations and their index. Safe to share between threads.

    Args:
        decode: reads JSON bytes and text.
        bounds: bytes, leaves and sources; what does not fit is dropped, oldest first, and counted in `evicted`.

    Example:
        >>> import json
        >>> ledger = Ledger(json.loads, Bounds())
        >>> ledger.record("list_files", b'{"files": ["a.py"]}').ordinal
        0
        >>> [place.projection for place in ledger.view().find("a.py")]
        ['exact']
    """

    def __init__(self, decode: Decode, bounds: Bounds) -> None:
        self._decode = decode
        self._bounds = bounds
        self._lock = locks.reentrant()
        self._kept: list[Observation] = []
        self._indexed = 0
        self._next = 0
        self._bytes = 0
        self._index = Index(decode, bounds.sources)
        self.evicted = 0

    def record(
        self,
        tool: str,
        data: bytes,
        *,
        server: str | None = None,
        span: SpanRef | None = None,
        given: tuple[str, ...] = (),
        text: tuple[str, ...] = (),
        confirms: tuple[str, ...] = (),
    ) -> Observation | None:
        """Append one result as JSON bytes; None (and counted as evicted) when it alone is over the bounds."""
        with self._lock:
            ordinal = self._next
            self._next += 1
            if len(data) > self._bounds.bytes:
                self.evicted += 1
                return None
            observation = Observation(ordinal, tool, server, span, given, text, confirms, data)
            self._kept.append(observation)
            self._bytes += observation.size
            if self._bytes > self._bounds.bytes:
                self._drop_bytes()
            return observation

    def moment(self) -> int:
        """The ordinal that the next observation will have: what a call that starts now can see up to."""
        return self._next

    def view(self, upto: int | None = None) -> View:
        """A view of now, or of an earlier moment."""
        return View(self, self._next if upto is None else upto)

    def find(self, value: Any, upto: int) -> list[Place]:
        """Places in observations with an ordinal below `upto`."""
        with self._lock:
            if self._indexed < len(self._kept):
                self._bring_up()
            return self._index.find(value, upto)

    def ask(self, question: Callable[[Index], T]) -> T:
        """Ask the index, brought up to date, under the lock."""
        with self._lock:
            if self._indexed < len(self._kept):
                self._bring_up()
            return question(self._index)

    def looks_like_its_field(self, place: Place) -> bool:
        """See `citespan.core.looks`; under the lock, since it counts as it goes."""
        with self._lock:
            return looks_like_its_field(place)

    def fields(self) -> list[tuple[Observation, str, Any]]:
        """Every leaf with its observation and field: for showing that a proposed value is in no listing."""
        with self._lock:
            self._bring_up()
            return list(self._index.leaves_by_field())

    def _bring_up(self) -> None:
        while self._indexed < len(self._kept):
            at = self._indexed
            observation = self._kept[at]
            before = self._index.leaves
            try:
                self._index.add(observation, observation.read(self._decode))
            except (ValueError, RecursionError):
                self._forget(at, at + 1)
                continue
            observation.leaves = self._index.leaves - before
            self._indexed += 1
            if observation.leaves > self._bounds.leaves:
                self._forget(at, at + 1)
            elif self._index.leaves > self._bounds.leaves:
                self._drop_leaves()

    def _drop_bytes(self) -> None:
        """Drop the oldest down to `KEEP` of the bound; the newest fits by itself and stays."""
        left, dropped = self._bytes, 0
        while dropped < len(self._kept) - 1 and left > KEEP * self._bounds.bytes:
            left -= self._kept[dropped].size
            dropped += 1
        self._forget(0, dropped)

    def _drop_leaves(self) -> None:
        """Drop the oldest indexed ones down to `KEEP` of the bound; the newest of them stays."""
        left, dropped = self._index.leaves, 0
        while dropped < self._indexed - 1 and left > KEEP * self._bounds.leaves:
            left -= self._kept[dropped].leaves
            dropped += 1
        self._forget(0, dropped)

    def _forget(self, first: int, last: int) -> None:
        """Drop observations, and index what is left anew, when next needed."""
        self._bytes -= sum(observation.size for observation in self._kept[first:last])
        del self._kept[first:last]
        self.evicted += last - first
        self._index = Index(self._decode, self._bounds.sources)
        self._indexed = 0

    @property
    def size(self) -> int:
        """JSON bytes of the kept observations."""
        return self._bytes

    def tools(self) -> Mapping[str, int]:
        """Tools with kept observations, and how many each has; for hints, never for decisions."""
        counts: dict[str, int] = {}
        with self._lock:
            for observation in self._kept:
                counts[observation.tool] = counts.get(observation.tool, 0) + 1
        return counts
