"""The one registry: the process-wide defaults that `citespan.configure` sets. There is no other global state."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple, TypeAlias
from weakref import WeakSet

from opentelemetry.context import Context

from citespan.core.decision import Decision
from citespan.core.kinds import SpanRef
from citespan.core.policy import Policy
from citespan.core.proposals import Reviewer
from citespan.core.resolve import Rulebook
from citespan.guard.conversations import Conversations
from citespan.guard.ports import CallSpan, Evidence, Gate, OpenCall, RunSpan, Telemetry, ToolCall


class NoSpan:
    """A call or run that nobody traces."""

    ref: SpanRef | None = None

    def context(self, context: Context) -> Context:
        """The context as it is."""
        return context

    def amend(self, decision: Decision) -> None:
        """Nothing to amend."""

    def end(self, *, error: BaseException | None = None, note: str | None = None, failed: bool = False) -> None:
        """Nothing to end."""


class NoTelemetry:
    """Telemetry that is off. Enforcement does not depend on it (design section 5)."""

    def start_call(self, call: ToolCall, decision: Decision, context: Context, *, guard_seconds: float) -> CallSpan:
        """A call without a span."""
        return NoSpan()

    def start_run(self, name: str | None, run_id: str | None, context: Context) -> RunSpan:
        """A run without a span."""
        return NoSpan()


class Patched(NamedTuple):
    """One attribute that an adapter replaced: `original` is None where the owner had none of its own."""

    owner: Any
    attribute: str
    original: Any
    installed: Any


Phase: TypeAlias = Literal["waiting", "active", "refusing", "failed"]


class AdapterState(NamedTuple):
    """Where an adapter is.

    Args:
        phase: "waiting" for its framework to be imported; "active"; "refusing": the framework is one that it cannot
            guard, and every tool call is denied; "failed": it cannot guard it, and calls are not guarded.
        version: of the framework, None where it is not known yet. reason: why it refuses or failed.
        patched: what it replaced, in order. scopes: whose tool spans it guards.
    """

    phase: Phase
    version: str | None = None
    reason: str | None = None
    patched: tuple[Patched, ...] = ()
    scopes: tuple[str, ...] = ()


#: tools that are told apart in a tally; what comes after them is one more, `*`
_MAX_TALLIED: Final = 32


class Tally:
    """How many calls were refused, and how many were over their budget and ran, by tool.

    Example:
        `citespan: 2 calls were refused (patch_file)`, when the process ends.
    """

    def __init__(self) -> None:
        self.refused: dict[str, int] = {}
        self.flagged: dict[str, int] = {}
        self._lock = threading.Lock()

    def add(self, decision: Decision) -> None:
        """Count a decision, if it is one that somebody should know of."""
        counts = self.refused if decision.deny else self.flagged if decision.status == "flagged" else None
        if counts is None:
            return
        with self._lock:
            name = decision.tool if decision.tool in counts or len(counts) < _MAX_TALLIED else "*"
            counts[name] = counts.get(name, 0) + 1


class Registry:
    """Process-wide defaults.

    Args:
        telemetry: where spans go. evidence: where decisions are written first, None for nowhere.
        rulebook: the policy of runs that name none. reviewer: decides about proposals and refused calls, see
            `citespan.core.proposals.for_calls`.
        configured: whether the policy was chosen, by `citespan.configure` or by the environment.
        enforced_scopes: names of instrumentation scopes whose tool calls an active adapter guards.
        adapters: the adapters that were activated, by name. conversations: what outlives a run of an agent.
        tally: of refused and flagged calls.
    """

    def __init__(self) -> None:
        self.telemetry: Telemetry = NoTelemetry()
        self.evidence: Evidence | None = None
        self.rulebook = Rulebook(Policy())
        self.reviewer: Reviewer | Callable[[Decision], bool] | None = None
        self.configured = False
        self.enforced_scopes: set[str] = set()
        self.adapters: dict[str, AdapterState] = {}
        self.conversations = Conversations()
        self.tally = Tally()
        #: span processors that know the open tool spans of others
        self.gates: WeakSet[Gate] = WeakSet()

    def reported_call(self, context: Context) -> OpenCall | None:
        """The call of somebody else's tool span that is current in a context, None where there is none."""
        for gate in tuple(self.gates):
            found = gate.open_call(context)
            if found is not None:
                return found
        return None

    @property
    def policy(self) -> Policy:
        """The policy of runs that name none."""
        return self.rulebook.policy

    @policy.setter
    def policy(self, policy: Policy) -> None:
        self.rulebook = Rulebook(policy)


registry = Registry()
