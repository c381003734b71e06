"""What a human said: whole tokens of messages, and what follows from them (design section 2, tokens of a user message).

A value is cited as it stands in a message ("exact"), else by a named folding that grants no more than was said:

    casefold     the same text in another case, or with other blanks; not of a path, a URL or a JSON text, and an id
                 only as a whole in the other case (`m05knl` and `M05KNL`)
    number       the value of a number with a currency sign or grouped digits: `$1,100.00` says 1100 and "1100"
    number_word  a number in words: `twenty-five` says 25
    date         a date or time in another form, if every part was said in one expression (`December 2028` says
                 "12/2028" and "12/28"); a date with a time, if one message said both

"exact" is preferred, and of equals the newest message. All is indexed when it is said: the time of a look-up does not
grow with the number of messages.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from heapq import nlargest
from itertools import islice
from typing import Any, Final

from citespan.core import dates, locks, number_words
from citespan.core.equality import EXACT_FLOAT, is_weak
from citespan.core.fold import UNSPACED, joins, words
from citespan.core.images import number_of
from citespan.core.kinds import FromUser
from citespan.core.moments import Offset, quantities
from citespan.core.shapes import shape

#: the foldings, in the order in which they are tried
FOLDINGS: Final = ("casefold", "number", "number_word", "date")

MAX_CHARS: Final = 4 * 1024 * 1024
#: what a message costs beside its characters, so that empty ones are bounded too
MESSAGE_COST: Final = 64
MAX_KNOWN: Final = 1024
MAX_KNOWN_CHARS: Final = 256
#: numbers that a computation may take from what was said; the newest ones
MAX_RECENT: Final = 256
#: messages that are searched for one text, and kept for one date; the newest ones
MAX_HOLDERS: Final = 1024
#: numbers that are kept, and numerals that are read in one message; further ones say nothing
MAX_NUMBERS: Final = 200_000
MAX_NUMERALS: Final = 20_000
MAX_NUMBER: Final = 32
#: texts up to this length are weak where only their case folds
MAX_WEAK_FOLDED: Final = 3

#: what glues a neighbour to a token: `gmail.com` is no token of `ann@gmail.com`, nor `5` of `-5` or `1.5`
_GLUED_BEFORE = re.compile(r"[@/\\~%&+$-]$|\w\.$|\d:$|(?<!\S)\.$")
_GLUED_AFTER = re.compile(rf"^(?:[@/\\~%&+-]|[.:][^\W{UNSPACED}]|,\d)")
_W: Final = rf"[^\W{UNSPACED}]"

_NUMBER = re.compile(
    rf"(?<!{_W})(?<![.,/@-])(?<!\d:)([$€£#]?)([+-]?(?:\d{{1,3}}(?:,\d{{3}})+|\d+)(?:\.\d+)?)"
    rf"(?:(?<=\d)(k)\b(?![.:,-]{_W})|(?!{_W}|[@/]|[.:,-]{_W}))",
    re.IGNORECASE,
)
#: `-58213` does not stand in `T-58213`, nor `.env` in `prod.env`
_SIGNS: Final = frozenset("-./@\\~%&+$_")
_DIGIT = re.compile(r"\d")
#: without a digit and without one of these words a message says no date and no time
_TIME_WORDS: Final = ("noon", "midnight", "clock", "am", "pm", "m")


class UserText:
    """The messages of a run so far. Append-only; over `MAX_CHARS` the oldest stop counting, which fails closed.

    Example:
        >>> said = UserText()
        >>> said.say("fix issue 51234 in acme/web by May 26th, 2024")
        >>> said.cites(51234).kind, said.cites("acme/web").kind, said.cites("web")
        ('user', 'user', None)
        >>> said.cites("2024-05-26").projection, said.cites(26)
        ('date', None)
    """

    __slots__ = (
        "_by_word",
        "_chars",
        "_count",
        "_dated",
        "_dropped",
        "_folded",
        "_known",
        "_lock",
        "_moments",
        "_numbers",
        "_offsets",
        "_readings",
        "_recent",
        "_texts",
    )

    def __init__(self) -> None:
        self._lock = locks.lock()
        self._texts: dict[int, str] = {}
        #: the same, in lower case and with single blanks
        self._folded: dict[int, str] = {}
        self._by_word: dict[str, list[int]] = {}
        #: numbers as they were written, and what else they say: value or text -> message
        self._numbers: dict[str | float, int] = {}
        self._readings: dict[str | float, tuple[int, str]] = {}
        self._moments: dict[dates.Date | dates.Time, list[int]] = {}
        #: days of a month that were said with a year
        self._dated: set[tuple[int, int | None]] = set()
        self._chars = 0
        self._dropped = 0
        self._count = 0
        #: what was asked since the last message; agents pass the same names again and again
        self._known: dict[str, FromUser | None] = {}
        self._recent: list[int | float] | None = None
        self._offsets: list[Offset] | None = None

    def say(self, text: str) -> None:
        """Add a message. The system prompt, tool results and assistant text are never said (design section 2)."""
        text = text if text.isascii() else unicodedata.normalize("NFC", text)
        with self._lock:
            index = self._count
            self._count += 1
            if len(text) <= MAX_CHARS:
                lowered = text.lower()
                folded = " ".join(lowered.split())
                self._chars += len(text) + MESSAGE_COST
                self._texts[index] = text
                self._folded[index] = text if folded == text else folded
                for word in set(words(folded)):
                    self._by_word.setdefault(word, []).append(index)
                self._read(lowered, index)
                self._forget()
            # not cleared: a look-up that runs now may still write what it found before into the old one
            self._known = {}
            self._recent = None
            self._offsets = None

    def _read(self, lowered: str, index: int) -> None:
        """Index the dates of a message, then the numbers outside of them."""
        if _DIGIT.search(lowered) or self._holds(_TIME_WORDS, index):
            spans = []
            for said in dates.find(lowered):
                spans.append((said.start, said.end))
                self._dated.update((month, day) for year, month, day in said.dates if year is not None)
                for form in dates.granted(said):
                    holders = self._moments.setdefault(form, [])
                    if not holders or holders[-1] != index:
                        del holders[: 1 - MAX_HOLDERS]
                        holders.append(index)
            lowered = dates.without(lowered, spans)
        if self._holds(number_words.VOCABULARY, index):
            spans = []
            for numeral in islice(number_words.find(lowered), MAX_NUMERALS):
                spans.append((numeral.start, numeral.end))
                if numeral.value is not None:
                    self._reads(str(numeral.value), numeral.value, index, "number_word")
            lowered = dates.without(lowered, spans)
        for found in _NUMBER.finditer(lowered):
            if len(self._numbers) + len(self._readings) >= MAX_NUMBERS:
                return
            self._read_number(found, index)

    def _holds(self, vocabulary: Iterable[str], index: int) -> bool:
        by_word = self._by_word
        return any(word in by_word and by_word[word][-1] == index for word in vocabulary)

    def _read_number(self, found: re.Match[str], index: int) -> None:
        sign, digits, thousands = found.groups()
        plain = digits.replace(",", "")
        whole, _, fraction = plain.partition(".")
        if thousands is not None:
            # `$5k` is an amount; what `5k` is nobody can tell
            if sign not in {"", "#"} and len(plain) <= MAX_NUMBER:
                value, rest = divmod(int(whole + fraction) * 1000, 10 ** len(fraction))
                if not rest:
                    self._reads(str(value), value, index, "number")
            return
        if sign or plain is not digits:
            self._reads(plain, float(plain), index, "number")
        else:
            self._numbers[plain] = index
            if whole[:1] != "0" or len(whole) == 1:
                # `007` is a name, not seven
                self._numbers[float(plain)] = index
        if fraction and not fraction.strip("0"):
            self._reads(whole, float(plain), index, "number")

    def _reads(self, text: str, value: float, index: int, folding: str) -> None:
        self._readings[text] = (index, folding)
        self._readings[float(value)] = (index, folding)

    def _forget(self) -> None:
        """Drop the oldest messages over the bound, and now and then what was indexed of them."""
        while self._chars > MAX_CHARS:
            oldest = next(iter(self._texts))
            size = len(self._texts.pop(oldest)) + MESSAGE_COST
            del self._folded[oldest]
            self._chars -= size
            self._dropped += size
        if self._dropped <= MAX_CHARS // 2:
            return
        self._dropped = 0
        first = next(iter(self._texts), self._count)
        self._by_word = dict(_since(first, self._by_word.items()))
        self._moments = dict(_since(first, self._moments.items()))
        self._numbers = {key: index for key, index in self._numbers.items() if index >= first}
        self._readings = {key: reading for key, reading in self._readings.items() if reading[0] >= first}

    def cites(self, value: Any) -> FromUser | None:
        """The message in which a scalar stands as whole tokens, or that says it by a folding; None where none does.

        A policy that admits no folding looks at the `projection`: "exact" is preferred wherever it holds.
        """
        if not self._count:
            return None
        kind = type(value)
        if kind is str:
            known = self._known
            try:
                return known[value]
            except KeyError:
                pass
            found = self._text(value if value.isascii() else unicodedata.normalize("NFC", value))
            said = None
            if found is not None:
                # `LAS` may be a code, and was said as a word of `Las Vegas`
                weak = is_weak(value) or (found[1] == "casefold" and len(value) <= MAX_WEAK_FOLDED)
                said = FromUser("message", str(found[0]), found[1], weak)
            if len(known) < MAX_KNOWN and len(value) <= MAX_KNOWN_CHARS:
                known[value] = said
            return said
        if kind is int or kind is float:
            found = self._number(float(value)) if -EXACT_FLOAT < value < EXACT_FLOAT else self._number(_long(value))
            return None if found is None else FromUser("message", str(found[0]), found[1], is_weak(value))
        return None

    def day(self, moment: dates.Moment) -> FromUser | None:
        """The message that says a date's day and month without a year, and its time where it has one.

        None for a day that was said with a year as well: it is of that year and of no other.

        Example:
            >>> said = UserText()
            >>> said.say("leave on May 20, come back on May 26th, 2024")
            >>> wanted = [dates.read(day) for day in ("2024-05-20", "2024-05-26")]
            >>> [found.projection if (found := said.day(one)) else None for one in wanted]
            ['date', None]
        """
        if moment.date is None:
            return None
        _, month, day = moment.date
        with self._lock:
            if (month, day) in self._dated:
                return None
            index = self._common([(dates.NO_YEAR, month, day), moment.time])
        return None if index is None else FromUser("message", str(index), "date", False)

    def texts(self, most: int) -> list[str]:
        """The messages that still count, newest first, up to so many characters."""
        found: list[str] = []
        with self._lock:
            for text in reversed(self._texts.values()):
                most -= len(text)
                if most < 0:
                    break
                found.append(text)
        return found

    def offsets(self, characters: int, most: int) -> list[Offset]:
        """The quantities of time that the newest messages say, newest first; read once, however often it is asked."""
        found, count = self._offsets, self._count
        if found is None:
            said = (offset for text in self.texts(characters) for offset in quantities(text))
            found = list(islice(dict.fromkeys(said), most))
            with self._lock:
                if self._count == count:  # nothing was said meanwhile
                    self._offsets = found
        return found

    def numbers(self, most: int) -> list[int | float]:
        """The numbers that the user said, those of the newest message first."""
        with self._lock:
            if self._recent is None:
                said = {key: index for key, index in self._numbers.items() if type(key) is str}
                said |= {key: reading[0] for key, reading in self._readings.items() if type(key) is str}
                newest = [key for key, index in nlargest(MAX_RECENT, said.items(), key=_index) if index in self._texts]
                self._recent = [number for key in newest if (number := number_of(key)) is not None]
            return self._recent[:most]

    def _number(self, key: str | float) -> tuple[int, str] | None:
        index = self._numbers.get(key)
        if index is not None and index in self._texts:
            return index, "exact"
        reading = self._readings.get(key)
        return reading if reading is not None and reading[0] in self._texts else None

    def _text(self, value: str) -> tuple[int, str] | None:
        if value.isdecimal():
            return self._number(value)
        found = self._stands(value)
        if found is None and len(value) <= dates.MAX_VALUE:
            if len(value) <= MAX_NUMBER and value[-1:].isdecimal() and not value[:1].isalpha():
                found = self._number(value)
            if found is None:
                found = self._moment(value)
        return found

    def _stands(self, value: str) -> tuple[int, str] | None:
        """The newest message in which a text stands exactly, else the newest in which it stands folded."""
        folded = " ".join(value.lower().split())
        rarest: list[int] | None = None
        for word in words(folded):
            holders = self._by_word.get(word)
            if holders is None:
                return None
            if rarest is None or len(holders) < len(rarest):
                rarest = holders
        newest: int | None = None
        for index in reversed((rarest or ())[-MAX_HOLDERS:]):
            text, other = self._texts.get(index), self._folded.get(index)
            if text is None or other is None or not _stands_in(folded, other):
                continue
            if _stands_in(value, text):
                return index, "exact"
            if newest is None and self._same_but_for_case(value, text):
                newest = index
        return None if newest is None else (newest, "casefold")

    @staticmethod
    def _same_but_for_case(value: str, text: str) -> bool:
        """Whether a folding may grant a text: the case of a path, a URL or a mixed id is a part of its name."""
        looks = shape(value)
        if looks == "id":
            other = value.lower() if value.isupper() else value.upper() if value.islower() else ""
            return bool(other) and _stands_in(other, text)
        return looks not in {"path", "url", "json"}

    def _moment(self, value: str) -> tuple[int, str] | None:
        moment = dates.read(value)
        if moment is None:
            return None
        index = self._common(moment)
        return None if index is None else (index, "date")

    def _common(self, parts: Iterable[dates.Date | dates.Time | None]) -> int | None:
        """The newest message that says all parts of a moment."""
        wanted = [self._moments.get(part, ()) for part in parts if part is not None]
        common = set(wanted[0]).intersection(*wanted[1:], self._texts)
        return max(common) if common else None


def _index(entry: tuple[str, int]) -> int:
    return entry[1]


def _long(value: int | float) -> str:
    """The text of a number that a float does not hold exactly; "" for one that nobody writes out."""
    return str(value) if type(value) is int and value.bit_length() <= 1000 else ""


def _since(first: int, postings: Iterable[tuple[Any, list[int]]]) -> Iterator[tuple[Any, list[int]]]:
    for key, holders in postings:
        if holders[-1] >= first:
            yield key, holders if holders[0] >= first else [index for index in holders if index >= first]


def _cuts(beside: str, edge: str) -> bool:
    """Whether a text with this edge is cut out of what stands beside it: out of a word, or with a sign inside one."""
    return joins(beside, edge) or (beside.isalnum() and edge in _SIGNS)


def _stands_in(value: str, text: str) -> bool:
    start = text.find(value)
    for _ in range(1000):
        if start < 0:
            return False
        end = start + len(value)
        cut = (start > 0 and _cuts(text[start - 1], value[0])) or (end < len(text) and _cuts(text[end], value[-1]))
        if (
            not cut
            and not _GLUED_BEFORE.search(text[max(0, start - 2) : start])
            and not _GLUED_AFTER.match(text[end : end + 2])
        ):
            return True
        start = text.find(value, start + 1)
    return False
