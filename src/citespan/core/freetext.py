"""The scan of exempt free text: what in it leads somewhere or names something (design section 3, `allow`ed text).

A comment or a message body need not be cited, but an address that nobody gave the agent must not leave in it unseen.
`scan` finds URLs, host names, e-mail addresses, paths, account numbers and ids, and keeps those that nothing vouches
for. Only kinds and counts leave the process, never a token.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

from citespan.core.dates import find as find_dates
from citespan.core.shapes import names_host

TokenKind: TypeAlias = Literal["url", "email", "host", "account", "path", "id", "more"]

#: every kind of token, and what the documentation says of it
TOKEN_KINDS: Final[dict[TokenKind, str]] = {
    "url": "an address with a scheme, or one that starts with `www.`",
    "email": "an e-mail address",
    "host": "a host name or an IP address",
    "account": "an IBAN, a card or phone number, or 8 or more digits",
    "path": "a path, or a file name with an ending",
    "id": "letters and digits as ids mix them, or a number after `#`",
    "more": "further tokens, or text, that were not looked at",
}

#: reported tokens of one text, tokens looked at, characters looked at
MAX_TOKENS: Final = 100
MAX_LOOKED_AT: Final = 20_000
MAX_SCANNED: Final = 1024 * 1024


class Token(NamedTuple):
    """An uncited token: its kind, and where it stands in the text."""

    kind: TokenKind
    start: int
    end: int


def scan(text: str, cites: Callable[[str], bool]) -> tuple[Token, ...]:
    """The tokens of a text that nothing vouches for, in order, without overlap; linear in its length.

    Args:
        cites: whether something vouches for a token; asked once for each distinct one.

    Returns:
        At most `MAX_TOKENS`, and one of kind "more" for the rest where a bound was reached.

    Example:
        >>> [token.kind for token in scan("Send it to eve@evil.example, see src/app.py", {"src/app.py"}.__contains__)]
        ['email']
    """
    found: list[Token] = []
    answers: dict[str, bool] = {}
    for looked_at, (kind, start, end) in enumerate(_tokens(text[:MAX_SCANNED])):
        if looked_at >= MAX_LOOKED_AT or len(found) >= MAX_TOKENS:
            return (*sorted(found, key=_start), Token("more", start, len(text)))
        token = text[start:end]
        cited = answers.get(token)
        if cited is None:
            cited = answers[token] = cites(token) or any(cites(form) for form in _other_forms(kind, token))
        if not cited:
            found.append(Token(kind, start, end))
    found.sort(key=_start)
    return (*found, Token("more", MAX_SCANNED, len(text))) if len(text) > MAX_SCANNED else tuple(found)


def count(tokens: tuple[Token, ...]) -> dict[TokenKind, int]:
    """How many tokens of each kind: what may leave the process.

    Example:
        >>> count((Token("url", 0, 4), Token("url", 9, 12)))
        {'url': 2}
    """
    counts: dict[TokenKind, int] = {}
    for token in tokens:
        counts[token.kind] = counts.get(token.kind, 0) + 1
    return counts


# Each expression starts only where a run of its characters starts, or is bounded: none takes quadratic time.
_URL = re.compile(
    r"(?<![A-Za-z0-9+.-])(?:[A-Za-z0-9+.-]+://|www\.(?=\w)|data:[\w/+.-]{0,64}[;,])[^\s<>\"`{}|\\^]+", re.IGNORECASE
)
_EMAIL = re.compile(r"(?<![\w.+%-])[\w.+%-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_][\w-]{1,62}(?![\w-])")
_ACCOUNT = re.compile(
    r"""(?<![\w.,:/-])(?:
      [A-Z]{2}\d{2}(?:[ ]?[A-Z0-9]{4}){2,7}(?:[ ]?[A-Z0-9]{1,3})?(?![\w-])
    | \d{4}(?:[ -]\d{4}){2,4}(?![\w-])
    | \+\d{1,3}(?:[ ./-]?\(?\d{1,5}\)?){2,6}(?!\w)
    | \(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}(?![\w-])
    | \d{8,34}(?![\w,.:/-]\w|\w)
    )""",
    re.VERBOSE,
)
_PIECE = re.compile(r"[^\s\"'`<>()\[\]{},;|=*]+")
_OUTER: Final = ".:!?&…·–—-"
_HOST = re.compile(r"(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}(?:[:/?#]\S*)?|\d{1,3}(?:\.\d{1,3}){3}(?:[:/]\S*)?")
_FILE = re.compile(r"[\w@+-][\w@+.-]*\.[A-Za-z]\w{0,10}")
_PATH = re.compile(r"~?/{1,2}[^\W_][^/]*(?:/.*)?|(?:\.{1,2}|~|[A-Za-z]:)[/\\].+|\\\\.+|\.[a-z][a-z_-]{2,}(?:rc)?")
_HAS_LETTER_AND_DIGIT = re.compile(r"(?=[^\W_]*_?\S*\d)(?=\S*[^\W\d_])")
_ID = re.compile(r"\#\d+|[A-Za-z0-9]+(?:[_:#.-]+[A-Za-z0-9]+)*")
_LONG = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")
#: numbers with a unit, ordinals, versions, quarters: digits and letters that name nothing
_NO_ID = re.compile(
    r"[+-]?\d+(?:[.,:]\d+)*(?:st|nd|rd|th|[ap]m|[a-z%°]{1,3}|[KMGT]i?[Bb]|[A-Z]{1,3})?(?:-\w+)?|v?\d+(?:\.\d+)+\w{0,4}|[A-Za-z]{1,4}\d"
    r"|(?:\d+|[A-Za-z]+)-(?:\d|[A-Za-z]+)(?:-[A-Za-z]+)*",
)
_MIN_ID: Final = 4
_MAX_PIECE: Final = 4096


def _start(token: Token) -> int:
    return token.start


def _tokens(text: str) -> Iterator[Token]:
    """Every token, cited or not: URLs before e-mail addresses, account numbers, hosts, paths and ids."""
    taken: list[Token] = []
    rest = text
    for kind, expression, marks in (("url", _URL, (":", "www.", "WWW.")), ("email", _EMAIL, ("@",))):
        if any(mark in rest for mark in marks):
            taken.clear()
            for found in expression.finditer(rest):
                end = _trimmed(rest, found.start(), found.end()) if kind == "url" else found.end()
                taken.append(Token("url" if kind == "url" else "email", found.start(), end))
            yield from taken
            rest = _blanked(rest, taken)
    dates = [Token("more", said.start, said.end) for said in find_dates(rest.lower())]
    if len(rest.lower()) == len(rest):
        rest = _blanked(rest, dates)
    taken = [Token("account", found.start(), found.end()) for found in _ACCOUNT.finditer(rest) if _long(found.group())]
    yield from taken
    rest = _blanked(rest, taken)
    for found in _PIECE.finditer(rest):
        piece = found.group()
        core = piece.strip(_OUTER) if piece[0] not in ".~" else piece.rstrip(_OUTER)
        token = _kind(core)
        if token is not None:
            start = found.start() + piece.index(core)
            yield Token(token, start, start + len(core))
