"""The calls of a file, cut down to what is compared, and sorted into runs. Bounded: what is equal is kept once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable
from typing import Final, NamedTuple, TypeVar

from citespan.calls import Argument, Call, Cited, Leaf
from citespan.calls.model import rank
from citespan.calls.paths import field
from citespan.diff.model import ArgumentFacts, Entry, LeafFacts, Run
from citespan.errors import UsageError
from citespan.semconv import UNDECLARED

#: calls that are kept of one file; with their ids and digests some 200 MB at worst
MAX_CALLS: Final = 200_000
#: arguments and leaves that are kept of one file, equal ones counted once
MAX_PARTS: Final = 1_000_000
#: of one call
MAX_ARGUMENTS: Final = 64
#: patterns of leaves of one argument
MAX_LEAVES: Final = 64
MAX_TEXT: Final = 256
#: verdicts of calls whose body ran
_RAN: Final = frozenset({"ok", "flagged", "error"})

T = TypeVar("T", bound=Hashable)


class Chosen(NamedTuple):
    """Which calls of a file are compared; "" chooses all.

    Args:
        run: id of a conversation, a trajectory, or a run of an evidence file. trace: a trace id, or how it begins.
    """

    run: str = ""
    trace: str = ""

    def takes(self, call: Call) -> bool:
        """Whether a call is one of them."""
        return (not self.run or call.run == self.run) and call.trace_id.startswith(self.trace.lower())

    def __str__(self) -> str:
        """`run r1, trace 10df6e09`."""
        return ", ".join(f"{name} {value}" for name, value in zip(self._fields, self, strict=True) if value)


class _Store:
    """Keeps each equal value once, and counts the parts."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._kept: dict[Hashable, Hashable] = {}
        self._parts = 0

    def once(self, value: T, parts: int = 1) -> T:
        if value not in self._kept:
            self._parts += parts
            if self._parts > MAX_PARTS:
                raise too_many(self._name, MAX_PARTS, "different ids, arguments and leaves")
        return self._kept.setdefault(value, value)  # type: ignore[return-value]  # equal values of one type


def too_many(name: str, most: int, what: str) -> UsageError:
    """Says that a file is beyond the bound, and what to do."""
    return UsageError(f"{name}: more than {most} {what}; choose one run of it with --run or --trace")


def collect(calls: Iterable[Call], name: str, chosen: Chosen = Chosen()) -> tuple[Run, ...]:  # noqa: B008  # immutable
    """The runs of a file, in the order in which they began.

    A run is what shares a conversation id, else a trace id. Its calls are in the order of their starts, else of the
    file. A span that was delivered twice counts once. A tool span that nobody judged is left out where the same tool's
    judged call stands directly above or below it, and one that says it is part of a judged call where a call of the
    same tool was running: it is that call, as another instrumentor saw it.

    Args:
        calls: in the order of the file. name: of the file, for errors.

    Raises:
        UsageError: there are more calls than can be compared at once.

    Example:
        `collect(read_calls("trace.jsonl"), "trace.jsonl")`
    """
    store = _Store(name)
    groups: dict[tuple[str, str], list[Entry]] = {}  # by conversation, and by trace where there is none
    agents: dict[tuple[str, str], tuple[int, str]] = {}
    seen: set[int] = set()
    count = 0
    for call in calls:
        if not chosen.takes(call):
            continue
        entry = _entry(call, store)
        if call.span_id:  # of spans with one id that say different things each is a call: one of them may hide another
            identity = hash(entry._replace(place=""))
            if identity in seen:
                continue
            seen.add(identity)
        count += 1
        if count > MAX_CALLS:
            raise too_many(name, MAX_CALLS, "calls")
        run = ("", store.once(call.trace_id)) if not call.run else (store.once(call.run), "")
        groups.setdefault(run, []).append(entry)
        if call.agent and (run not in agents or call.start < agents[run][0]):
            agents[run] = (call.start, store.once(call.agent))
    _join_strays(groups)
    runs = []
    for run, entries in groups.items():
        entries.sort(key=lambda entry: entry.start)  # stable: of equals the order of the file stays
        runs.append(Run(run[0] or run[1], agents.get(run, (0, ""))[1], tuple(_once_each(entries))))
    if all(entry.ids[0] for run in runs for entry in run.entries):  # these have times; recordings have positions
        runs.sort(key=lambda run: run.entries[0].start)
    return tuple(runs)


def _join_strays(groups: dict[tuple[str, str], list[Entry]]) -> None:
    """Calls without a conversation belong to the one that all other calls of their trace belong to."""
    conversations: dict[str, set[tuple[str, str]]] = {}
    for run, entries in groups.items():
        if run[0]:
            for entry in entries:
                conversations.setdefault(entry.ids[0], set()).add(run)
    for run in [run for run in groups if not run[0] and run[1]]:
        homes = conversations.get(run[1], set())
        if len(homes) == 1:
            groups[homes.pop()] += groups.pop(run)


