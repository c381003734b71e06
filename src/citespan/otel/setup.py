"""From nothing, or from what the program has, to spans that arrive: provider, second gate, export.

What the program set up is used as it is. A provider is made only where there is none, and an exporter only
where one was asked for. The standard `OTEL_*` variables mean what they mean everywhere.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExporter, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

from citespan.core.policy import Policy
from citespan.errors import UsageError
from citespan.guard.ports import Tool
from citespan.otel.exporter import ProvenanceSpanExporter
from citespan.otel.posture import logger
from citespan.otel.processor import ProvenanceSpanProcessor
from citespan.otel.telemetry import Events, OtelTelemetry

GRPC: Final = "grpc"
HTTP: Final = "http/protobuf"
PROTOCOLS: Final = (GRPC, HTTP)
_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOL_VARIABLES: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")


class Configured(NamedTuple):
    """What `configure_telemetry` set up.

    Args:
        telemetry: tells the guard's calls and runs. tracer_provider, meter_provider: what they go to.
        owned: which of them were made here, and are shut down here.
    """

    telemetry: OtelTelemetry
    tracer_provider: trace.TracerProvider
    meter_provider: metrics.MeterProvider
    owned: tuple[TracerProvider | MeterProvider, ...]

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Send what is queued; False where something was not sent in time."""
        sent = True
        for provider in (self.tracer_provider, self.meter_provider):
            if isinstance(provider, TracerProvider | MeterProvider):
                sent = provider.force_flush(timeout_millis) and sent
        return sent

    def shutdown(self) -> None:
        """Flush, and shut down what was made here."""
        self.force_flush()
        for provider in self.owned:
            provider.shutdown()


class _Pipeline(BatchSpanProcessor):
    """A batch processor that knows where it sends to, so that it is not added twice."""

    def __init__(self, exporter: SpanExporter, target: str) -> None:
        super().__init__(exporter)
        self.target = target


def configure_telemetry(
    endpoint: str | None = None,
    *,
    protocol: str | None = None,
    exporters: Iterable[SpanExporter] = (),
    tracer_provider: trace.TracerProvider | None = None,
    meter_provider: metrics.MeterProvider | None = None,
    with_metrics: bool = False,
    policy: Policy | None = None,
    tools: Iterable[Tool] = (),
    events: Events = "span",
    previews: bool = False,
    allow_content: bool = False,
    service_name: str | None = None,
) -> Configured:
    """Set telemetry up. Calling it again adds nothing that is there already.

    Args:
        endpoint: an OTLP endpoint (`http://localhost:4318`), None for the variables'.
        protocol: "grpc" or "http/protobuf", None for the variables', else by the endpoint's port.
        exporters: further exporters, such as a trace file's.
        tracer_provider: None for the program's, which is made where there is none. meter_provider:
        likewise, but
            made only `with_metrics`.
        policy, tools: see `ProvenanceSpanProcessor`. events, previews: see `OtelTelemetry`.
        allow_content: let raw arguments and results out of the exporters that are added here.
        service_name: of the resource that is made here; `OTEL_SERVICE_NAME` wins.

    Raises:
        UsageError: the protocol is unknown, the endpoint is no URL, or the exporter's package is missing.

    Example:
        `configure_telemetry("http://localhost:4318").telemetry`
    """
    chosen = protocol or _protocol(endpoint)
    if chosen not in PROTOCOLS:
        raise UsageError(f"unknown OTLP protocol {chosen!r}: {' or '.join(PROTOCOLS)}")
    resource = _resource(service_name)
    owned: list[TracerProvider | MeterProvider] = []
    provider = tracer_provider or trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider):
        provider = made = TracerProvider(resource=resource)
        owned.append(made)
    asked = endpoint is not None or (bool(owned) and wanted_by(os.environ))
    meters = meter_provider or metrics.get_meter_provider()
    if with_metrics and type(meters).__name__ == "_ProxyMeterProvider":
        reader = PeriodicExportingMetricReader(_metric_exporter(chosen, endpoint))
        meters = metering = MeterProvider([reader], resource)
        owned.append(metering)
    if isinstance(provider, TracerProvider):
        _equip(provider, ProvenanceSpanProcessor(policy, tools=tools))
        if asked:
            target = f"{chosen} {endpoint or ''}"
            if all(pipeline.target != target for pipeline in _processors(provider, _Pipeline)):
                exporter = ProvenanceSpanExporter(_span_exporter(chosen, endpoint), allow_content)
                provider.add_span_processor(_Pipeline(exporter, target))
        for further in exporters:
            if all(further is not exporter for exporter in _exporters(provider)):
                provider.add_span_processor(BatchSpanProcessor(ProvenanceSpanExporter(further, allow_content)))
    else:
        logger.warning("%s takes no span processors: tool spans of others are not judged", type(provider).__name__)
    for made_here in owned:
        if isinstance(made_here, TracerProvider):
            trace.set_tracer_provider(made_here)
        else:
            metrics.set_meter_provider(made_here)
    telemetry = OtelTelemetry(provider, meters, events=events, previews=previews)
    return Configured(telemetry, provider, meters, tuple(owned))


