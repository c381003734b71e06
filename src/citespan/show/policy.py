"""The fields that a policy names as sources of an argument, for calls whose spans do not say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from citespan.calls import Argument, Call
from citespan.calls.from_span import head
from citespan.core.policy import Policy
from citespan.core.resolve import Rulebook
from citespan.show.text import Accepts

_STEP: Final = re.compile(r"(?:[^.\\]|\\.)+")


def accepted_by(policy: Policy) -> Accepts:
    """What tells the fields that a policy's `from` names for an argument, or for its leaves that counted.

    Raises:
        PolicyError: when it is asked: two globs of the policy tie for the call's tool.

    Example:
        >>> from citespan.core.policy import ArgumentRule, ToolRule
        >>> rule = ToolRule(arguments={"path": ArgumentRule(sources=("list_files.files.*",))})
        >>> accepted_by(Policy(tools={"patch_file": rule}))(Call("patch_file"), Argument("path", "assumed"))
        ('list_files.files.*',)
    """
    rulebook = Rulebook(policy)

    def accepts(call: Call, argument: Argument) -> Sequence[str]:
        rules = rulebook.tool(call.tool, call.server or None).arguments
        patterns = [head(argument.name), *(_pattern(path) for path in argument.counted)]
        named = [rules[pattern].sources or () for pattern in patterns if pattern in rules]
        return tuple(dict.fromkeys(field for fields in named for field in fields))

    return accepts


def _pattern(path: str) -> str:
    """A dotted path with its indexes as `*`, as the policy writes it."""
    return ".".join("*" if step.isdecimal() else step for step in _STEP.findall(path))
