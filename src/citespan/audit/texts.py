"""Texts out of hostile files, made fit for every format and for a terminal, and bounded."""

from __future__ import annotations

from typing import Final

from citespan.files.texts import plain

MAX_NAME: Final = 200
MAX_MESSAGE: Final = 1000


def clean(text: str, limit: int = MAX_NAME) -> str:
    r"""A text with everything that hides or controls as an escape, cut to `limit` characters.

    Example:
        >>> clean("rm\x1b[2J"), clean("abcdef", 4)
        ('rm\\x1b[2J', 'abc…')
    """
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    return plain(text)


def some(texts: tuple[str, ...], most: int = 5) -> str:
    """A few of some names, and how many there are besides.

    Example:
        >>> some(("a", "b", "c"), 2)
        'a, b and 1 more'
    """
    shown = ", ".join(texts[:most])
    return shown if len(texts) <= most else f"{shown} and {len(texts) - most} more"
