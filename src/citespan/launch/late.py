"""Telemetry of a program that may set up OpenTelemetry itself, and has not had the time yet.

The program's own tracer provider wins: the second gate and the trace file are added to it as soon as it is set. Where
none is set by the first call or run, and the environment asks for spans, one is made then.
"""

from __future__ import annotations

import os
from typing import Any, Final

import wrapt
from opentelemetry import trace
from opentelemetry.context import Context

from citespan.core import locks
from citespan.core.decision import Decision
from citespan.errors import CitespanError
from citespan.guard.ports import CallSpan, RunSpan, Telemetry, ToolCall
from citespan.guard.registry import NoTelemetry, registry
from citespan.guard.trouble import logger
from citespan.launch.variables import TRACE_FILE, value_of
from citespan.otel.posture import report
from citespan.otel.telemetry import OtelTelemetry

#: trace files that an exporter writes already, which OpenTelemetry's own start made (`OTEL_TRACES_EXPORTER`)
written: Final[set[str]] = set()


class LateTelemetry:
    """Implements `citespan.guard.ports.Telemetry`; puts another one in its place once it is known which."""

    def __init__(self) -> None:
        self._meanwhile = OtelTelemetry()
        self._lock = locks.lock()

    def start_call(self, call: ToolCall, decision: Decision, context: Context, *, guard_seconds: float) -> CallSpan:
        """A call's span, by whichever telemetry it turns out to be."""
        return self.settled().start_call(call, decision, context, guard_seconds=guard_seconds)

    def start_run(self, name: str | None, run_id: str | None, context: Context) -> RunSpan:
        """A run's span, likewise."""
        return self.settled().start_run(name, run_id, context)

    def settled(self) -> Telemetry:
        """What spans go to now. Never raises."""
        with self._lock:
            return self._settle()

    def provider_was_set(self) -> None:
        """The program set its provider; by us it is done with the lock held, and then there is nothing to do."""
        if self._lock.acquire(blocking=False):
            try:
                self._settle()
            finally:
                self._lock.release()

    def _settle(self) -> Telemetry:
        if registry.telemetry is not self:
            return registry.telemetry
        if _is_proxy() and not _wanted():
            return self._meanwhile
        registry.telemetry = found = _choose() or self._meanwhile
        return found


def install() -> None:
    """Choose telemetry late, unless it was chosen already. Twice is once."""
    if type(registry.telemetry) is not NoTelemetry:
        return
    registry.telemetry = late = LateTelemetry()

    def set_provider(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> None:
        wrapped(*args, **kwargs)
        late.provider_was_set()

    wrapt.wrap_function_wrapper("opentelemetry.trace", "set_tracer_provider", set_provider)
    if not _is_proxy():
        late.settled()


def _is_proxy() -> bool:
    return isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


def _wanted() -> bool:
    from citespan.otel.setup import wanted_by

    return bool(value_of(TRACE_FILE)) or wanted_by(os.environ)


def _choose() -> OtelTelemetry | None:
    """Provider, second gate and exporters; None where they cannot be had: telemetry never breaks a tool."""
    from citespan.otel.setup import configure_telemetry
    from citespan.traces.file_exporter import OtlpJsonFileExporter

    policy = registry.policy
    exporters = []
    try:
        path = value_of(TRACE_FILE)
        if path and os.path.abspath(path) not in written:
            exporters.append(OtlpJsonFileExporter(path))
        return configure_telemetry(exporters=exporters, events=policy.events, previews=policy.previews).telemetry
    except CitespanError as error:
        logger.error("no spans are exported (calls are guarded all the same): %s", error)
    except Exception as error:
        report("setting up telemetry", error)
    return None
