"""One call from nothing to spans that arrive, and what the program has is used as it is."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import SynchronousMultiSpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.otel.receiver import Receiver, attributes_of, http_receiver

from citespan.errors import UsageError
from citespan.otel import setup
from citespan.otel.processor import ProvenanceSpanProcessor
from citespan.otel.setup import configure_telemetry


@pytest.fixture
def program() -> Any:
    """The provider of a program that set one up."""
    provider = TracerProvider(shutdown_on_exit=False)
    yield provider
    provider.shutdown()


def processors(provider: TracerProvider) -> list[str]:
    active = provider._active_span_processor
    assert isinstance(active, SynchronousMultiSpanProcessor)
    return [type(processor).__name__ for processor in active._span_processors]


def run(code: str, **environment: str) -> dict[str, Any]:
    """Run code in a process of its own, where global providers are not set yet; it prints one JSON object."""
    import os

    clean = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=clean | environment
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


CALL = """
import json
import citespan
from citespan.guard.registry import registry
from citespan.otel.setup import configure_telemetry
from opentelemetry import metrics, trace

{before}
configured = configure_telemetry({arguments})
registry.telemetry = configured.telemetry

@citespan.tool
def list_files() -> dict:
    return {{"files": ["a.py"]}}

with citespan.run("coder"):
    list_files()
configured.shutdown()
print(json.dumps({{
    "tracer": type(trace.get_tracer_provider()).__name__,
    "meter": type(metrics.get_meter_provider()).__name__,
    "owned": [type(made).__name__ for made in configured.owned],
    "modules": sorted(name for name in __import__("sys").modules if name.startswith("opentelemetry.exporter.otlp")),
}}))
"""


def test_from_nothing_to_spans_that_arrive(receiver: Receiver) -> None:
    """With the standard variables alone, in a program that set nothing up."""
    found = run(
        CALL.format(before="", arguments="service_name='coder'"),
        OTEL_EXPORTER_OTLP_ENDPOINT=receiver.endpoint,
        OTEL_EXPORTER_OTLP_PROTOCOL=receiver.protocol,
    )
    assert found["owned"] == ["TracerProvider"]
    assert {span.name for span in receiver.spans(2)} == {"invoke_agent coder", "execute_tool list_files"}
    (resource,) = {str(attributes_of(group.resource)["service.name"]) for group in receiver._requests[0].resource_spans}
    assert resource == "coder"
    other = "http" if receiver.protocol == "grpc" else "grpc"
    assert not [name for name in found["modules"] if name.startswith(f"opentelemetry.exporter.otlp.proto.{other}")]


def test_metrics_arrive_too_where_they_were_asked_for() -> None:
    with http_receiver() as receiver:
        found = run(CALL.format(before="", arguments=f"{receiver.endpoint!r}, with_metrics=True"))
        assert found["owned"] == ["TracerProvider", "MeterProvider"]
        assert receiver.metric_names() == {
            "citespan.tool.calls",
            "citespan.argument.leaves",
            "citespan.guard.duration",
        } - {"citespan.argument.leaves"}, "list_files has no arguments"


def test_with_no_endpoint_nothing_is_exported() -> None:
    found = run(CALL.format(before="", arguments=""))
    assert found["tracer"] == "TracerProvider"
    assert found["modules"] == []


def test_the_sdk_can_be_switched_off() -> None:
    found = run(CALL.format(before="", arguments="'http://127.0.0.1:1'"), OTEL_SDK_DISABLED="true")
    assert found["owned"] == ["TracerProvider"]


def test_a_provider_that_the_program_set_is_used_and_not_shut_down() -> None:
    before = "from opentelemetry.sdk.trace import TracerProvider; trace.set_tracer_provider(TracerProvider())"
    found = run(CALL.format(before=before, arguments=""))
    assert found["owned"] == []


def test_a_provider_set_after_the_telemetry_was_made_is_used() -> None:
    code = """
