"""From validated tables to the frozen policy of the core."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from citespan.core.policy import ArgumentRule, Bounds, Policy, ToolRule
from citespan.policy_file.models import PolicyTable, Table, ToolTable

_SETS = frozenset({"accept", "allow"})


def build(table: PolicyTable) -> Policy:
    """The policy that a file says; what it does not say is the core's default."""
    ledger = _said(table.ledger)
    run = _said(table.run)
    return Policy(
        **_said(table.defaults),
        **{f"run_{name}": value for name, value in run.items()},
        bounds=Bounds(**{name.removeprefix("max_"): value for name, value in ledger.items()}),
        servers=MappingProxyType({name: bool(server.trust_hints) for name, server in table.servers.items()}),
        tools=MappingProxyType({glob: _tool(tool) for glob, tool in table.tools.items()}),
    )


def _tool(table: ToolTable) -> ToolRule:
    arguments = {name: ArgumentRule(**_said(argument)) for name, argument in table.arguments.items()}
    return ToolRule(**_said(table) | {"arguments": MappingProxyType(arguments)})


def _said(table: Table) -> dict[str, Any]:
    """The keys that the file has, by their core name, with frozen values."""
    return {
        name: frozenset(value) if name in _SETS else _frozen(value)
        for name in type(table).model_fields
        if name in table.model_fields_set and not isinstance(value := getattr(table, name), Table)
    }


def _frozen(value: Any) -> Any:
    """Lists as tuples; a computation `{ round = 2 }` as `("round", 2)`."""
    if isinstance(value, list):
        return tuple(_frozen(item) for item in value)
    if isinstance(value, dict):
        return tuple((name, _frozen(item)) for name, item in value.items())
    return value
