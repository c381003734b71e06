"""One call that sets everything up: policy, provider, second gate, exporter, evidence."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from citespan.core.decision import Decision
from citespan.core.policy import Policy
from citespan.guard.registry import registry
from citespan.policy_file import find
from citespan.stores.evidence import EvidenceFile

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import TracerProvider

    from citespan.otel.setup import Configured

EVIDENCE_VARIABLE: Final = "CITESPAN_EVIDENCE"


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
    reviewer: Callable[[Decision], bool] | None = None,
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
        reviewer: decides about a refused call under `on_violation = "ask"`.

    Returns:
        A handle with `force_flush()` and `shutdown()`.

    Raises:
        PolicyError: the policy cannot be used. UsageError: the endpoint or protocol cannot be. OSError: the evidence
        file cannot be opened. Nothing is changed then.

    Example:
        `citespan.configure("citespan.toml", endpoint="http://localhost:4318")`
    """
    from citespan.otel.setup import configure_telemetry

    chosen = policy if isinstance(policy, Policy) else find(policy)
    chosen = Policy() if chosen is None else chosen
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
    registry.reviewer = reviewer
    return configured


def evidence_file(evidence: str | Path | bool) -> EvidenceFile | None:
    """Open the evidence file that was asked for; see `configure`.

    Raises:
        OSError: it cannot be opened.
    """
    if evidence is False:
        return None
    if evidence is True:
        named = os.environ.get(EVIDENCE_VARIABLE, "").strip()
        path = Path(named) if named else _state_folder() / "evidence.jsonl"
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return EvidenceFile(path)
    return EvidenceFile(evidence)


def _state_folder() -> Path:
    state = os.environ.get("XDG_STATE_HOME", "")
    base = Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state"
    return base / "citespan"
