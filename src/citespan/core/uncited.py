"""Echo and state: the two rules that keep an uncited value from citing itself (design section 2).

Echo looks at one call: what its own result gives back of the uncited values that it was given. State looks at the run:
what a call that may have changed something could have stored, whichever tool returns it later. Both compare folded
text (`citespan.core.fold`). ADR 0003 says where this is stricter than the design's wording.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

from citespan.core.decision import Tag
from citespan.core.equality import is_weak
from citespan.core.fold import all_forms, occurs, squeeze, words
from citespan.core.kinds import Observed
from citespan.core.opaque import Opaque
from citespan.core.projections import MIN_SHA
from citespan.core.shapes import names_host

Echo: TypeAlias = Literal["echo", "wraps"] | None

#: shorter uncited values are found inside too many honest ones
MIN_WRAPPED: Final = 4
MAX_MARKS: Final = 20_000
MAX_MARK_CHARS: Final = 4 * 1024 * 1024
#: marks that a piece is compared with; beyond it the answer is "marked"
#: values up to this length are cut into all their parts, to look these up among many uncited texts
MAX_CUT: Final = 64
_MAX_CHECKS: Final = 512
MAX_TRIED: Final = 20_000
HASH_LENGTHS: Final = frozenset({40, 64})


class Wrapping(str):
    """An uncited text around an uncited one: a value that is any part of it, cut out of a word even, is an echo."""

    __slots__ = ()


def uncited(tags: Iterable[Tag], names: Iterable[str] = ()) -> tuple[str, ...]:
    """U(c): the folded text of every `assumed` leaf of a call, allowed ones and unnamed keys included.

    Args:
        names: argument names that no schema declares, beside the keys among the tags.
    """
    found: dict[str, None] = {text: None for name in names for text in all_forms(name)}
    for tag in tags:
        wraps = _wraps(tag)
        if tag.provenance.kind != "assumed" and not wraps:
            continue
        value = tag.leaf.value
        for scalar in value.texts if type(value) is Opaque else (value,):
            found.update(dict.fromkeys(all_forms(scalar)))
            if wraps:
                found.update({Wrapping(f"{text}\0"): None for text in all_forms(scalar)})
        if type(tag.provenance) is Observed:
            # what it is built around goes on being uncited, however often it is wrapped and unwrapped
            found.update(dict.fromkeys(tag.provenance.wrapped))
    return tuple(found)


def _wraps(tag: Tag) -> bool:
    """Whether a leaf is cited only by values that wrap an uncited one: unwrapping it must not make that citable."""
    provenance = tag.provenance
    return type(provenance) is Observed and provenance.weak and not is_weak(tag.leaf.value)


class Given:
    """U(c) made ready for being asked about many values of one result.

    Args:
        texts: U(c), as `uncited` gives it.
    """

    __slots__ = ("_joined", "_solid", "_texts", "_whole", "_wrapping")

    def __init__(self, texts: tuple[str, ...]) -> None:
        self._texts = tuple(text for text in texts if type(text) is not Wrapping)
        self._wrapping = "\n".join(text for text in texts if type(text) is Wrapping)
        self._whole = frozenset(self._texts)
        self._solid = frozenset(solid for text in self._texts if (solid := squeeze(text)))
        self._joined = "\0".join(self._texts)

    def echo(self, folded: str, *, text: bool = True) -> Echo:
        """See the function `echo`."""
        if not folded or not (self._texts or self._wrapping):
            return None
        if folded in self._whole or squeeze(folded) in self._solid:
            return "echo"
        if len(folded) >= MIN_WRAPPED and folded in self._wrapping:
            return "echo"
        if folded in self._joined and any(is_piece(folded, known) for known in self._texts):
            return "echo"
        wraps: Echo = None
        for known in self.inside(folded):
            if names_host(known) and occurs(known, folded):
                return "echo"
            wraps = "wraps"
        return "echo" if text and _made_of(folded, self.inside(folded, 1)) else wraps

    def inside(self, folded: str, least: int = MIN_WRAPPED) -> Iterator[str]:
        """The uncited texts of at least so many characters that stand in a value."""
        length = len(folded)
        if length <= MAX_CUT and len(self._texts) > length:
            for start in range(length - least + 1):
                for end in range(start + least, length + 1):
                    if folded[start:end] in self._whole:
                        yield folded[start:end]
        else:
            yield from (known for known in self._texts if len(known) >= least and known in folded)


def echo(folded: str, given: tuple[str, ...], *, text: bool = True) -> Echo:
    """Whether a result's value only gives back what the call was given uncited.

    "echo": it equals one, is a piece of one in whole tokens, leads to an uncited host or mailbox, or is put together
    from nothing but uncited values. "wraps": it contains one of at least 4 characters in another way; such a citation
    is weak.

    Args:
        folded: the folded text of the value; given: U(c).
        text: whether the value is a text; numbers are compared whole.

    Example:
        >>> echo("prod.env", ("/srv/prod.env",)), echo("evil.com/x", ("evil.com",)), echo("src/app.py", ("src",))
        ('echo', 'echo', None)
    """
    return Given(given).echo(folded, text=text)


def is_piece(folded: str, text: str) -> bool:
    """Whether a value is a piece of an uncited text, in whole tokens, or git's abbreviation of a hash in it."""
    if occurs(folded, text):
        return True
    return len(text) in HASH_LENGTHS and len(folded) >= MIN_SHA and text.startswith(folded)


