"""Text out of hostile files, safe on a terminal and in a log."""

from __future__ import annotations

import re
from typing import Final

#: C0 and C1 controls and DEL; what turns the direction of a text; what is seen as nothing or breaks a line; lone
#: surrogates, which no encoding has; what no XML document may hold
_CONTROL: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\uffff\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
_SHORT: Final = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def plain(text: str) -> str:
    r"""A text out of a file with all that could drive a terminal, or hide in it, as visible escapes.

    Args:
        text: one line of text; a line break in it becomes visible too. Everything printable stays as it is.

    Example:
        >>> plain("list\x1b[2Jfiles\n")
        'list\\x1b[2Jfiles\\n'
    """
    return text if text.isascii() and text.isprintable() else _CONTROL.sub(_escaped, text)


def plain_json(document: bytes) -> bytes:
    r"""A JSON document that says the same, and drives no terminal: what `plain` shows is written as JSON escapes.

    Args:
        document: in UTF-8, without lone surrogates, controls below U+0020 escaped as JSON asks; its line breaks stay.

    Example:
        >>> plain_json('{"tool":"a\u202eb"}\n'.encode())
        b'{"tool":"a\\u202eb"}\n'
    """
    if document.isascii() and b"\x7f" not in document:
        return document
    return _CONTROL.sub(_in_json, document.decode()).encode()


def _in_json(found: re.Match[str]) -> str:
    character = found.group()
    if character in _SHORT:
        return character  # between values
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def _escaped(found: re.Match[str]) -> str:
    character = found.group()
    code = ord(character)
    if code < 0x100:
        return _SHORT.get(character) or f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
