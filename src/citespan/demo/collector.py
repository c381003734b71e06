"""Where the demo's spans go besides its files: to the collector that the environment names, if any."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
GRPC_PORT: Final = 4317
SECONDS: Final = 2.0


class Exports:
    """OTLP exports of the demo, as the standard variables say; without an endpoint there are none.

    Args:
        endpoint: the collector's address without its userinfo, None where none is named.
    """

    def __init__(self) -> None:
        self._address = _first(ENDPOINTS)
        self._failed = 0
        self._sent = 0

    @property
    def endpoint(self) -> str | None:
        """The collector's address, fit to print."""
        return None if self._address is None else self._address.rpartition("@")[2]

    def processors(self) -> tuple[SpanProcessor, ...]:
        """Fresh processors for one tracer provider, which shuts them down."""
        return () if self._address is None else (SimpleSpanProcessor(_Counting(self)),)

    def exporter(self) -> SpanExporter:
        """An OTLP exporter; gRPC where the environment says so or the port is the one of OTLP over gRPC."""
        address = self._address or ""
        protocol = _first(PROTOCOLS) or ("grpc" if urlsplit(address).port == GRPC_PORT else "http/protobuf")
        if protocol == "grpc":
            from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as Grpc

            return Grpc(timeout=SECONDS)
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as Http

        return Http(timeout=SECONDS)

    def count(self, result: SpanExportResult, spans: int) -> bool:
        """Keep score; True while it is worth trying."""
        if result is SpanExportResult.SUCCESS:
            self._sent += spans
        else:
            self._failed += spans
        return not self._failed

    def outcome(self) -> str:
        """In words, what reached the collector."""
        if self._failed:
            return f"{self.endpoint} did not take the spans; they are in the files"
        return f"{self._sent} spans to {self.endpoint}"


class _Counting(SpanExporter):
    """Hands spans on until the first failure: an absent collector must not make the demo slow."""

    def __init__(self, exports: Exports) -> None:
        self._exports = exports
        self._exporter = exports.exporter()
        self._trying = True

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = SpanExportResult.FAILURE
        if self._trying:
            with suppress(Exception):  # exporters of some versions raise where nobody listens
                result = self._exporter.export(spans)
        self._trying = self._exports.count(result, len(spans))
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()


def _first(names: Sequence[str]) -> str | None:
    return next((value for name in names if (value := os.environ.get(name))), None)
