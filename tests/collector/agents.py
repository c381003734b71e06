"""What agents send: guarded calls through citespan's own telemetry, and spans of programs that citespan is not in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

import citespan
from citespan.core.policy import Policy
from citespan.guard.run import Run
from citespan.otel.telemetry import OtelTelemetry


@contextmanager
def sending(endpoint: str, service: str) -> Iterator[TracerProvider]:
    """A tracer provider whose spans have all been sent, as they are, when the block ends."""
    provider = TracerProvider(resource=Resource.create({"service.name": service}), shutdown_on_exit=False)
    exporter = OTLPSpanExporter(f"{endpoint}/v1/traces")
    provider.add_span_processor(BatchSpanProcessor(exporter, max_queue_size=20_000, schedule_delay_millis=200))
    try:
        yield provider
    finally:
        provider.shutdown()


@contextmanager
def measuring(endpoint: str, service: str) -> Iterator[MeterProvider]:
    """A meter provider whose metrics have been sent when the block ends."""
    reader = PeriodicExportingMetricReader(OTLPMetricExporter(f"{endpoint}/v1/metrics"), 60_000)
    provider = MeterProvider([reader], Resource.create({"service.name": service}), shutdown_on_exit=False)
    try:
        yield provider
    finally:
        provider.shutdown()


def run(
    provider: TracerProvider, policy: Policy, *, meters: MeterProvider | None = None, previews: bool = False
) -> Run:
    """A run that knows one folder and nothing else."""
    telemetry = OtelTelemetry(provider, meters, previews=previews)
    return Run("agent", {"root": "/srv/checkout"}, policy, telemetry=telemetry)


@citespan.tool(read_only=True)
def list_files(root: str) -> dict[str, list[str]]:
    """List files."""
    return {"files": ["src/app.py", "src/util.py"]}


@citespan.tool
def delete_file(path: str) -> str:
    """Delete a file."""
    return "deleted"


@citespan.tool
def patch_file(path: str, text: str) -> str:
    """Replace a file's text."""
    return "patched"
