"""What `citespan run` tells the Pythons that it starts, in one variable of the environment."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from citespan.core.decision import Mode
from citespan.core.policy import Policy
from citespan.core.resolve import digest
from citespan.errors import NotGuarded, UsageError
from citespan.policy_file import ENVIRONMENT_VARIABLE, find

VARIABLE: Final = "CITESPAN_RUN"
#: the first word of the variable: what happens where the guard cannot be installed. `citespan-run.pth` reads it too.
REQUIRED: Final = "required"
OPTIONAL: Final = "optional"
_STRICTNESS: Final = ("off", "tag", "enforce")


class Settings(NamedTuple):
    """How a process is guarded.

    Args:
        required: it must not run where the guard cannot be installed.
        policy: absolute path of a policy file, None for the defaults. digest: of the policy as the parent read it.
        mode: in place of the policy's own, None for that.
        undecided: nobody asked for a policy or a mode, so the mode is "tag".
        handshake: a file to which each guarded Python appends a line, None where nobody reads it.
        within: another guarded Python started this one.
        apart: and did so in an environment of its own, as a client starts a server: the client judges what it calls.
    """

    required: bool = False
    policy: str | None = None
    digest: str | None = None
    mode: Mode | None = None
    undecided: bool = False
    handshake: str | None = None
    within: bool = False
    apart: bool = False

    def encode(self) -> str:
        """The value of the variable.

        Example:
            >>> Settings(required=True).encode()[:9]
            'required '
        """
        return f"{REQUIRED if self.required else OPTIONAL} {json.dumps(self._asdict())}"

    def chosen(self) -> Policy:
        """The policy that they name, under their mode.

        Raises:
            PolicyError: it cannot be used. NotGuarded: it is another one than the parent read.
        """
        policy = Policy() if self.policy is None else find(Path(self.policy))
        if policy is None or (self.digest is not None and digest(policy) != self.digest):
            raise NotGuarded(f"{self.policy}: changed since `citespan run` read it")
        return policy if self.mode is None else under(policy, self.mode)


def asked(policy: str | None, *, required: bool, mode: Mode | None, outer: Settings | None = None) -> Settings:
    """What options, and the environment, come to.

    A policy that enforces requires a guard. Without a policy `required` enforces the defaults, and neither of the two
    tags only (design section 3).

    Args:
        policy: a policy file, None for the one that `CITESPAN_POLICY` names. required: the guard must be there.
        mode: in place of the policy's own. outer: of the `citespan run` that this one runs under; what that requires,
            this one cannot let go.

    Raises:
        PolicyError: the policy cannot be used. UsageError: the options exclude each other.
    """
    if required and mode == "off":
        raise UsageError("--required and --mode off exclude each other")
    found = find(policy)
    if outer is not None:
        required = required or outer.required
        if policy is None and mode is None and not outer.undecided:
            mode = outer.mode
    undecided = found is None and not required and mode is None
    settings = Settings(
        required=required,
        policy=None if found is None else os.path.abspath(policy or os.environ[ENVIRONMENT_VARIABLE]),
        digest=None if found is None else digest(found),
        mode="tag" if undecided else mode,
        undecided=undecided,
    )
    judged = found or Policy()
    judged = judged if settings.mode is None else under(judged, settings.mode)
    return settings._replace(required=required or enforces(judged))


def decode(value: str) -> Settings:
    """Read the variable.

    Raises:
        NotGuarded: another version of citespan wrote it.
    """
    word, _, text = value.partition(" ")
    try:
        settings = Settings(**json.loads(text))
    except (ValueError, TypeError):
        raise NotGuarded(f"{VARIABLE} was written by another version of citespan") from None
    return settings._replace(required=settings.required or word == REQUIRED)


def under(policy: Policy, mode: Mode) -> Policy:
    """A policy under another mode. Its tools keep a weaker mode of their own, and no stronger one.

    Example:
        >>> under(Policy(), "tag").mode
        'tag'
    """
    tools = {
        glob: rule if rule.mode is None else replace(rule, mode=min(rule.mode, mode, key=_STRICTNESS.index))
        for glob, rule in policy.tools.items()
    }
    return policy.evolve(mode=mode, tools=MappingProxyType(tools))


def enforces(policy: Policy) -> bool:
    """Whether it refuses any call."""
    return policy.mode == "enforce" or any(rule.mode == "enforce" for rule in policy.tools.values())