import json
from citespan.otel.telemetry import OtelTelemetry
from opentelemetry import metrics, trace
from opentelemetry.context import Context
telemetry = OtelTelemetry()
telemetry.start_run("before", None, Context()).end()
from opentelemetry.sdk.trace import TracerProvider
trace.set_tracer_provider(TracerProvider())
print(json.dumps({"ref": telemetry.start_run("after", None, Context()).ref is not None}))
"""
    assert run(code) == {"ref": True}


def test_importing_citespan_loads_neither_sdk_nor_exporter() -> None:
    code = """
import json, sys
import citespan, citespan.otel.telemetry
from citespan.guard.guard import begin
heavy = ("opentelemetry.sdk", "opentelemetry.exporter", "grpc", "google")
print(json.dumps({"loaded": [name for name in sys.modules if name.startswith(heavy)]}))
"""
    assert run(code) == {"loaded": []}


def test_twice_is_once(program: TracerProvider) -> None:
    kept = InMemorySpanExporter()
    for _ in range(2):
        configure_telemetry("http://127.0.0.1:4318", tracer_provider=program, exporters=[kept])
    assert processors(program) == ["ProvenanceSpanProcessor", "_Pipeline", "BatchSpanProcessor"]


def test_a_gate_that_the_program_added_is_enough(program: TracerProvider) -> None:
    program.add_span_processor(ProvenanceSpanProcessor())
    configure_telemetry(tracer_provider=program)
    assert processors(program) == ["ProvenanceSpanProcessor"]


def test_further_exporters_get_no_raw_content(program: TracerProvider) -> None:
    kept = InMemorySpanExporter()
    configured = configure_telemetry(tracer_provider=program, exporters=[kept])
    program.get_tracer("x").start_span("chat", attributes={"input.value": "secret"}).end()
    assert configured.force_flush()
    assert dict(kept.get_finished_spans()[0].attributes or {}) == {}


def test_a_provider_that_takes_no_processors_still_gets_the_spans(caplog: pytest.LogCaptureFixture) -> None:
    configured = configure_telemetry(tracer_provider=trace.NoOpTracerProvider())
    assert "no span processors" in caplog.text
    assert configured.force_flush()


@pytest.mark.parametrize(
    "variables,endpoint,protocol",
    [
        ({}, None, "http/protobuf"),
        ({}, "http://collector:4317", "grpc"),
        ({}, "http://collector:4318", "http/protobuf"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4317/"}, None, "grpc"),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "http://collector:4318", "grpc"),
        (
            {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf"},
            None,
            "http/protobuf",
        ),
    ],
)
def test_the_protocol(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], endpoint: str | None, protocol: str
) -> None:
    for name in (*setup._PROTOCOL_VARIABLES, *setup._ENDPOINTS):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert setup._protocol(endpoint) == protocol


@pytest.mark.parametrize(
    "endpoint,url",
    [
        ("http://c:4318", "http://c:4318/v1/traces"),
        ("http://c:4318/", "http://c:4318/v1/traces"),
        ("https://c/otlp/v1/traces", "https://c/otlp/v1/traces"),
        (None, None),
    ],
)
def test_an_endpoint_without_a_path_is_a_base(endpoint: str | None, url: str | None) -> None:
    assert setup._url(endpoint, "/v1/traces") == url


@pytest.mark.parametrize(
    "arguments,reason",
    [
        ({"protocol": "http/json"}, "http/json"),
        ({"endpoint": "collector:4318"}, "no OTLP endpoint"),
        ({"endpoint": "file:///x"}, "no OTLP endpoint"),
    ],
)
def test_what_cannot_be_is_said_at_once(program: TracerProvider, arguments: dict[str, str], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        configure_telemetry(tracer_provider=program, **arguments)


@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
def test_a_missing_exporter_names_its_package(
    program: TracerProvider, monkeypatch: pytest.MonkeyPatch, protocol: str
) -> None:
    for name in ("grpc", "http"):
        monkeypatch.setitem(sys.modules, f"opentelemetry.exporter.otlp.proto.{name}.trace_exporter", None)
    with pytest.raises(UsageError, match="needs opentelemetry-exporter-otlp-proto-"):
        configure_telemetry("http://c:1", protocol=protocol, tracer_provider=program)