def _made_of(folded: str, given: Iterable[str]) -> bool:
    """Whether a text is a row of uncited ones, with nothing but punctuation and blanks between them.

    Where all of them are single characters there must be two different ones: else any number were made of a digit.
    """
    pieces: dict[str, list[str]] = {}
    for text in dict.fromkeys(given):
        pieces.setdefault(text[0], []).append(text)
    if not pieces:
        return False
    reached: dict[int, frozenset[str] | None] = {0: frozenset()}
    waiting = [0]
    tried = 0
    while waiting:
        at = waiting.pop()
        used = reached[at]
        tried += len(pieces.get(folded[at], ())) if at < len(folded) else 0
        if tried > MAX_TRIED:
            return True  # hostile repetition must not buy time or a citation
        if at == len(folded):
            if used is None or len(used) > 1:
                return True
            continue
        steps: list[tuple[int, frozenset[str] | None]] = []
        for text in pieces.get(folded[at], ()):
            if folded.startswith(text, at):
                steps.append((at + len(text), None if used is None or len(text) > 1 else used | {text}))
        if not folded[at].isalnum():
            steps.append((at + 1, used))
        for end, then in steps:
            known = reached.get(end, frozenset())
            better = end not in reached or (known is not None and (then is None or len(then) > len(known)))
            if better:
                reached[end] = then
                waiting.append(end)
    return False


def unreadable(tags: Iterable[Tag]) -> bool:
    """Whether U(c) cannot be known whole: an argument holds more than could be read.

    A foreign object in an argument that the policy exempts (what a framework hands in) is known by its attributes.
    """
    return any(
        type(tag.leaf.value) is Opaque and (tag.leaf.value.cut or (tag.leaf.value.foreign and not tag.allowed))
        for tag in tags
    )


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

    __slots__ = ("_by_word", "_chars", "_hashes", "_hosts", "_lifted", "_solid", "_texts", "overflow")

    def __init__(self) -> None:
        self._solid: dict[str, int] = {}
        self._by_word: dict[str, list[Mark]] = {}
        #: marks that are hosts, by their first word: what is built around one leads there
        self._hosts: dict[str, list[Mark]] = {}
        #: full commit hashes in marks, by their first characters
        self._hashes: dict[str, list[Mark]] = {}
        self._texts: set[str] = set()
        self._chars = 0
        self._lifted: set[str] = set()
        self.overflow: int | None = None

    def __bool__(self) -> bool:
        return self.overflow is not None or bool(self._solid)

    def add(self, texts: Iterable[str], since: int) -> None:
        """Mark texts, each from its first marking on."""
        for text in texts:
            if type(text) is Wrapping or text in self._texts:
                continue
            if len(self._texts) >= MAX_MARKS or self._chars + len(text) > MAX_MARK_CHARS:
                self.bar_all(since)
                return
            self._texts.add(text)
            self._solid.setdefault(squeeze(text) or text, since)
            self._chars += len(text)
            mark = Mark(text, since)
            for word in set(words(text)):
                self._by_word.setdefault(word, []).append(mark)
                if len(word) in HASH_LENGTHS:
                    self._hashes.setdefault(word[:MIN_SHA], []).append(Mark(word, since))
            if names_host(text):
                self._hosts.setdefault(_first(text), []).append(mark)

    def bar_all(self, since: int) -> None:
        """Nothing observed from here on can be shown to be independent: a call's uncited values are not known."""
        if self.overflow is None:
            self.overflow = since

    def lift(self, texts: Iterable[str]) -> None:
        """A proposal for a value was approved: it may be cited from now on, and so may what returns it."""
        self._lifted.update(texts)

    def bars(self, folded: str, ordinal: int) -> bool:
        """Whether an observation with this ordinal cannot make a value citable.

        It cannot if the value, or a whole that it is a piece of, is marked, or if it leads to a marked host.
        """
        if folded in self._lifted:
            return False
        if self.overflow is not None and ordinal >= self.overflow:
            return True
        if not self._solid:
            return False
        since = self._solid.get(squeeze(folded) or folded)
        if since is not None and ordinal >= since:
            return True
        found = words(folded)
        return self._bars_piece(folded, ordinal, found) or self._bars_host(folded, ordinal, found)

    def _bars_piece(self, folded: str, ordinal: int, found: list[str]) -> bool:
        hashes = self._hashes.get(folded[:MIN_SHA], ())
        if any(ordinal >= mark.since and mark.text.startswith(folded) for mark in hashes):
            return True
        candidates: list[Mark] | None = None
        for word in found:
            marks = self._by_word.get(word)
            if marks is None:
                return False
            if candidates is None or len(marks) < len(candidates):
                candidates = marks
        if candidates is None:
            return False
        checked = 0
        for mark in candidates:
            if ordinal < mark.since:
                continue
            checked += 1
            if checked > _MAX_CHECKS or occurs(folded, mark.text):
                return True
        return False

    def _bars_host(self, folded: str, ordinal: int, found: list[str]) -> bool:
        return bool(self._hosts) and any(
            ordinal >= mark.since and occurs(mark.text, folded)
            for word in dict.fromkeys(found)
            for mark in self._hosts.get(word, ())
        )


def _first(text: str) -> str:
    found = words(text)
    return found[0] if found else text
