"""What is wrong with the calls of a test, in words and with the view of each call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from citespan.calls import Call
from citespan.core.resolve import Rulebook
from citespan.files.texts import plain
from citespan.show import view
from citespan.testing.happened import Happened
from citespan.testing.journal import MOST
from citespan.testing.marker import Asked

#: calls that are shown in full, and fields that a line names
MOST_SHOWN: Final = 3
MOST_NAMED: Final = 8
#: what is said of calls that fail a test whatever its limit, by their status
_WORDS: Final = {
    "blocked": "refused",
    "error": "not judged, since the guard itself failed",
    "unguarded": "unguarded: nothing could have stopped the tool's body",
}


class Finding(NamedTuple):
    """One thing that is wrong: a line, and the calls that it is about."""

    text: str
    calls: tuple[Call, ...]


def findings(all_calls: Sequence[Happened], asked: Asked, full: bool = False) -> tuple[Finding, ...]:
    """What fails the test; nothing for a test that is fine.

    Args:
        all_calls: the calls of the test. asked: what its markers say. full: whether there were more than could be kept.

    Example:
        >>> from citespan.core.policy import Policy
        >>> blocked = Happened(Call("patch_file", status="blocked", assumed_fields=("path",)), 1)
        >>> findings([blocked], Asked(Policy()))[0].text
        '1 tool call was refused: patch_file.path'
    """
    found = _finding(
        [one.call for one in all_calls if one.late], "made in a run that is over, by what was left running"
    )
    calls = [one for one in all_calls if not (one.expected or one.late)]
    for status, word in _WORDS.items():
        found += _finding([one.call for one in calls if one.call.status == status], word)
    ran = [one for one in calls if one.call.status not in _WORDS]
    found += _finding([one.call for one in ran if one.outside], "made where no run is open")
    if asked.most is None:
        found += _finding(_let_through(ran, asked), "let through by a policy that is not the test's")
    uncited = sum(one.counted for one in ran)
    if asked.most is not None and uncited > asked.most:
        over = [one.call for one in ran if one.counted]
        leaves = f"{uncited} uncited {'leaf' if uncited == 1 else 'leaves'}"
        found.append(Finding(f"{leaves} in calls that ran, max_assumed is {asked.most}: {_named(over)}", tuple(over)))
    if full:
        found.append(Finding(f"more than {MOST:,} calls or spans in one test: not all were looked at", ()))
    return tuple(found)


def _let_through(ran: Iterable[Happened], asked: Asked) -> list[Call]:
    """Calls that the test's policy would have refused, and that ran under one of the program's own, which only tags."""
    book = Rulebook(asked.policy)
    return [
        one.call
        for one in ran
        if one.counted
        and (one.call.status == "flagged" or one.call.mode == "off")
        and one.call.policy != book.digest
        and book.tool(one.call.tool, one.call.server or None).mode == "enforce"
    ]


def _finding(calls: Sequence[Call], word: str) -> list[Finding]:
    if not calls:
        return []
    number = "1 tool call was" if len(calls) == 1 else f"{len(calls):,} tool calls were"
    return [Finding(f"{number} {word}: {_named(calls)}", tuple(calls))]


def _named(calls: Iterable[Call]) -> str:
    """`patch_file.path` of each call that has such a path, its tool of one that has none."""
    names = dict.fromkeys(
        plain(f"{call.name}.{path}" if path else call.name) for call in calls for path in call.assumed_fields or ("",)
    )
    shown = list(names)[:MOST_NAMED]
    return ", ".join(shown) + (f" and {len(names) - len(shown):,} more" if len(names) > len(shown) else "")


def message(found: Sequence[Finding], all_calls: Sequence[Happened], asked: Asked) -> str:
    """What a failed test says: each finding, then the first calls as `citespan show` shows them.

    Args:
        found: at least one. all_calls: of the test: they say how long ago a source was, and what other calls cited.
    """
    troubled = list({id(call): call for finding in found for call in finding.calls}.values())
    run = tuple(one.call for one in all_calls)
    parts = ["\n".join(f"citespan: {finding.text}" for finding in found)]
    parts += [_shown(call, run) for call in troubled[:MOST_SHOWN]]
    if len(troubled) > MOST_SHOWN:
        parts.append(f"and {len(troubled) - MOST_SHOWN:,} more calls")
    if asked.source:
        parts.append(f"policy: {plain(asked.source)}")
    return "\n\n".join(parts)


def _shown(call: Call, run: Sequence[Call]) -> str:
    """The view of a call. What cannot be shown must not hide what the findings say."""
    try:
        return view(call, run).rstrip("\n")
    except Exception as error:
        return f"{plain(call.name)} cannot be shown: {type(error).__name__}"
