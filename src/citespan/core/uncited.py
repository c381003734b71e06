"""Echo and state: the two rules that keep an uncited value from citing itself (design section 2).

Echo looks at one call: what its own result gives back of the uncited values that it was given. State looks at the run:
what a call that may have changed something could have stored, whichever tool returns it later. Both compare folded
text (`citespan.core.fold`). ADR 0003 says where this is stricter than the design's wording.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, NamedTuple, TypeAlias

from citespan.core.decision import Tag
from citespan.core.fold import forms, occurs, words
from citespan.core.opaque import Opaque
from citespan.core.shapes import names_host

Echo: TypeAlias = Literal["echo", "wraps"] | None

#: shorter uncited values are found inside too many honest ones
MIN_WRAPPED: Final = 4
MAX_MARKS: Final = 20_000
MAX_MARK_CHARS: Final = 4 * 1024 * 1024
_MAX_CHECKS: Final = 64


def uncited(tags: Iterable[Tag]) -> tuple[str, ...]:
    """U(c): the folded text of every `assumed` leaf of a call, allowed ones and unnamed keys included."""
    found: dict[str, None] = {}
    for tag in tags:
        if tag.provenance.kind != "assumed":
            continue
        value = tag.leaf.value
        for scalar in value.texts if type(value) is Opaque else (value,):
            for text in forms(scalar):
                if text:
                    found[text] = None
    return tuple(found)


def echo(folded: str, given: tuple[str, ...]) -> Echo:
    """Whether a result's value only gives back what the call was given uncited.

    "echo": it equals one, is a piece of one in whole tokens, leads to an uncited host or mailbox, or is put together
    from nothing but uncited values. "wraps": it contains one of at least 4 characters in another way; such a citation
    is weak.

    Args:
        folded: the folded text of the value; given: U(c).

    Example:
        >>> echo("prod.env", ("/srv/prod.env",)), echo("evil.com/x", ("evil.com",)), echo("src/app.py", ("src",))
        ('echo', 'echo', None)
    """
    if not given:
        return None
    wraps: Echo = None
    rest = folded
    for text in given:
        if folded == text or occurs(folded, text):
            return "echo"
        if text in folded:
            if len(text) >= MIN_WRAPPED:
                if names_host(text) and occurs(text, folded):
                    return "echo"
                wraps = "wraps"
            rest = rest.replace(text, " ")
    if rest is not folded and not words(rest):
        return "echo"
    return wraps


def unreadable(tags: Iterable[Tag]) -> bool:
    """Whether U(c) cannot be known whole: an argument that nobody exempted holds more than could be read."""
    return any(type(tag.leaf.value) is Opaque and tag.leaf.value.unread and not tag.allowed for tag in tags)


class Mark(NamedTuple):
    """One uncited value that a call may have stored.

    Args:
        text: its folded text. since: observations from this ordinal on cannot make it citable.
    """

    text: str
    since: int


class Marks:
    """Every uncited value that went into a call that ran and may have written. Append-only and bounded.

    When the bound is reached, nothing observed from then on can be shown to be independent, so nothing is: `overflow`
    is the ordinal from which every observation is barred.
    """

    __slots__ = ("_by_word", "_chars", "_equal", "overflow")

    def __init__(self) -> None:
        self._equal: dict[str, int] = {}
        self._by_word: dict[str, list[Mark]] = {}
        self._chars = 0
        self.overflow: int | None = None

    def __bool__(self) -> bool:
        return self.overflow is not None or bool(self._equal)

    def add(self, texts: Iterable[str], since: int) -> None:
        """Mark texts, each from its first marking on."""
        for text in texts:
            if text in self._equal:
                continue
            if len(self._equal) >= MAX_MARKS or self._chars + len(text) > MAX_MARK_CHARS:
                self.bar_all(since)
                return
            self._equal[text] = since
            self._chars += len(text)
            mark = Mark(text, since)
            for word in set(words(text)):
                self._by_word.setdefault(word, []).append(mark)

    def bar_all(self, since: int) -> None:
        """Nothing observed from here on can be shown to be independent: a call's uncited values are not known."""
        if self.overflow is None:
            self.overflow = since

    def bars(self, folded: str, ordinal: int) -> bool:
        """Whether an observation with this ordinal cannot make a value citable: it or a whole around it is marked."""
        if self.overflow is not None and ordinal >= self.overflow:
            return True
        since = self._equal.get(folded)
        if since is not None and ordinal >= since:
            return True
        if not self._by_word:
            return False
        candidates: list[Mark] | None = None
        for word in words(folded):
            marks = self._by_word.get(word)
            if marks is None:
                return False
            if candidates is None or len(marks) < len(candidates):
                candidates = marks
        if candidates is None:
            return False
        return len(candidates) > _MAX_CHECKS or any(
            ordinal >= mark.since and occurs(folded, mark.text) for mark in candidates
        )
