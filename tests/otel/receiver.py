"""Real OTLP receivers on loopback, over gRPC and over HTTP: what an exporter sends is what a test reads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import (
    TraceServiceServicer,
    add_TraceServiceServicer_to_server,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

PATIENCE = 20.0


class Receiver:
    """What arrived. `endpoint` is what an exporter is given."""

    def __init__(self, protocol: str) -> None:
        self.protocol = protocol
        self.endpoint = ""
        self._requests: list[ExportTraceServiceRequest] = []
        self._metrics: list[ExportMetricsServiceRequest] = []
        self._arrived = threading.Condition()

    def take(self, request: ExportTraceServiceRequest) -> None:
        with self._arrived:
            self._requests.append(request)
            self._arrived.notify_all()

    def take_metrics(self, request: ExportMetricsServiceRequest) -> None:
        with self._arrived:
            self._metrics.append(request)
            self._arrived.notify_all()

    def spans(self, number: int) -> list[Span]:
        """At least `number` spans, in the order in which they came."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: len(self._all()) >= number, PATIENCE), self._all()
            return self._all()

    def metric_names(self) -> set[str]:
        """The names of all metrics, once there are some."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: bool(self._metrics), PATIENCE)
            return {
                metric.name
                for request in self._metrics
                for resource in request.resource_metrics
                for scope in resource.scope_metrics
                for metric in scope.metrics
            }

    def scopes(self) -> set[tuple[str, str, str]]:
        """Name, version and schema URL of every scope that sent something."""
        return {
            (scoped.scope.name, scoped.scope.version, scoped.schema_url)
            for request in self._requests
            for group in request.resource_spans
            for scoped in group.scope_spans
        }

    def _all(self) -> list[Span]:
        return [
            span
            for request in self._requests
            for group in request.resource_spans
            for scoped in group.scope_spans
            for span in scoped.spans
        ]


@contextmanager
def grpc_receiver() -> Iterator[Receiver]:
    receiver = Receiver("grpc")

    class Service(TraceServiceServicer):
        def Export(self, request: ExportTraceServiceRequest, context: Any) -> ExportTraceServiceResponse:  # noqa: N802
            receiver.take(request)
            return ExportTraceServiceResponse()

    with ThreadPoolExecutor(2) as pool:
        server = grpc.server(pool)
        add_TraceServiceServicer_to_server(Service(), server)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        receiver.endpoint = f"http://127.0.0.1:{port}"
        try:
            yield receiver
        finally:
            server.stop(None).wait()


@contextmanager
def http_receiver() -> Iterator[Receiver]:
    receiver = Receiver("http/protobuf")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/v1/traces":
                receiver.take(ExportTraceServiceRequest.FromString(body))
            elif self.path == "/v1/metrics":
                receiver.take_metrics(ExportMetricsServiceRequest.FromString(body))
            self.send_response(200 if self.path.startswith("/v1/") else 404)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    receiver.endpoint = f"http://127.0.0.1:{server.server_port}"
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def plain(value: AnyValue) -> Any:
    """An attribute value as it was before it was sent."""
    field = value.WhichOneof("value")
    if field == "array_value":
        return [plain(member) for member in value.array_value.values]
    if field == "kvlist_value":
        return {pair.key: plain(pair.value) for pair in value.kvlist_value.values}
    return None if field is None else getattr(value, field)


def attributes_of(holder: Any) -> dict[str, Any]:
    """The attributes of a span, link, event or resource message."""
    return {pair.key: plain(pair.value) for pair in holder.attributes}
