"""Which rules apply to a tool: globs, the most literal wins, a tie is an error, keys merge (design section 3)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Any, Final

from citespan.core.decision import Mode, OnViolation
from citespan.core.kinds import Kind
from citespan.core.leaves import Leaf, wildcard
from citespan.core.policy import PLAIN, ArgumentRule, Output, Policy, Scan, ToolRule, Weak
from citespan.errors import PolicyError, Problem

_MAX_TOOLS: Final = 4096
#: keys whose empty list takes back what a less specific table says; of the others an empty one says nothing
_TAKEN_BACK: Final = frozenset({"text", "sources"})


@dataclass(frozen=True, slots=True)
class Resolved:
    """Everything that the policy says of one tool, with nothing left open.

    Args:
        allow: names of this tool's exempt top-level arguments.
        hint_trusted: whether the policy believes this server's read-only hints.
        arguments: argument name or leaf pattern (`path`, `flights.*.date`) -> rule.
    """

    mode: Mode
    on_violation: OnViolation
    max_assumed: int
    accept: frozenset[Kind]
    weak: Weak
    scan: Scan
    allow: frozenset[str]
    text: tuple[str, ...]
    output: Output | None
    confirms: tuple[str, ...]
    failed_when: tuple[str, ...]
    read_only: bool | None
    hint_trusted: bool
    arguments: Mapping[str, ArgumentRule]

    def argument(self, leaf: Leaf) -> ArgumentRule:
        """The rule of a leaf: of its own pattern, else of its argument, else an empty one."""
        if not self.arguments:
            return PLAIN
        if len(leaf.path) > 1:
            found = self.arguments.get(wildcard(leaf.path))
            if found is not None:
                return found
        return self.arguments.get(str(leaf.path[0]), PLAIN)


class Rulebook:
    """A policy made ready for use: its digest, and its resolved rules, each made once (bounded).

    Example:
        >>> Rulebook(Policy()).tool("patch_file", None).max_assumed
        0
    """

    __slots__ = ("_resolved", "digest", "policy")

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.digest = digest(policy)
        self._resolved: dict[tuple[object, ...], Resolved] = {}

    def tool(
        self,
        tool: str,
        server: str | None,
        output: Output | None = None,
        read_only: bool | None = None,
        confirms: tuple[str, ...] = (),
    ) -> Resolved:
        """The rules of a tool; the last three are what its own code declares, used where the policy is silent.

        Raises:
            PolicyError: two globs with equally many literal characters match, so neither is more specific.
        """
        key = (tool, server, output, read_only, confirms)
        found = self._resolved.get(key)
        if found is None:
            found = resolve(self.policy, tool, server)
            found = replace(
                found,
                output=found.output or output,
                read_only=read_only if found.read_only is None else found.read_only,
                confirms=found.confirms or confirms,
            )
            if len(self._resolved) < _MAX_TOOLS:
                self._resolved[key] = found
        return found


def resolve(policy: Policy, tool: str, server: str | None) -> Resolved:
    """Merge every matching rule, least specific first. See `Rulebook.tool`."""
    matching: list[tuple[tuple[int, bool], str, ToolRule]] = []
    for glob, rule in policy.tools.items():
        if "/" in glob and server is None:
            continue
        subject = f"{server}/{tool}" if "/" in glob else tool
        if fnmatchcase(subject, glob):
            # an exact name is more specific than a glob with as many literal characters
            matching.append(((_literals(glob), glob == subject), glob, rule))
    matching.sort(key=lambda entry: entry[0])
    for (weight, glob, _), (next_weight, next_glob, _) in pairwise(matching):
        if weight == next_weight:
            problem = Problem(f"tools.{glob!r}", f"ties with tools.{next_glob!r} for {tool}; make one more specific")
            raise PolicyError("policy", (problem,))
    merged: dict[str, Any] = {
        "mode": policy.mode,
        "on_violation": policy.on_violation,
        "max_assumed": policy.max_assumed,
        "accept": policy.accept,
        "weak": policy.weak,
        "scan": policy.scan,
        "text": (),
        "output": None,
        "confirms": (),
        "failed_when": (),
        "read_only": None,
    }
    allow = {name.rpartition(".")[2] for name in policy.allow if "." not in name or name.rpartition(".")[0] == tool}
    arguments: dict[str, ArgumentRule] = {}
    for _, _, rule in matching:
        for key in merged:
            said = getattr(rule, key)
            if said is not None and (said != () or key in _TAKEN_BACK):
                merged[key] = said
        allow |= rule.allow
        for name, argument in rule.arguments.items():
            arguments[name] = _over(arguments[name], argument) if name in arguments else argument
    for name, argument in arguments.items():
        arguments[name] = _settled(argument, merged["accept"])
    return Resolved(
        **merged,
        allow=frozenset(allow),
        hint_trusted=bool(server is not None and policy.servers.get(server, False)),
        arguments=arguments,
    )


def _literals(glob: str) -> int:
    return sum(char not in "*?[]" for char in glob)


def _over(base: ArgumentRule, top: ArgumentRule) -> ArgumentRule:
    values = {}
    for entry in fields(ArgumentRule):
        said = getattr(top, entry.name)
        unsaid = said is None or (said == () and entry.name not in _TAKEN_BACK)
        values[entry.name] = getattr(base, entry.name) if unsaid else said
    return ArgumentRule(**values)


def _settled(rule: ArgumentRule, accept: frozenset[Kind]) -> ArgumentRule:
    """A merged rule: no fields are no restriction, and a declared computation makes its own kind acceptable.

    `from` without `accept` accepts it anyway (see `citespan.core.judge.accepted`).
    """
    if rule.sources == ():
        rule = replace(rule, sources=None)
    if rule.derive and (rule.accept is not None or rule.sources is None):
        rule = replace(rule, accept=(accept if rule.accept is None else rule.accept) | {"derived"})
    return rule


def digest(policy: Policy) -> str:
    """16 hex characters that name a policy's meaning; the order of its tables does not matter."""
    text = json.dumps(_canonical(policy), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _canonical(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {entry.name: _canonical(getattr(value, entry.name)) for entry in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _canonical(member) for key, member in value.items()}
    if isinstance(value, frozenset | set):
        return sorted(value)
    if isinstance(value, list | tuple):
        return [_canonical(member) for member in value]
    return value if value is None or isinstance(value, str | int | float | bool) else repr(value)