def _once_each(entries: list[Entry]) -> list[Entry]:
    """Without the spans that tell of a judged call once more."""
    entries = _without_parts(entries)
    unjudged = {entry.ids[:2]: entry for entry in entries if entry.status == "none" and entry.ids[1]}
    if not unjudged:
        return entries
    judged = [entry for entry in entries if entry.status != "none"]
    again: set[tuple[str, str]] = set()
    for entry in judged:  # upwards
        above = unjudged.get((entry.ids[0], entry.ids[2]))
        while above is not None and above.tool == entry.tool and above.ids[:2] not in again:
            again.add(above.ids[:2])
            above = unjudged.get((above.ids[0], above.ids[2]))
    below: dict[tuple[str, str], list[Entry]] = {}
    for entry in unjudged.values():
        below.setdefault((entry.ids[0], entry.ids[2]), []).append(entry)
    waiting = [entry for entry in judged if entry.status != "blocked"]
    while waiting:  # downwards; what is inside a refused call is that its body ran
        entry = waiting.pop()
        for inner in below.get(entry.ids[:2], ()):
            if inner.tool == entry.tool and inner.ids[:2] not in again:
                again.add(inner.ids[:2])
                waiting.append(inner)
    return [entry for entry in entries if entry.status != "none" or entry.ids[:2] not in again]


def _without_parts(entries: list[Entry]) -> list[Entry]:
    """Without the spans that say that they are part of a judged call, where there is one that they can be part of.

    The spans between the two are not at hand, as they are for `citespan audit`; what is left over nobody judged.
    """
    if all(entry.status != "within" for entry in entries):
        return entries
    starts: dict[tuple[str, str], list[int]] = {}
    ends: dict[tuple[str, str], list[int]] = {}  # the latest end of all that started up to here
    for entry in sorted(entries, key=lambda entry: entry.start):
        if entry.status in _RAN:
            at = (entry.ids[0], entry.tool)
            starts.setdefault(at, []).append(entry.start)
            known = ends.setdefault(at, [])
            known.append(max(entry.end, known[-1] if known else 0))
    kept = []
    for entry in entries:
        if entry.status == "within":
            at = (entry.ids[0], entry.tool)
            before = bisect_right(starts.get(at, ()), entry.start)
            if before and ends[at][before - 1] >= entry.start:
                continue
            entry = entry._replace(status="none")  # noqa: PLW2901
        kept.append(entry)
    return kept


def _entry(call: Call, store: _Store) -> Entry:
    shown = sorted((each for each in call.arguments if _is_compared(each)), key=lambda each: each.name)
    partial = {text.partition("=")[0] for text in call.truncated}
    if len(shown) > MAX_ARGUMENTS:
        del shown[MAX_ARGUMENTS:]
        partial.add("arguments")
    digests = tuple(each.digest[:64] for each in shown)
    uncited = _uncited(call)
    return Entry(
        tool=store.once(call.tool[:MAX_TEXT]),
        server=store.once(call.server[:MAX_TEXT]),
        status=call.status,
        arguments=store.once(tuple(_facts(each, store) for each in shown)),
        digests=store.once(digests),
        digest_key=store.once(call.digest_key[:64]),
        uncited=store.once(uncited, 1 + len(uncited)),
        partial=store.once(frozenset(partial & {"arguments", "leaves", "sources"})),
        place=call.place,
        ids=(store.once(call.trace_id), call.span_id, call.parent_id),
        start=call.start,
        end=call.end,
    )


def _is_compared(argument: Argument) -> bool:
    """What no schema declares is on a span only if it took from the budget, so elsewhere it counts only then too."""
    return argument.name != UNDECLARED or bool(argument.counted)


def _uncited(call: Call) -> tuple[str, ...]:
    paths = (*call.assumed_fields, *(path for argument in call.arguments for path in argument.counted))
    return tuple(dict.fromkeys(field(path[:MAX_TEXT]) for path in paths[:MAX_ARGUMENTS]))


def _facts(argument: Argument, store: _Store) -> ArgumentFacts:
    if argument.name == UNDECLARED:
        return ArgumentFacts(UNDECLARED, "assumed", "", "", "exact", False, ())
    cited = argument.cited
    leaves = _leaves(argument.leaves)
    return store.once(
        ArgumentFacts(
            name=argument.name[:MAX_TEXT],
            kind=argument.kind,
            source_tool="" if cited is None else cited.tool[:MAX_TEXT],
            source=_source(cited),
            projection="" if cited is None else argument.projection[:MAX_TEXT],
            weak=argument.weak,
            leaves=leaves,
        ),
        1 + sum(1 + len(leaf.sources) + len(leaf.projections) for leaf in leaves),
    )


def _leaves(leaves: tuple[Leaf, ...]) -> tuple[LeafFacts, ...]:
    groups: dict[str, list[Leaf]] = {}
    for leaf in leaves:
        groups.setdefault(field(leaf.path[:MAX_TEXT]), []).append(leaf)
    return tuple(
        LeafFacts(
            path=path,
            kind=max((leaf.kind for leaf in group), key=rank),
            sources=tuple(sorted({_source(leaf.cited) for leaf in group if _has_tool(leaf)}))[:MAX_LEAVES],
            projections=tuple(sorted({leaf.projection for leaf in group if _has_tool(leaf)}))[:MAX_LEAVES],
        )
        for path, group in sorted(groups.items())[:MAX_LEAVES]
    )


def _has_tool(leaf: Leaf) -> bool:
    """An evidence file does not say where the user said a value."""
    return leaf.cited is not None and leaf.kind in {"observed", "derived"}


def _source(cited: Cited | None) -> str:
    return "" if cited is None else field(cited.shown[:MAX_TEXT])
