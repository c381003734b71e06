"""Right refusals, by rule: the value names something, and the run never saw that name.

A name is an id, a path, a URL, an e-mail address, an account number, a single word or code, or a row of at most four
words that each start with a capital letter or a digit. Numbers, dates, booleans and sentences are none. The run saw it if
it stands, in any folded form, in what the user said by then, or in a field of an earlier result that is not prose; there as
a whole or as whole tokens. A result that came after the name was first passed to a tool does not count: it may only give
it back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from citespan.core.fold import all_forms, fold, occurs, squeeze
from citespan.core.shapes import is_document, is_prose
from citespan.learn.looks import look
from citespan.trajectories import Trajectory

_NAMES: Final = frozenset({"id", "path", "url", "email", "account", "word", "token"})
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
            if not prose and _holds(leaf, wanted, solid):
                return False
    return True


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
