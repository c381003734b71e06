"""Folding: the one loose comparison, used only to take a citation away (design section 2, echo and state).

fold = NFKC, case, blanks, posix path, number as text; invisible format characters are dropped as well, since they
would let an echo differ from what was sent without anyone seeing it.
"""

from __future__ import annotations

import json
import posixpath
import re
import unicodedata
from typing import Any, Final

from citespan.core.shapes import is_document

_NUMBER = re.compile(
    r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d{1,300})(?:\.\d{1,15})?|[+-]?\d{1,15}(?:\.\d{1,15})?e[+-]?\d{1,2}", re.ASCII
)
_DATE_TIME = re.compile(r"(\d{4}-\d{2}-\d{2})t(\d{2}:)", re.ASCII)
_SOLID = re.compile(r"\d+(?:\.\d+)+|[^\W_]+")
MAX_SCALARS: Final = 1000
#: escapes of JSON texts; documents in documents are escaped several times
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|[\\/\"nrtbf])")
MAX_ESCAPED: Final = 4
_DOUBLED = re.compile(r"/(?:\.?/)+")
#: scripts that are written without blanks: a name in Latin letters stands by itself between them
UNSPACED: Final = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORDS = re.compile(rf"[{UNSPACED}]+|[^\W{UNSPACED}]+")
_UNSPACED = re.compile(f"[{UNSPACED}]")
#: after this many places in one text the answer is "occurs": hostile repetition must not buy time or a citation
MAX_PLACES: Final = 10_000


def fold(value: Any) -> str:
    """The folded text of a scalar; `""` for what has no text.

    Example:
        >>> fold("./Conf//prod.ENV"), fold(10.0), fold(True)
        ('conf/prod.env', '10', 'true')
    """
    kind = type(value)
    if kind is str:
        return _fold_text(value)
    if kind is bool:
        return "true" if value else "false"
    if kind is int or kind is float:
        return number_text(value)
    return "" if value is not None else "null"


def forms(value: Any) -> tuple[str, ...]:
    """The folded text, and what else it may be: the path that it names by `..`, the digits that it was written in.

    Example:
        >>> forms("srv/x/../prod.env")
        ('srv/x/../prod.env', 'srv/prod.env')
    """
    folded = fold(value)
    found = [folded]
    if "../" in folded or folded.endswith("/.."):
        found.append(posixpath.normpath(folded))
    if type(value) is str and folded != value and folded.lstrip("-").isdecimal():
        found.append("".join(value.split()))  # a hash, or a code with leading zeros, may look like a number
    return tuple(dict.fromkeys(found))


def all_forms(value: Any) -> tuple[str, ...]:
    """As `forms`, and those of every leaf and key, if the value is the text of a JSON document."""
    found = dict.fromkeys(forms(value))
    if type(value) is str and is_document(value):
        for scalar in _scalars(value):
            found.update(dict.fromkeys(forms(scalar)))
    # whatever reads the escapes, and however much there is of it: then its leaves are tokens of the text
    for _ in range(MAX_ESCAPED):
        if type(value) is not str or "\\" not in value:
            break
        value = _ESCAPE.sub(_unescape, value)
        found.update(dict.fromkeys(forms(value)))
    return tuple(text for text in found if text)


def _scalars(text: str) -> list[Any]:
    try:
        waiting = [json.loads(text)]
    except (ValueError, RecursionError):
        return []
    found: list[Any] = []
    while waiting and len(found) < MAX_SCALARS:
        at = waiting.pop()
        if isinstance(at, dict):
            found.extend(at)
            waiting.extend(at.values())
        elif isinstance(at, list):
            waiting.extend(at)
        else:
            found.append(at)
            if isinstance(at, str) and is_document(at):
                waiting.extend(_scalars(at))
    return found


def _unescape(found: re.Match[str]) -> str:
    escaped = found.group(1)
    if escaped[0] == "u" and len(escaped) == 5:
        return chr(int(escaped[1:], 16))
    return " " if escaped in "nrtbf" else escaped


def squeeze(folded: str) -> str:
    """The letters and digits of a folded text alone, and the points inside its numbers.

    It is what is left whatever is put between or around them.

    Example:
        >>> squeeze('"prod env"'), squeeze("1,200")
        ('prodenv', '1200')
    """
    return folded if folded.isalnum() else "".join(_SOLID.findall(folded))


def _fold_text(text: str) -> str:
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        text = "".join(char for char in text if not _is_invisible(char))
    # a dotless i is an i to whatever folds case the other way
    text = " ".join(text.casefold().replace("\u0131", "i").split()).replace("\\", "/")
    if "/" in text and "://" not in text:
        text = _DOUBLED.sub("/", text).removeprefix("./").removesuffix("/.")
        return text.rstrip("/") or "/"
    if text and (text[0] in "+-." or text[0].isdecimal()) and text.isascii():
        if _NUMBER.fullmatch(text):
            plain = text.replace(",", "")
            return str(int(plain)) if plain.lstrip("+-").isdecimal() else number_text(float(plain))
        return _DATE_TIME.sub(r"\1 \2", text)
    return text


def _is_invisible(char: str) -> bool:
    """Format characters and variation selectors: what nobody sees, and what a tool may drop."""
    return unicodedata.category(char) == "Cf" or "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"


def number_text(value: int | float) -> str:
    """A number as text, one text per value: 10 and 10.0 are `10`."""
    if type(value) is float and value.is_integer() and abs(value) < 1e16:
        return str(int(value))
    if type(value) is int and value.bit_length() > 1000:
        return hex(value)  # longer than any text that is read as a number; str() of one takes quadratic time
    return repr(value)


def words(folded: str) -> list[str]:
    """The word tokens of a text; `_` is a word character."""
    return _WORDS.findall(folded)


def joins(left: str, right: str) -> bool:
    """Whether two neighbouring characters belong to one word."""
    if not ((left.isalnum() or left == "_") and (right.isalnum() or right == "_")):
        return False
    if left.isascii() and right.isascii():
        return True
    return bool(_UNSPACED.match(left)) == bool(_UNSPACED.match(right))


def occurs(piece: str, text: str) -> bool:
    """Whether `piece` stands in `text` as whole tokens: not cut out of a longer word at either end.

    Example:
        >>> occurs("prod.env", "use prod.env now"), occurs("prod", "production")
        (True, False)
    """
    if not piece:
        return False
    start = text.find(piece)
    for _ in range(MAX_PLACES):
        if start < 0:
            return False
        end = start + len(piece)
        cut_before = start > 0 and joins(text[start - 1], piece[0])
        if not cut_before and not (end < len(text) and joins(piece[-1], text[end])):
            return True
        start = text.find(piece, start + 1)
    return True
