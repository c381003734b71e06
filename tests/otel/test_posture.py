"""Telemetry never raises, whatever it is built on does."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExporter, SpanExportResult
from tests.otel.values import assumed, judged, observed, tag

from citespan.otel.digest import Digester
from citespan.otel.posture import never_raises, nothing
from citespan.otel.telemetry import OtelTelemetry

TAGS = [tag(("path",), "a.py", observed()), tag(("b",), "zz", assumed())]


class Broken(Exception):
    """What everything here raises; its text must not be logged."""

    def __init__(self) -> None:
        super().__init__("secret")


class BrokenProvider(trace.TracerProvider):
    def get_tracer(self, *args: Any, **kwargs: Any) -> trace.Tracer:
        raise Broken


class BrokenTracer(trace.NoOpTracer):
    def start_span(self, *args: Any, **kwargs: Any) -> trace.Span:
        raise Broken


class BrokenTracerProvider(trace.TracerProvider):
    def get_tracer(self, *args: Any, **kwargs: Any) -> trace.Tracer:
        return BrokenTracer()


class BrokenSpan(trace.NonRecordingSpan):
    def is_recording(self) -> bool:
        return True

    def _raise(self, *args: Any, **kwargs: Any) -> Any:
        raise Broken

    set_attribute = set_attributes = set_status = add_event = add_link = end = _raise


class SpanBreaker(trace.TracerProvider):
    def get_tracer(self, *args: Any, **kwargs: Any) -> trace.Tracer:
        class Tracer(trace.NoOpTracer):
            def start_span(self, *args: Any, **kwargs: Any) -> trace.Span:
                return BrokenSpan(trace.SpanContext(1, 2, is_remote=False))

        return Tracer()


class BrokenProcessor(SpanProcessor):
    def __init__(self, where: str) -> None:
        self.where = where

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        if self.where == "start":
            raise Broken

    def on_end(self, span: Any) -> None:
        if self.where == "end":
            raise Broken


def with_processor(where: str) -> TracerProvider:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BrokenProcessor(where))
    return provider


def use(telemetry: OtelTelemetry) -> None:
    """Everything that the guard does with a telemetry."""
    call, decision = judged(TAGS)
    run = telemetry.start_run("coder", "r", Context())
    here = run.context(Context())
    started = telemetry.start_call(call, decision, here, guard_seconds=1e-5)
    started.context(here)
    started.amend(decision)
    started.end(error=ValueError("secret"), note="note")
    run.end(error=ValueError("secret"))


@pytest.mark.parametrize(
    "provider",
    [BrokenProvider(), BrokenTracerProvider(), SpanBreaker(), with_processor("start"), with_processor("end")],
    ids=["provider", "tracer", "span", "on_start", "on_end"],
)
def test_nothing_that_a_provider_does_reaches_the_guard(
    provider: trace.TracerProvider, caplog: pytest.LogCaptureFixture
) -> None:
    telemetry = OtelTelemetry(provider, digester=Digester(b"k"))
    with caplog.at_level(logging.INFO):
        use(telemetry)
        first = len(caplog.records)
        use(telemetry)
    assert first > 0
    assert len(caplog.records) == first, "each kind of failure is logged once"
    assert "secret" not in caplog.text
    assert "Broken" in caplog.text


def test_a_failing_digest_loses_the_span_and_nothing_else() -> None:
    class BrokenDigester(Digester):
        def digest(self, value: Any) -> str:
            raise Broken

    use(OtelTelemetry(TracerProvider(shutdown_on_exit=False), digester=BrokenDigester(b"k")))


def test_a_failing_meter_does_not_lose_the_span(monkeypatch: pytest.MonkeyPatch) -> None:
    class BrokenMeters(MeterProvider):
        def get_meter(self, *args: Any, **kwargs: Any) -> Any:
            raise Broken

    meters = BrokenMeters(shutdown_on_exit=False)
    telemetry = OtelTelemetry(TracerProvider(shutdown_on_exit=False), meters, digester=Digester(b"k"))
    call, decision = judged(TAGS)
    assert telemetry.start_call(call, decision, Context(), guard_seconds=0.0).ref is not None


class RaisingExporter(SpanExporter):
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        raise Broken


def test_an_exporter_that_raises_does_not_reach_the_guard(caplog: pytest.LogCaptureFixture) -> None:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(RaisingExporter()))
    use(OtelTelemetry(provider, digester=Digester(b"k")))


def test_an_exporter_that_hangs_does_not_hold_a_call_up() -> None:
    released = threading.Event()

    class Hanging(SpanExporter):
        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            released.wait()
            return SpanExportResult.SUCCESS

    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(Hanging(), schedule_delay_millis=1, max_export_batch_size=1))
    telemetry = OtelTelemetry(provider, digester=Digester(b"k"))
    finished = threading.Event()

    def calls() -> None:
        for _ in range(50):
            use(telemetry)
        finished.set()

    threading.Thread(target=calls, daemon=True).start()
    try:
        assert finished.wait(20), "a call waited for the exporter"
    finally:
        released.set()
        provider.shutdown()


def test_interrupts_pass() -> None:
    @never_raises(nothing)
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
