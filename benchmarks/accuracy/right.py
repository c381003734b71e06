"""Right refusals, by rule: the value names something, and the run never saw that name.

A name is an id, a path, a URL, an e-mail address, an account number, a single word or code, or a row of at most four
words that each start with a capital letter or a digit. Numbers, dates, booleans and sentences are none. The run saw it
if it stands, in any folded form, in what the user said by then, or in a field of an earlier result that is not prose;
there as a whole or as whole tokens. A result that came after the name was first passed to a tool does not count: it may
only give it back.

A second reading is counted apart: dates of which the run never saw the day in any form.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from citespan.core.dates import Date
from citespan.core.dates import find as find_dates
from citespan.core.dates import read as read_date
from citespan.core.fold import all_forms, fold, occurs, squeeze
from citespan.core.shapes import is_document, is_prose
from citespan.learn.looks import look
from citespan.trajectories import Trajectory

_NAMES: Final = frozenset({"id", "path", "url", "email", "account", "word", "token", "name"})
MAX_NAME_WORDS: Final = 4


def is_name(value: Any) -> bool:
    """Whether a value names something.

    Example:
        >>> is_name("W77123"), is_name("Ada Byron"), is_name("see you tomorrow"), is_name(12)
        (True, True, False, False)
    """
    if type(value) is not str or not value.strip():
        return False
    seen = look(value)
    if seen in _NAMES or seen not in {"phrase", "prose"}:
        return seen in _NAMES
    words = value.split()
    return 1 < len(words) <= MAX_NAME_WORDS and all(word[0].isupper() or word[0].isdigit() for word in words)


def is_right(value: Any, trajectory: Trajectory, position: int) -> bool:
    """Whether a value of the call at a position is a name that the run never saw, or saw only inside prose."""
    if not is_name(value):
        return False
    wanted = {form for form in all_forms(value) if form}
    solid = {squeeze(form) for form in wanted} - {""}
    call = trajectory.calls[position]
    if any(_holds(text, wanted, solid) for text in trajectory.user_messages[: call.turn + 1]):
        return False
    for earlier in trajectory.calls[:position]:
        if any(fold(leaf) in wanted for leaf, _ in _leaves(earlier.arguments)):
            break
        if earlier.failed:
            continue
        for leaf, is_key in _leaves(earlier.result):
            prose = not is_key and type(leaf) is str and is_prose(leaf) and not is_document(leaf)
            if _stands_alone(leaf, wanted) if prose else _holds(leaf, wanted, solid):
                return False
    return True


def is_unseen_date(value: Any, trajectory: Trajectory, position: int) -> bool:
    """Whether a value of the call at a position is a date, or a date and a time, whose day the run never saw."""
    moment = read_date(value) if type(value) is str else None
    if moment is None or moment.date is None or moment.date[2] is None:
        return False
    call = trajectory.calls[position]
    texts = list(trajectory.user_messages[: call.turn + 1])
    for earlier in trajectory.calls[:position]:
        if any(type(leaf) is str and _says(leaf, moment.date) for leaf, _ in _leaves(earlier.arguments)):
            break
        if not earlier.failed:
            texts.extend(leaf for leaf, _ in _leaves(earlier.result) if type(leaf) is str)
    return not any(_says(text, moment.date) for text in texts)


def _says(text: str, date: Date) -> bool:
    return any(date in found.dates for found in find_dates(text.lower()))


def _stands_alone(text: str, wanted: set[str]) -> bool:
    """Whether a value is a whole line of a longer text, or what a line says after its colon: a listing, not prose."""
    return any(fold(part) in wanted for line in text.splitlines() for part in (line, line.partition(": ")[2]) if part)


def _holds(leaf: Any, wanted: set[str], solid: set[str]) -> bool:
    folded = fold(leaf)
    return folded in wanted or squeeze(folded) in solid or any(occurs(form, folded) for form in wanted)


def _leaves(value: Any) -> Iterator[tuple[Any, bool]]:
    """Every scalar and every key of a JSON value."""
    waiting = [value]
    while waiting:
        at = waiting.pop()
        if type(at) is dict:
            yield from ((key, True) for key in at)
            waiting.extend(at.values())
        elif type(at) is list:
            waiting.extend(at)
        else:
            yield at, False
