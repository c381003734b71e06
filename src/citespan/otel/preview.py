"""Previews of arguments: opt-in, cut, redacted (design section 4).

Redaction is a courtesy to whoever reads a trace, not a guarantee: a preview shows a value, which is why
none is made unless the host asks for them.
"""

from __future__ import annotations

import re
from typing import Any, Final

from citespan.otel.names import clean

MAX_PREVIEW: Final = 80
#: more than is shown, so that what is cut off cannot make a secret look like a word
_READ: Final = 4 * MAX_PREVIEW

_RULES: Final = (
    (re.compile(r"-----BEGIN [A-Z ]{1,40}-----.*", re.DOTALL), "<key>"),
    (
        re.compile(r"(?i)\b(pass(?:word|wd)?|secret|token|api[_-]?key|authorization)(\W{1,4})\S+"),
        r"\1\2<secret>",
    ),
    (re.compile(r"(?<=://)[^/@\s]{1,200}@"), "<secret>@"),
    (re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}"), "<email>"),
    (re.compile(r"(?<![\w/.-])(?=[\w-]{0,200}\d)(?=[\w-]{0,200}[A-Za-z])[\w-]{24,}"), "<token>"),
    (re.compile(r"(?<!\d)\d(?:[ -]?\d){8,}(?!\d)"), "<number>"),
)


def preview(value: Any) -> str:
    """The start of a value, at most 80 characters, with what looks like a secret or a person's data replaced.

    Example:
        >>> preview("mail ann@example.org now")
        'mail <email> now'
    """
    if type(value) is str:
        text = value[:_READ]
    elif value is None or type(value) in (bool, int, float):
        text = repr(value) if type(value) is not int or value.bit_length() < 1024 else "<number>"
    elif type(value) in (list, dict):
        return f"<{type(value).__name__} of {len(value)}>"
    else:
        return "<opaque>"
    text = clean(text, _READ)
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return clean(text, MAX_PREVIEW)
