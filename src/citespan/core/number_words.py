"""Numbers in words: `twenty-five`, `two hundred and six`, `a dozen`, `5 thousand` (design section 2).

Only whole numerals of English count. What is vague (`several hundred`, `dozens`), an ordinal, a fraction, a part of a
compound (`two-way`) or a mere run of numerals (`four five one`) says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_UNITS: Final = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
}  # fmt: skip
_TEENS: Final = {
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19,
}  # fmt: skip
_TENS: Final = {
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
_POWERS: Final = {"thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_SCALES: Final = {"hundred": 100, "dozen": 12, **_POWERS}

#: a text without any of these words holds no numeral
VOCABULARY: Final = frozenset({*_UNITS, *_TEENS, *_TENS, *_SCALES})

_WORD = rf"(?:{'|'.join(sorted(VOCABULARY, key=len, reverse=True))})"
_S = r"[^\S\r\n]{1,4}"
_AND = rf"(?:(?<=hundred)|(?<=thousand)|(?<=million)|(?<=billion)){_S}and"
#: run over lower-case text
_RUN = re.compile(
    rf"""\b(?=[abdefhmnostz\d])(?:
      (?:an?{_S}(?=hundred|thousand|million|billion|dozen))?{_WORD}\b(?:(?:-|{_S}|{_AND}{_S}){_WORD}\b)*
    | (?P<digits>\d{{1,15}}(?:\.\d{{1,9}})?){_S}(?P<scale>thousand|million|billion|dozen)\b
    )""",
    re.VERBOSE,
)
_PIECES = re.compile(r"[a-z]+")

#: what before a numeral makes it part of something else: a glued character, or one of these words
_GLUED_BEFORE: Final = frozenset("@/\\.,:+&~%$€£#'-_")
_NOT_AFTER: Final = frozenset({
    "point", "minus", "negative", "past", "half", "few", "couple", "several", "many", "some",
    "jan", "january", "feb", "february", "mar", "march", "apr", "april", "may", "jun", "june", "jul", "july",
    "aug", "august", "sep", "sept", "september", "oct", "october", "nov", "november", "dec", "december",
})  # fmt: skip
_NOT_AFTER_TWO: Final = frozenset({("quarter", "to"), ("minutes", "to"), ("couple", "of")})
#: what after it does: an ordinal or a fraction, a compound, an hour of the day
_NOT_BEFORE = re.compile(
    r"""[\w@/\\%+&~'-] | [.:,]\w
      | \s+(?:and\s+)?(?:an?\s+)?(?:half|halves|point|o.?clock|[ap]\.?m\b|past|percent|per\s+cent
              | (?:third|fourth|quarter|fifth|sixth|seventh|eighth|ninth|\w{2,9}teenth|tenth|\w{2,7}tieth|hundredth
                 | thousandth)s?\b )
      | \s+(?:or|to)\s+(?:so|more)\b | \s+(?:first|second|something|odd|plus)\b""",
    re.VERBOSE,
)
#: `one` as a pronoun
_PRONOUN: Final = frozenset({
    "this", "that", "which", "each", "every", "no", "any", "another", "the", "other", "first", "last", "next", "only",
    "some", "new", "old", "same",
})  # fmt: skip
_PRONOUN_AFTER = re.compile(r"\s(?:of|is|was|who|that|which|by|another|or|and|can|could|should|would|has|may|might)\b")
_FOLLOWED = re.compile(r"\s[^\W\d_]")
_LOOK: Final = 24


class Numeral(NamedTuple):
    """A numeral in a lower-case text: where it stands, and its value, None where it says nothing certain."""

    start: int
    end: int
    value: int | None


def find(lowered: str) -> Iterator[Numeral]:
    """Every numeral in a lower-case text, in order; linear in its length.

    Example:
        >>> [found.value for found in find("two hundred and six crates, a dozen men, one-way, four five one")]
        [206, 12, None, None]
    """
    for found in _RUN.finditer(lowered):
        start, end = found.span()
        before, after = lowered[max(0, start - _LOOK) : start], lowered[end : end + _LOOK]
        text = found.group()
        digits = found.group("digits")
        if _part_of_more(before if digits is None else before.rstrip("$€£")) or _NOT_BEFORE.match(after):
            value = None
        elif digits is not None:
            value = _scaled(digits, _SCALES[found.group("scale")])
        elif text == "one" and _pronoun(before, after):
            value = None
        else:
            value = _value(text)
        yield Numeral(start, end, value)


def _part_of_more(before: str) -> bool:
    last = before[-1:]
    if last and not last.isspace():
        return last.isalnum() or last in _GLUED_BEFORE
    said = tuple(before.split()[-2:])
    return bool(said) and (said[-1] in _NOT_AFTER or said[-1][-1:].isdecimal() or said in _NOT_AFTER_TWO)


def _pronoun(before: str, after: str) -> bool:
    return (
        not _FOLLOWED.match(after)
        or _PRONOUN_AFTER.match(after) is not None
        or before.rpartition(" ")[0].rpartition(" ")[2] in _PRONOUN
    )


def _scaled(digits: str, scale: int) -> int | None:
    whole, _, fraction = digits.partition(".")
    value, rest = divmod(int(whole + fraction) * scale, 10 ** len(fraction))
    return value if not rest else None


def _value(text: str) -> int | None:
    """The value of a run of numeral words; None where they are no one numeral."""
    if len(text) > 120:
        return None
    total = 0
    part: int | None = None  # below one thousand, so far
    power = 10**12
    last = ""
    words = _PIECES.findall(text)
    for position, word in enumerate(words, 1):
        if word == "and":
            if last != "hundred" and last not in _POWERS:
                return None
        elif word in {"a", "an"}:
            part = 1
        elif word in _POWERS:
            if not part or _POWERS[word] >= power:
                return None
            power = _POWERS[word]
            total, part = total + part * power, None
        elif word == "hundred":
            if part is None or not 1 <= part <= 99 or last in {"and", "hundred"} or part % 10 == 0:
                return None
            part *= 100
        elif word == "dozen":
            return part * 12 if part and not total and position == len(words) and last != "hundred" else None
        else:
            size = _UNITS.get(word, _TEENS.get(word, _TENS.get(word, 0)))
            joined = last in _TENS and word in _UNITS and size
            if part is not None and not joined and last not in {"hundred", "and"}:
                return None
            if word == "zero" and len(words) > 1:
                return None
            part = (part or 0) + size
        last = word
    return None if last == "and" else total + (part or 0)
