"""Enforcement does not depend on telemetry: whatever tracing does, the guessed call does not run."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import opentelemetry.sdk.trace as sdk_trace
import pytest
from opentelemetry import context as otel_context
from opentelemetry import propagate, trace
from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from tests.guard.harness import SECRET, Spans, Toolbox, judges_both_ways, refused

import citespan
from citespan.guard.registry import registry
from citespan.otel.telemetry import OtelTelemetry

ROOT = Path(__file__).resolve().parents[2]


def test_an_unsampled_trace_is_guarded() -> None:
    kept = Spans(sampler=ALWAYS_OFF)
    registry.telemetry = kept.telemetry
    judges_both_ways()
    assert not kept.all()


def test_a_callers_unsampled_traceparent_switches_nothing_off(spans: Spans) -> None:
    remote = propagate.extract({"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"})
    token = otel_context.attach(remote)
    try:
        judges_both_ways()
    finally:
        otel_context.detach(token)
    assert not spans.all()


#: a way to disable single tracers came with a later SDK than the oldest that is supported
configurable = pytest.mark.skipif(not hasattr(sdk_trace, "_TracerConfig"), reason="this SDK cannot disable one tracer")


@configurable
def test_a_disabled_tracer_is_guarded() -> None:
    from opentelemetry.sdk.trace import _TracerConfig

    kept = Spans(_tracer_configurator=lambda scope: _TracerConfig(is_enabled=False))
    registry.telemetry = kept.telemetry
    judges_both_ways()
    assert not kept.all()


@configurable
def test_a_tracer_disabled_in_the_middle_of_a_run_is_guarded(spans: Spans) -> None:
    from opentelemetry.sdk.trace import _TracerConfig

    judges_both_ways()
    spans.provider._set_tracer_configurator(tracer_configurator=lambda scope: _TracerConfig(is_enabled=False))
    spans.exporter.clear()
    judges_both_ways()
    assert not spans.all()


def test_suppressed_instrumentation_is_guarded(spans: Spans) -> None:
    token = otel_context.attach(otel_context.set_value(_SUPPRESS_INSTRUMENTATION_KEY, True))
    try:
        judges_both_ways()
    finally:
        otel_context.detach(token)


def test_a_provider_that_was_shut_down_is_guarded(spans: Spans) -> None:
    spans.provider.shutdown()
    judges_both_ways()


def test_a_no_op_provider_is_guarded() -> None:
    registry.telemetry = OtelTelemetry(trace.NoOpTracerProvider())
    judges_both_ways()


class _Raising(SpanProcessor):
    def __init__(self, hook: str) -> None:
        self._hook = hook

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        if self._hook == "on_start":
            raise RuntimeError("a processor failed")

    def on_end(self, span: ReadableSpan) -> None:
        if self._hook == "on_end":
            raise RuntimeError("a processor failed")


@pytest.mark.parametrize("hook", ["on_start", "on_end"])
def test_another_processor_that_raises_changes_no_verdict(hook: str) -> None:
    provider = TracerProvider()
    provider.add_span_processor(_Raising(hook))
    registry.telemetry = OtelTelemetry(provider)
    judges_both_ways()


class _RaisingExporter(SpanExporter):
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        raise ConnectionError("the collector is gone")


@pytest.mark.parametrize("processor", [SimpleSpanProcessor, BatchSpanProcessor])
def test_an_exporter_that_raises_changes_no_verdict(processor: Callable[[SpanExporter], SpanProcessor]) -> None:
    provider = TracerProvider()
    provider.add_span_processor(processor(_RaisingExporter()))
    registry.telemetry = OtelTelemetry(provider)
    judges_both_ways()
    provider.shutdown()


class _Hanging(SpanExporter):
    def __init__(self) -> None:
        self.entered = threading.Event()
        self.release = threading.Event()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.entered.set()
        self.release.wait(30)
        return SpanExportResult.SUCCESS


def test_an_exporter_that_hangs_does_not_hold_up_a_call() -> None:
    exporter = _Hanging()
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=1, max_export_batch_size=1))
    registry.telemetry = OtelTelemetry(provider)
    judges_both_ways()
    try:
        assert exporter.entered.wait(10)
        for _ in range(20):
            judges_both_ways()
        assert not exporter.release.is_set()
    finally:
        exporter.release.set()
        provider.shutdown()


def test_a_full_batch_queue_loses_spans_and_no_verdict() -> None:
    exporter = _Hanging()
    provider = TracerProvider()
    provider.add_span_processor(
        BatchSpanProcessor(exporter, max_queue_size=2, max_export_batch_size=1, schedule_delay_millis=1)
    )
    registry.telemetry = OtelTelemetry(provider)
    try:
        for _ in range(5):
            judges_both_ways()
    finally:
        exporter.release.set()
        provider.shutdown()


def test_a_refused_call_ends_its_span_once_and_says_so(spans: Spans) -> None:
    box = Toolbox()
    with citespan.run():
        refused(box.patch_file, path=SECRET)
    (span,) = spans.of("patch_file")
    assert span.attributes is not None
    assert span.attributes["provenance.status"] == "blocked"
    assert span.attributes["error.type"] == "provenance_budget_exceeded"
    assert not span.status.is_ok
    assert [event.name for event in span.events] == ["provenance.uncited"]
    assert SECRET not in spans.text()
    assert box.ran == []


SCRIPT = """
import sys
sys.path.insert(0, {root!r})
{before}
from tests.guard.harness import judges_both_ways
judges_both_ways()
print("guarded")
"""
SDK = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
trace.set_tracer_provider(TracerProvider())
"""


@pytest.mark.parametrize(
    "before,environment",
    [
        pytest.param("", {}, id="no provider"),
        pytest.param("", {"OTEL_SDK_DISABLED": "true"}, id="no provider and the SDK disabled"),
        pytest.param(SDK, {"OTEL_SDK_DISABLED": "true"}, id="the SDK disabled"),
        pytest.param(SDK, {"OTEL_TRACES_SAMPLER": "always_off"}, id="sampled out by the environment"),
        pytest.param(SDK, {"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "1"}, id="spans that take one attribute"),
        pytest.param(SDK, {"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "1"}, id="attributes cut to one character"),
        pytest.param("", {"HOME": "/nonexistent", "CITESPAN_DIGEST_KEY": ""}, id="no place for a digest key"),
    ],
)
def test_a_whole_process_is_guarded(before: str, environment: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT.format(root=str(ROOT), before=before)],
        env={**os.environ, "CITESPAN_DIGEST_KEY": "a key for tests", **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "guarded"), done.stderr