def _equip(provider: TracerProvider, processor: ProvenanceSpanProcessor) -> None:
    """Add the second gate once."""
    if not any(_processors(provider, ProvenanceSpanProcessor)):
        provider.add_span_processor(processor)


def _processors(provider: TracerProvider, kind: type[Any]) -> Iterator[Any]:
    """The processors of a kind that a provider has. The SDK does not tell, so this looks inside it."""
    active = getattr(provider, "_active_span_processor", None)
    for processor in getattr(active, "_span_processors", ()):
        if isinstance(processor, kind):
            yield processor


def _exporters(provider: TracerProvider) -> Iterator[SpanExporter]:
    for processor in _processors(provider, BatchSpanProcessor):
        if isinstance(processor.span_exporter, ProvenanceSpanExporter):
            yield processor.span_exporter.inner


def _resource(service_name: str | None) -> Resource:
    if service_name and not os.environ.get("OTEL_SERVICE_NAME"):
        return Resource.create({SERVICE_NAME: service_name})
    return Resource.create()


def wanted_by(environment: Mapping[str, str]) -> bool:
    """Whether the standard variables ask for spans to be sent somewhere."""
    names = environment.get("OTEL_TRACES_EXPORTER", "").split(",")
    return "otlp" in names or ("none" not in names and any(environment.get(name) for name in _ENDPOINTS))


def exporter_of_environment(timeout: float) -> tuple[SpanExporter, str]:
    """An exporter to where the standard variables point, and that place in words.

    Args:
        timeout: seconds that it has for an answer.

    Raises:
        UsageError: the protocol is unknown, or its package is missing.
    """
    protocol = _protocol(None)
    if protocol not in PROTOCOLS:
        raise UsageError(f"unknown OTLP protocol {protocol!r}: {' or '.join(PROTOCOLS)}")
    place = next((os.environ[name] for name in _ENDPOINTS if os.environ.get(name)), "the default endpoint")
    return _span_exporter(protocol, None, timeout), f"{place} ({protocol})"


def _protocol(endpoint: str | None) -> str:
    for variable in _PROTOCOL_VARIABLES:
        if value := os.environ.get(variable, "").strip():
            return value
    address = endpoint or next((os.environ[name] for name in _ENDPOINTS if os.environ.get(name)), "")
    return GRPC if address.rstrip("/").endswith(":4317") else HTTP


def _url(endpoint: str | None, path: str) -> str | None:
    """The URL of one signal: an endpoint without a path is a base, as in `OTEL_EXPORTER_OTLP_ENDPOINT`."""
    if endpoint is None:
        return None
    parts = urlsplit(endpoint)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise UsageError(f"{endpoint!r} is no OTLP endpoint: write http://host:port or https://host:port")
    return endpoint if parts.path.strip("/") else endpoint.rstrip("/") + path


def _span_exporter(protocol: str, endpoint: str | None, timeout: float | None = None) -> SpanExporter:
    try:
        if protocol == GRPC:
            from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as Grpc

            return Grpc(endpoint, timeout=timeout)
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as Http
    except ImportError as error:
        raise _missing(protocol) from error
    return Http(_url(endpoint, "/v1/traces"), timeout=timeout)


def _metric_exporter(protocol: str, endpoint: str | None) -> MetricExporter:
    try:
        if protocol == GRPC:
            from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter as Grpc

            return Grpc(endpoint)
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter as Http
    except ImportError as error:
        raise _missing(protocol) from error
    return Http(_url(endpoint and endpoint.removesuffix("/v1/traces"), "/v1/metrics"))


def _missing(protocol: str) -> UsageError:
    package = "opentelemetry-exporter-otlp-proto-" + ("grpc" if protocol == GRPC else "http")
    return UsageError(f"OTLP over {protocol} needs {package}")
