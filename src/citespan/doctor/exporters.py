"""Whether the OTLP endpoint that the environment names takes spans: an empty export, by the real exporter."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from opentelemetry.sdk.trace.export import SpanExportResult

from citespan.doctor.findings import Finding
from citespan.errors import CitespanError
from citespan.otel.setup import exporter_of_environment, wanted_by

#: seconds that the endpoint has for its answer
PATIENCE: Final = 3.0
_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_USER: Final = re.compile(r"[^/@\s]+@")


def reach(environment: Mapping[str, str]) -> Finding:
    """Send an empty export where `configure` would send spans to."""
    if not wanted_by(environment):
        text = "no OTLP endpoint is named: spans go where the program's own provider sends them, or nowhere"
        return Finding("telemetry", "endpoint", "note", text, "set OTEL_EXPORTER_OTLP_ENDPOINT")
    try:
        exporter, place = exporter_of_environment(PATIENCE)
        with _quiet():
            sent = exporter.export([]) is SpanExportResult.SUCCESS
            exporter.shutdown()
    except CitespanError as error:
        return Finding("telemetry", "endpoint", "problem", str(error))
    except Exception as error:
        text = f"{type(error).__name__} while exporting"
        return Finding("telemetry", "endpoint", "problem", text, _advice(environment))
    target = _USER.sub("", place)  # may hold a password
    if sent:
        return Finding("telemetry", "endpoint", "ok", f"{target} takes spans")
    return Finding("telemetry", "endpoint", "problem", f"{target} takes no spans", _advice(environment))


def _advice(environment: Mapping[str, str]) -> str:
    """What to do about an endpoint that takes no spans: the exporters need a URL, a host and a port are none."""
    endpoint = next((environment[name] for name in _ENDPOINTS if environment.get(name)), "")
    if endpoint and "://" not in endpoint:
        return f"write http://{_USER.sub('', endpoint)}"
    return "is the collector running, and is the port the one of this protocol (4317 gRPC, 4318 HTTP)?"


@contextmanager
def _quiet() -> Iterator[None]:
    """The exporters log each failed try; one line of ours says it."""
    logger = logging.getLogger("opentelemetry.exporter")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)
