r"""Dotted paths as spans and files write them (`core.leaves.dotted`), read back; `\.` is a dot inside a key."""

from __future__ import annotations

import re
from typing import Final

from citespan.core.leaves import Path, field_step

_STEP: Final = re.compile(r"(?:^|\.)((?:[^.\\]|\\.?)*+)", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
#: digits of an index; more are a key, of a text that somebody made up
MAX_DIGITS: Final = 18


def written(path: str) -> list[str]:
    r"""The steps as they are written, at least one.

    Example:
        >>> written(r"files.0.a\.b") == ["files", "0", r"a\.b"], written("")
        (True, [''])
    """
    return _STEP.findall(path) if "\\" in path else path.split(".")


def steps(path: str) -> Path:
    r"""The steps themselves; digits alone are an index.

    Example:
        >>> steps(r"files.0.a\.b")
        ('files', 0, 'a.b')
    """
    return tuple(
        int(step) if step.isdecimal() and len(step) <= MAX_DIGITS else _ESCAPED.sub(r"\1", step)
        for step in written(path)
    )


def head(path: str) -> str:
    r"""The first step, which is an argument's name.

    Example:
        >>> head("files.0"), head(r"a\.b.c")
        ('files', 'a.b')
    """
    return _ESCAPED.sub(r"\1", written(path)[0])


def pattern(path: str) -> str:
    """The same path with its indexes as `*`, as policies write it.

    Example:
        >>> pattern("files.0.name")
        'files.*.name'
    """
    return ".".join("*" if step.isdecimal() else step for step in written(path))


def field(path: str) -> str:
    r"""A tool and a path of its result as the field that they are of: indexes and keys that are data as `*`.

    The first step is a name, and stays.

    Example:
        >>> field("list_files.files.0"), field(r"inputs.a@b\.org"), field("list_files")
        ('list_files.files.*', 'inputs.*', 'list_files')
    """
    name, *steps = written(path)
    return ".".join([name, *("*" if step.isdecimal() else field_step(step) for step in steps)])
