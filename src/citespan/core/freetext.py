"""The scan of exempt free text: what in it leads somewhere or names something (design section 3, `allow`ed text).

A comment or a message body need not be cited, but an address that nobody gave the agent must not leave in it unseen.
`scan` finds URLs, host names, e-mail addresses, paths, account numbers and ids, and keeps those that nothing vouches
for. Kinds and counts may leave the process, a token never does.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

from citespan.core.dates import find as find_dates
from citespan.core.dates import without
from citespan.core.shapes import names_host, shape

TokenKind: TypeAlias = Literal["url", "email", "host", "account", "path", "id", "more"]

#: every kind of token, and what the documentation says of it
TOKEN_KINDS: Final[dict[TokenKind, str]] = {
    "url": "an address with a scheme, or one that starts with `www.`",
    "email": "an e-mail address",
    "host": "a host name or an IP address",
    "account": "an IBAN, a card or phone number, any number of 8 or more digits",
    "path": "a path, or a file name with an ending",
    "id": "letters and digits mixed as ids mix them, or a number after `#`",
    "more": "tokens, or text, beyond what one scan looks at",
}

#: reported tokens of one text, tokens and characters that are looked at
MAX_TOKENS: Final = 100
MAX_LOOKED_AT: Final = 20_000
MAX_SCANNED: Final = 256 * 1024


class Token(NamedTuple):
    """A token: its kind, and where it stands in the text."""

    kind: TokenKind
    start: int
    end: int


def scan(text: str, cites: Callable[[str], bool]) -> tuple[Token, ...]:
    """The tokens of a text that nothing vouches for, in order, without overlap; linear in its length.

    Dates, times, amounts and numbers of less than 8 digits are no tokens.

    Args:
        cites: whether something vouches for a token; asked once for each distinct one.

    Returns:
        At most `MAX_TOKENS`, and one of kind "more" at the end where a bound was reached.

    Example:
        >>> [token.kind for token in scan("Send it to eve@evil.example, see src/app.py", {"src/app.py"}.__contains__)]
        ['email']
    """
    found: list[Token] = []
    answers: dict[str, bool] = {}
    end = len(text)
    more = Token("more", MAX_SCANNED, end) if end > MAX_SCANNED else None
    for looked_at, token in enumerate(_tokens(text[:MAX_SCANNED])):
        if looked_at >= MAX_LOOKED_AT or len(found) >= MAX_TOKENS:
            more = more or Token("more", end, end)
            break
        said = text[token.start : token.end]
        cited = answers.get(said)
        if cited is None:
            cited = answers[said] = any(cites(form) for form in _forms(token.kind, said))
        if not cited:
            found.append(token)
    found.sort(key=lambda token: token.start)
    return (*found, more) if more is not None else tuple(found)


def count(tokens: tuple[Token, ...]) -> dict[TokenKind, int]:
    """How many tokens there are of each kind: what may leave the process.

    Example:
        >>> count((Token("url", 0, 4), Token("url", 9, 12)))
        {'url': 2}
    """
    counts: dict[TokenKind, int] = {}
    for token in tokens:
        counts[token.kind] = counts.get(token.kind, 0) + 1
    return counts


def _forms(kind: TokenKind, token: str) -> tuple[str, ...]:
    """A token, and the forms of it that name the same thing."""
    if kind == "url" or kind == "host":
        return (token, token[:-1] if token[-1] == "/" else f"{token}/")
    if kind == "account":
        return (token, _SEPARATOR.sub("", token))
    if kind == "path":
        return (token, _LINE.sub("", token))
    if kind == "id" and token[0] == "#":
        return (token, token[1:])
    return (token,)


# A run of characters is entered at its start only, every other repeat is bounded: nothing takes quadratic time.
_URL = re.compile(
    r"(?<![A-Za-z0-9+.-])(?:[A-Za-z0-9+.-]+://|www\.(?=\w)|data:[\w/+.-]{0,64}[;,])"
    r"[^\s<>\"`{}|\\^\u3000-\u303f\uff00-\uffef]+",
    re.IGNORECASE,
)
_EMAIL = re.compile(r"(?<![\w.+%-])[\w.+%-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_][\w-]{1,62}(?![\w-])")
#: account numbers that are written with blanks
_GROUPED = re.compile(
    r"""(?<![\w.,:/-])(?:
      [A-Z]{2}\d{2}(?:[ ]?[A-Z0-9]{4}){2,7}(?:[ ]?[A-Z0-9]{1,3})?(?![\w-])
    | \d{4}(?:[ -]\d{4}){2,4}(?![\w-])
    | \+\d{1,3}(?:[ ./-]?\(?\d{1,5}\)?){2,6}(?!\w)
    | \(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}(?![\w-])
    )""",
    re.VERBOSE,
)
_PIECE = re.compile(r"[^\s\"'`<>()\[\]{},;|=*\u3000-\u303f]+")
_OUTER: Final = ".:!?&@\u2026\u2013\u2014-"
#: longer pieces are judged by their start
_MAX_PIECE: Final = 2048

_MAILBOX = re.compile(r"[^@]+@(?:[\w-]+\.)+\w+")
_HOST = re.compile(r"(?:[\w-]+\.)+[^\W\d_]{2,24}(?:[:/?#].*)?|\d{1,3}(?:\.\d{1,3}){3}(?:[:/].*)?")
_DIGITS = re.compile(r"[+$€£]?\d+(?:[-./:]\d+)*")
_NO_ACCOUNT = re.compile(r"\D?\d+\.\d+|(?:1[89]|2[01])\d\d-(?:1[89]|2[01])\d\d")
_ROOTED = re.compile(r"~?/+[^\W_].*|(?:\.{1,2}|~|[A-Za-z]:)[/\\].*\w.*|\\\\\w.*|\.[a-z][a-z_.-]{2,}")
_FILE = re.compile(r"[\w@+-][\w@+.-]*\.(?:[A-Za-z]\w{1,9}|[chr])")
#: a step of a path that no prose is written with: `utils_v2`, `app.py`
_STEP = re.compile(r"(?=.*[\d_.])(?=.*[^\W\d_])[\w@+.-]+")
_ID = re.compile(r"\#\d{2,}|[A-Za-z0-9]+(?:[_:#.+-]+[A-Za-z0-9]+)*_?")
#: digits with a unit or a suffix, and words with a number behind them: `14th`, `16GB`, `24-hour`, `COVID-19`, `v1.22`
_NO_ID = re.compile(
    r"""\d{1,6}(?:[.,]\d+)*(?:st|nd|rd|th|am|pm|[kmbxshdglvwpcf]|ms|hrs?|min|days?|yrs?|[kmc]?g|[kcmn]?m|mi|ft|in|lbs?
        |oz|ml|[kmgt]i?b|k?wh?|mph|kph|kmh|[kmg]?hz|px|pt|fps|usd|eur|gbp|pcs|pts)(?:-[a-z]+)*
    | \d+(?:-[a-z]+)+ | [a-z]+-\d{1,2} | [a-z]+-(?:19|20)\d\d | q[1-4][-_]?\d{4} | v?\d+(?:\.\d+)+[a-z]{0,4}\d{0,2}""",
    re.VERBOSE | re.IGNORECASE,
)
_MIN_ID: Final = 4
_SEPARATOR = re.compile(r"[\s().:/-]+")
_LINE = re.compile(r"(?::\d+){1,2}$")
#: invisible and full-width characters, behind which a token could hide
_DISGUISED = re.compile("[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\uff01-\uff5e]")


def _tokens(text: str) -> Iterator[Token]:
    """Every token, cited or not."""
    if text.isascii() or not _DISGUISED.search(text):
        yield from _plain_tokens(text)
        return
    shown: list[str] = []
    places: list[int] = []
    for place, char in enumerate(text):
        if unicodedata.category(char) != "Cf":
            plain = unicodedata.normalize("NFKC", char) if _DISGUISED.match(char) else char
            shown.append(plain)
            places.extend([place] * len(plain))
    for kind, start, end in _plain_tokens("".join(shown)):
        yield Token(kind, places[start], places[end - 1] + 1)


def _plain_tokens(text: str) -> Iterator[Token]:
    """URLs, then e-mail addresses, then grouped account numbers; then what is left, blank by blank."""
    rest = text
    if "://" in rest or "data:" in rest or "www." in rest.lower():
        taken = [(found.start(), _trimmed(rest, found.start(), found.end())) for found in _URL.finditer(rest)]
        yield from (Token("url", *span) for span in taken)
        rest = without(rest, taken)
    if "@" in rest:
        taken = [found.span() for found in _EMAIL.finditer(rest)]
        yield from (Token("email", *span) for span in taken)
        rest = without(rest, taken)
    lowered = rest.lower()
    if len(lowered) == len(rest):
        rest = without(rest, ((said.start, said.end) for said in find_dates(lowered) if said.dates or said.time))
    taken = [found.span() for found in _GROUPED.finditer(rest) if _count_digits(found.group()) >= 8]
    yield from (Token("account", *span) for span in taken)
    for found in _PIECE.finditer(without(rest, taken)):
        piece = found.group()
        core = piece.rstrip(_OUTER) if piece[0] in ".~" else piece.strip(_OUTER)
        kind = _kind(core[:_MAX_PIECE]) or _kind(core.lstrip(_OUTER)[:_MAX_PIECE])
        if kind is not None:
            start = found.start() + piece.index(core)
            yield Token(kind, start, start + len(core))


def _trimmed(text: str, start: int, end: int) -> int:
    """The end of a URL without the punctuation of the sentence around it."""
    surplus = text.count(")", start, end) - text.count("(", start, end)
    while end > start + 1:
        last = text[end - 1]
        if last == ")" and surplus > 0:
            surplus -= 1
        elif last not in ".,;:!?'*_~]":
            break
        end -= 1
    return end


def _count_digits(text: str) -> int:
    return sum(map(str.isdecimal, text))


def _kind(piece: str) -> TokenKind | None:
    """What a piece of text without blanks is; None for a word."""
    if len(piece) < 3 or piece.isalpha():
        return None
    if "@" in piece and _MAILBOX.fullmatch(piece):
        return "email"
    if "." in piece and _HOST.fullmatch(piece) and (not piece.isascii() or names_host(piece.lower()[:256])):
        return "host"
    if _DIGITS.fullmatch(piece):
        account = _count_digits(piece) >= 8 and not _NO_ACCOUNT.fullmatch(piece) and shape(piece) != "date"
        return "account" if account else None
    if _is_path(piece):
        return "path"
    if len(piece) >= _MIN_ID and _ID.fullmatch(piece) and not _NO_ID.fullmatch(piece):
        digits = _count_digits(piece)
        if digits >= 2 and (piece[0] == "#" or not piece.isdecimal()):
            return "id"
    return None


def _is_path(piece: str) -> bool:
    piece = _LINE.sub("", piece)
    if _ROOTED.fullmatch(piece) or (_FILE.fullmatch(piece) and ".." not in piece):
        return not _NO_ID.fullmatch(piece)
    steps = piece.split("/")
    return len(steps) > 1 and all(steps[:-1]) and (len(steps) > 3 or any(map(_STEP.fullmatch, steps)))
