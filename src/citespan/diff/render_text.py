"""A comparison for a person: one sign per line, unchanged calls as a count."""

from __future__ import annotations

from collections.abc import Iterator, Set
from itertools import groupby
from typing import Final, Literal, NamedTuple, TypeAlias

from citespan.calls.model import Verdict
from citespan.diff.model import Change, Diff, Entry, Run, RunDiff, Step, Trend

#: which calls are told: those that changed, those that got worse, or all
Shown: TypeAlias = Literal["changes", "worse", "all"]
#: how a line starts. "@" a run, "=" calls that are the same, "~" a change, "+" only in B, "-" only in A, ">" moved
Sign: TypeAlias = Literal["@", "=", "~", "+", "-", ">", " "]

_SIGNS: Final[dict[str, Sign]] = {"same": "=", "changed": "~", "added": "+", "removed": "-", "moved": ">"}
_PAIRED: Final = {"id": "by their id", "agent": "by agent and order", "order": "by order"}
_WHAT: Final = {
    "kind": "kind",
    "source_tool": "source",
    "source_field": "field",
    "projection": "projection",
    "weak": "citation",
    "status": "status",
    "added": "added",
    "removed": "removed",
}


class Line(NamedTuple):
    """One line without its line break. What it says of a file is as the file has it: make it plain before printing."""

    sign: Sign
    text: str
    trend: Trend = "same"

    def __str__(self) -> str:
        """Sign, text, and the trend in words, since not everybody sees colours."""
        mark = "" if self.trend == "same" else f"  ({self.trend})"
        return f"{self.sign} {self.text}{mark}".rstrip()


def render_text(diff: Diff, name_a: str, name_b: str, shown: Shown = "changes") -> Iterator[Line]:
    """The lines of a comparison.

    Args:
        name_a, name_b: of the files.

    Example:
        `"\\n".join(str(line) for line in render_text(diff, "good.jsonl", "bad.jsonl"))`
    """
    yield Line("-", f"A {name_a}")
    yield Line("+", f"B {name_b}")
    for run in diff.runs:
        yield from _run(run, shown)
    for only in diff.only_a if shown != "worse" else ():
        yield Line("-", f"only in A: {_run_name(only)}, {_calls(only)}", _only(only, "better", diff.bad))
    for only in diff.only_b:
        if shown != "worse" or _only(only, "worse", diff.bad) == "worse":
            yield Line("+", f"only in B: {_run_name(only)}, {_calls(only)}", _only(only, "worse", diff.bad))
    yield Line(" ", "")
    yield Line(" ", _summary(diff))


def _run(run: RunDiff, shown: Shown) -> Iterator[Line]:
    told = [step for step in run.steps if shown != "worse" or step.trend == "worse"]
    if shown == "worse" and not told:
        return
    names = _run_name(run.a) if run.a.id == run.b.id else f"{_run_name(run.a)} -> {_run_name(run.b)}"
    yield Line("@", f"{names}, {_calls(run.a)} -> {_calls(run.b)}, paired {_PAIRED[run.paired_by]}")
    for group in _folded(run, told, shown):
        first, last = group[0], group[-1]
        entry = run.entry(first)
        sign = _SIGNS[first.op]
        if first.op == "same" and shown != "all":
            yield Line(sign, f"{_number(len(group), 'call')} unchanged")
            continue
        yield Line(sign, f"{entry.name}  {_where(first, last, len(group))}{_notes(first, entry)}", first.trend)
        width = max((len(change.path) for change in first.changes), default=0)
        for change in first.changes:
            if shown != "worse" or change.trend == "worse":
                yield Line(" ", f"    {change.path or 'call':{max(width, 4)}}  {_change(change)}", change.trend)


def _folded(run: RunDiff, steps: list[Step], shown: Shown) -> Iterator[list[Step]]:
    """Neighbours that are told in one line."""

    def alike(at: tuple[int, Step]) -> tuple[object, ...]:
        number, step = at
        if step.op == "same" and shown != "all":
            return ("same",)
        if step.repeats is not None:
            return (step.op, step.repeats, step.trend)
        return (number,)

    for _, group in groupby(enumerate(steps), key=alike):
        yield [step for _, step in group]


def _where(first: Step, last: Step, size: int) -> str:
    if first.a is not None and first.b is not None:
        return f"#{first.b + 1}" if first.a == first.b else f"#{first.a + 1} -> #{first.b + 1}"
    begin, end = (first.b, last.b) if first.a is None else (first.a, last.a)
    assert begin is not None  # a step has one call at least
    assert end is not None
    return f"#{begin + 1}" if size == 1 else f"#{begin + 1}..#{end + 1}, {size} times"


def _notes(step: Step, entry: Entry) -> str:
    if step.op not in {"added", "removed"}:
        return ", moved" if step.op == "moved" else ""
    notes = f", again, like #{step.repeats + 1}" if step.repeats is not None else ""
    if entry.status == "none" and step.trend != "same":
        notes += ", not judged"
    elif entry.status not in {"ok", "none"}:
        notes += f", {entry.status}"
    if entry.uncited:
        notes += f", uncited: {', '.join(entry.uncited)}"
    return notes


def _change(change: Change) -> str:
    before = " ".join(text for text in (change.before, change.before_source) if text) or "-"
    after = " ".join(text for text in (change.after, change.after_source) if text) or "-"
    return f"{_WHAT[change.what]:10}  {before} -> {after}"


def _run_name(run: Run) -> str:
    return "run " + (" ".join(text for text in (run.agent, run.id) if text) or "without a name")


def _calls(run: Run) -> str:
    return _number(len(run.entries), "call")


def _only(run: Run, trend: Trend, bad: Set[Verdict]) -> Trend:
    return trend if any(entry.is_bad(bad) for entry in run.entries) else "same"


def _summary(diff: Diff) -> str:
    found = diff.summary
    calls = [
        f"{found.calls.get('same', 0)} unchanged",
        f"{found.calls.get('changed', 0)} changed",
        f"{found.calls.get('moved', 0)} moved",
        f"{found.calls.get('removed', 0)} only in A",
        f"{found.calls.get('added', 0)} only in B",
    ]
    kinds = found.changes.get("kind", 0)
    return (
        f"{_number(found.runs, 'run')} compared, calls: {', '.join(calls)}; "
        f"{_number(kinds, 'kind')} changed; {found.worse} worse, {found.better} better"
    )


def _number(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
