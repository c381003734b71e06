"""A policy in the making: each line of it with what was seen and what it risks."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

Key: TypeAlias = Literal["text", "allow", "values", "projections", "derive", "from"]


class Line(NamedTuple):
    """One thing that the policy would say.

    Args:
        value: as the policy file has it. tasks: distinct tasks that showed it. times: leaves that showed it.
        note: what was seen, where the number of tasks does not say it.
    """

    value: Any
    tasks: int
    times: int
    note: str = ""


class ArgumentDraft(NamedTuple):
    """What the policy would say of one argument, by key; `from` tightens, the others loosen.

    Args:
        closed: whether nothing but the fields of `from` may be cited, not even what the user said.
    """

    lines: dict[Key, list[Line]]
    closed: bool = False


class ToolDraft(NamedTuple):
    """What the policy would say of one tool.

    Args:
        read_only: whether every recording says that it only reads. text, allow: lines of these keys.
        left: arguments that were uncited and stay refused, with how often and in how many tasks.
    """

    name: str
    read_only: bool
    text: list[Line]
    allow: list[Line]
    arguments: dict[str, ArgumentDraft]
    left: list[Line]


class Draft(NamedTuple):
    """A whole policy in the making.

    Args:
        runs, tasks: recorded runs, and distinct tasks among them. profile: its name.
        valueless: whether some of the evidence was traces, which have no values.
        full: whether a bound was reached, so that later runs were not looked at as a whole.
    """

    profile: str
    runs: int
    tasks: int
    tools: list[ToolDraft]
    valueless: bool = False
    full: bool = False
