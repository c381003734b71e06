"""Computations as the evidence keeps them: one text each, so that equal ones are counted together."""

from __future__ import annotations

import json
from typing import Any


def item(what: str) -> Any:
    """An entry of `derive` as the policy file has it.

    Args:
        what: `name`, `name parameter`, or `name {table}`.

    Example:
        >>> item("sum"), item("round 2"), item('total {"records": "id"}')
        ('sum', {'round': 2}, {'total': {'records': 'id'}})
    """
    name, blank, parameter = what.partition(" ")
    if parameter.startswith("{"):
        return {name: json.loads(parameter)}
    return {name: int(parameter) if parameter.isdecimal() else parameter} if blank else name
