"""Fixtures: a provider that keeps its spans, receivers, an untouched registry."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.otel.agents import Agent
from tests.otel.receiver import Receiver, grpc_receiver, http_receiver

from citespan.guard.registry import Registry, registry
from citespan.otel.digest import Digester
from citespan.otel.posture import forget_reports
from citespan.otel.processor import ProvenanceSpanProcessor
from citespan.otel.telemetry import OtelTelemetry


@pytest.fixture
def spans() -> InMemorySpanExporter:
    """Where ended spans are."""
    return InMemorySpanExporter()


@pytest.fixture
def provider(spans: InMemorySpanExporter) -> Iterator[TracerProvider]:
    made = TracerProvider()
    made.add_span_processor(SimpleSpanProcessor(spans))
    yield made
    made.shutdown()


@pytest.fixture
def digester() -> Digester:
    return Digester(b"a key for tests")


@pytest.fixture
def telemetry(provider: TracerProvider, digester: Digester) -> OtelTelemetry:
    return OtelTelemetry(provider, digester=digester)


@pytest.fixture(params=["grpc", "http"])
def receiver(request: pytest.FixtureRequest) -> Iterator[Receiver]:
    """A real OTLP receiver, over each protocol."""
    with grpc_receiver() if request.param == "grpc" else http_receiver() as made:
        yield made


@pytest.fixture(autouse=True)
def _untouched() -> Iterator[None]:
    """The registry as it is at start, before and after each test; and nothing logged before."""
    fresh = Registry()
    before = dict(vars(registry))
    vars(registry).clear()
    vars(registry).update(vars(fresh))
    forget_reports()
    yield
    vars(registry).clear()
    vars(registry).update(before)


@pytest.fixture
def gate(provider: TracerProvider, telemetry: OtelTelemetry) -> ProvenanceSpanProcessor:
    registry.telemetry = telemetry
    made = ProvenanceSpanProcessor()
    provider.add_span_processor(made)
    return made


@pytest.fixture
def agent(provider: TracerProvider, gate: ProvenanceSpanProcessor) -> Agent:
    return Agent(provider)
