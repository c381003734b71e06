"""Strings fit to leave the process, and the keys of a tool's arguments, made once per tool.

What others write (a model, a server's schema) may hold lone surrogates, which fail the protobuf encoding of
a whole export batch, or be far too long. Nothing here depends on a value of an argument.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from citespan import semconv
from citespan.core.leaves import Step, dotted

#: Tempo cuts attribute values here, and a cut JSON text is none
MAX_TEXT: Final = 2048
MAX_DESCRIPTION: Final = 1024
MAX_SPAN_NAME: Final = 256
MAX_KEY_NAME: Final = 96
MAX_TOOLS: Final = 512


class ArgumentKeys(NamedTuple):
    """The attribute keys of one declared argument."""

    label: str
    kind: str
    source_tool: str
    source_field: str
    source_span: str
    digest: str
    projection: str
    weak: str
    preview: str


class ToolNames(NamedTuple):
    """What the spans of one tool have in common.

    Args:
        name: the tool's name, clean.
        span: the span's name.
        arguments: keys by declared argument; a name that is missing here is shown as `*`.
        fixed: attributes that every span of the tool has; the tool's name stands last, since a full span
        loses its
            oldest attribute first.
    """

    name: str
    span: str
    arguments: Mapping[Step, ArgumentKeys]
    fixed: dict[str, Any]


def clean(text: str, limit: int = MAX_TEXT) -> str:
    """A text with lone surrogates replaced, cut to `limit` characters.

    Example:
        >>> clean("a" + chr(0xD800) + "b")
        'a?b'
    """
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def argument_keys(name: str) -> ArgumentKeys:
    r"""The keys of one argument; a dot inside its name is written `\.`: no key is a namespace of another.

    Example:
        >>> argument_keys("path").kind, argument_keys("a.b").kind
        ('provenance.kind.path', 'provenance.kind.a\\.b')
    """
    label = dotted((name,))
    return ArgumentKeys(
        label,
        semconv.KIND + label,
        semconv.SOURCE_TOOL + label,
        semconv.SOURCE_FIELD + label,
        semconv.SOURCE_SPAN + label,
        semconv.DIGEST + label,
        semconv.PROJECTION + label,
        semconv.WEAK + label,
        semconv.PREVIEW + label,
    )


@lru_cache(maxsize=MAX_TOOLS)
def tool_names(tool: str, type_: str, description: str | None, declared: frozenset[str]) -> ToolNames:
    """The names of one tool. A declared name that cannot be a key as it is counts as undeclared."""
    name = clean(tool, MAX_SPAN_NAME)
    fixed: dict[str, Any] = {
        semconv.OPERATION: semconv.EXECUTE_TOOL,
        semconv.TOOL_TYPE: clean(type_, MAX_SPAN_NAME),
    }
    if description:
        fixed[semconv.TOOL_DESCRIPTION] = clean(description, MAX_DESCRIPTION)
    fixed[semconv.TOOL_NAME] = name
    arguments: dict[Step, ArgumentKeys] = {
        argument: argument_keys(argument)
        for argument in sorted(declared)
        if 0 < len(argument) <= MAX_KEY_NAME and argument == clean(argument)
    }
    return ToolNames(name, f"{semconv.EXECUTE_TOOL} {name}", arguments, fixed)
