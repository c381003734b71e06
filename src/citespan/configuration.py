"""One call that sets everything up: policy, provider, second gate, exporter, evidence, reviewer."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from citespan.core.decision import Decision
from citespan.core.policy import Policy
from citespan.core.proposals import Proposal, Reviewer
from citespan.errors import UsageError
from citespan.guard.registry import registry
from citespan.policy_file import find
from citespan.stores import approvals
from citespan.stores.approval_file import Approval
from citespan.stores.evidence import EvidenceFile, evidence_path

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import TracerProvider

    from citespan.otel.setup import Configured

APPROVALS_VARIABLE: Final = "CITESPAN_APPROVALS"


def configure(
    policy: Policy | str | Path | None = None,
    endpoint: str | None = None,
    *,
    evidence: str | Path | bool = True,
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
    exporters: Iterable[SpanExporter] = (),
    service_name: str | None = None,
    allow_content: bool = False,
    reviewer: Reviewer | Callable[[Decision], bool] | None = None,
) -> Configured:
    """Set the process up. Calling it again adds nothing that is there already; the newest policy holds for new runs.

    Args:
        policy: a `Policy`, a policy file, or None for the one that `CITESPAN_POLICY` names, else the defaults
            (`max_assumed = 0`, enforced).
        endpoint: an OTLP endpoint, None for the standard `OTEL_*` variables.
        evidence: the file to which every decision is appended before a tool's body runs; True for the one that
            `CITESPAN_EVIDENCE` names, else `citespan/evidence.jsonl` in the user's state folder; False for none.
        tracer_provider, meter_provider: None for the program's own; a tracer provider is made where there is none.
        exporters: further span exporters, such as `citespan.traces.file_exporter.OtlpJsonFileExporter`.
        service_name: of a provider that is made here; `OTEL_SERVICE_NAME` wins.
        allow_content: let raw arguments and results that others put on spans out of these exporters.
        reviewer: decides about proposals, and about refused calls under `on_violation = "ask"`; a plain function
            about the latter only. None for the approvals in the file that `CITESPAN_APPROVALS` names, else
            `citespan.deny`.

    Returns:
        A handle with `force_flush()` and `shutdown()`.

    Raises:
        PolicyError: the policy cannot be used. UsageError: the endpoint, protocol or reviewer cannot be. OSError: the
        evidence file cannot be opened. ApprovalsError: the file of approvals cannot be used. Nothing is changed then.

    Example:
        `citespan.configure("citespan.toml", endpoint="http://localhost:4318")`
    """
    from citespan.otel.setup import configure_telemetry

    chosen = policy if isinstance(policy, Policy) else find(policy)
    chosen = Policy() if chosen is None else chosen
    asked = _reviewer(reviewer)
    kept = evidence_file(evidence)
    configured = configure_telemetry(
        endpoint,
        exporters=exporters,
        tracer_provider=tracer_provider,
        meter_provider=meter_provider,
        with_metrics=endpoint is not None,
        events=chosen.events,
        previews=chosen.previews,
        allow_content=allow_content,
        service_name=service_name,
    )
    registry.policy = chosen
    registry.configured = True
    registry.evidence = kept
    registry.telemetry = configured.telemetry
    registry.reviewer = asked
    return configured


def _reviewer(given: Reviewer | Callable[[Decision], bool] | None) -> Reviewer | Callable[[Decision], bool] | None:
    if given is not None and not isinstance(given, Reviewer) and not callable(given):
        raise UsageError("reviewer must be a function of a Decision, or have the methods proposal and call")
    named = os.environ.get(APPROVALS_VARIABLE, "").strip()
    return recorded_approvals(named) if given is None and named else given


def recorded_approvals(path: str | Path) -> approvals.RecordedApprovals:
    """A reviewer that approves what a person recorded earlier with `citespan approve`. The file is read here, once.

    Raises:
        ApprovalsError: it cannot be read, others may write to it, a line of it is broken or made with another digest
            key; with every problem and its line.

    Example:
        `citespan.configure(reviewer=citespan.recorded_approvals("approvals.jsonl"))`
    """
    return approvals.RecordedApprovals(path, _digest_key())


def record_approval(path: str | Path, proposal: Proposal, *, approved_by: str | None = None) -> Approval:
    """Append a person's approval to a file, as `citespan approve` does. Never call it for the agent.

    Raises:
        UsageError: the proposal's value is no leaf. ApprovalsError: the file cannot be used.

    Example:
        `citespan.record_approval("approvals.jsonl", citespan.Proposal("create_file", "path", "docs/guide.md"))`
    """
    return approvals.record(path, proposal, _digest_key(), approved_by=approved_by)


def _digest_key() -> approvals.DigestKey:
    """The key of this user's digests (design section 4).

    Raises:
        UsageError: none can be kept, so that a digest made now could not be found again.
    """
    from citespan.otel.digest import Digester, find_key

    secret = find_key(os.environ)
    if find_key(os.environ) != secret:
        raise UsageError("no digest key can be kept here, so approvals cannot be found again: set CITESPAN_DIGEST_KEY")
    return approvals.DigestKey(secret, Digester(secret).key_id)


def evidence_file(evidence: str | Path | bool) -> EvidenceFile | None:
    """Open the evidence file that was asked for; see `configure`.

    Raises:
        OSError: it cannot be opened.
    """
    if evidence is False:
        return None
    if evidence is True:
        path = evidence_path()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return EvidenceFile(path)
    return EvidenceFile(evidence)
