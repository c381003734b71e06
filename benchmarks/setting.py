"""What a measurement runs in: telemetry that sends nowhere, the registry as it should be, runs with a ledger."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from citespan.core.policy import Policy
from citespan.guard.guard import begin
from citespan.guard.ports import Evidence, Telemetry, Tool
from citespan.guard.registry import NoTelemetry, Registry, registry
from citespan.guard.run import Run

DIGEST_KEY = b"a key for benchmarks"
#: refusals never end a run here: what is measured is refused again and again
PATIENT = Policy(run_max_refused=10**9)


class Nowhere(SpanExporter):
    """An exporter that takes spans and does nothing."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        return None


def isolate(environ: MutableMapping[str, str]) -> None:
    """Take what could turn telemetry off, or another policy on, out of this process's environment."""
    for name in list(environ):
        if name.startswith(("OTEL_", "CITESPAN_")):
            del environ[name]
    environ["CITESPAN_DIGEST_KEY"] = DIGEST_KEY.decode()


def batching() -> TracerProvider:
    """A provider with a batch processor and an exporter that does nothing."""
    provider = TracerProvider(resource=Resource.get_empty(), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(Nowhere()))
    return provider


@contextmanager
def registered(telemetry: Telemetry | None = None, evidence: Evidence | None = None) -> Iterator[None]:
    """The registry with this telemetry and evidence and nothing else, and as it was afterwards."""
    before = dict(vars(registry))
    vars(registry).update(vars(Registry()))
    registry.configured = True
    registry.telemetry = telemetry or NoTelemetry()
    registry.evidence = evidence
    try:
        yield
    finally:
        vars(registry).update(before)


@contextmanager
def inside(run: Run) -> Iterator[Context]:
    """A run that is open; it may be opened again later."""
    with run:
        yield otel_context.get_current()


def learn(tool: str, result: Any) -> None:
    """Record a result in the current run, as a guarded call without arguments returns it."""
    begin(Tool(tool), {}).finish(result)
