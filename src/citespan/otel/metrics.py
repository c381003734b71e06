"""The three metrics. Labels are tool, declared argument, kind and status; their number is bounded."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

from opentelemetry import metrics
from opentelemetry.context import Context

from citespan import semconv
from citespan.core.decision import Decision
from citespan.otel.names import ToolNames
from citespan.otel.posture import never_raises, nothing

#: distinct label sets per metric; what comes after is counted under `*`
MAX_SERIES: Final = 2000


class Metrics:
    """The instruments of one meter provider, made on first use.

    Args:
        provider: None for the global one, also where that is set later. version: of the scope.
    """

    def __init__(self, provider: metrics.MeterProvider | None, version: str) -> None:
        self._provider = provider
        self._version = version
        self._labels: dict[tuple[str, ...], dict[str, str]] = {}

    @cached_property
    def _meter(self) -> metrics.Meter:
        return metrics.get_meter(semconv.SCOPE, self._version, self._provider, semconv.SCHEMA_URL)

    @cached_property
    def _calls(self) -> metrics.Counter:
        calls, _, _ = semconv.METRICS
        return self._meter.create_counter(calls.name, calls.unit, calls.brief)

    @cached_property
    def _leaves(self) -> metrics.Counter:
        _, leaves, _ = semconv.METRICS
        return self._meter.create_counter(leaves.name, leaves.unit, leaves.brief)

    @cached_property
    def _duration(self) -> metrics.Histogram:
        _, _, duration = semconv.METRICS
        return self._meter.create_histogram(
            duration.name,
            duration.unit,
            duration.brief,
            explicit_bucket_boundaries_advisory=duration.buckets,
        )

    @never_raises(nothing)
    def measure(self, decision: Decision, names: ToolNames, seconds: float, context: Context) -> None:
        """Count one call and its leaves, and record how long judging took."""
        calls = self._calls
        if not _is_live(calls):
            return
        calls.add(1, self._label((semconv.TOOL_NAME, semconv.STATUS), names.name, decision.status), context)
        self._duration.record(seconds, self._label((semconv.STATUS,), decision.status), context)
        counts: dict[tuple[str, str], int] = {}
        for tag in decision.tags:
            keys = names.arguments.get(tag.leaf.path[0])
            series = (semconv.UNDECLARED if keys is None else keys.label, tag.provenance.kind)
            counts[series] = counts.get(series, 0) + 1
        for (argument, kind), number in counts.items():
            label = self._label(
                (semconv.TOOL_NAME, semconv.ARGUMENT_NAME, semconv.ARGUMENT_KIND), names.name, argument, kind
            )
            self._leaves.add(number, label, context)

    def _label(self, keys: tuple[str, ...], *values: str) -> Mapping[str, str]:
        label = self._labels.get(values)
        if label is None:
            label = dict(zip(keys, values, strict=True))
            if len(self._labels) < MAX_SERIES:
                self._labels[values] = label
            else:
                closed = (semconv.STATUS, semconv.ARGUMENT_KIND)
                label = {key: label[key] if key in closed else semconv.UNDECLARED for key in keys}
        return label


def _is_live(instrument: Any) -> bool:
    """Whether anybody receives what is counted; without a meter provider nobody does."""
    if isinstance(instrument, metrics.NoOpCounter):
        return False
    return getattr(instrument, "_real_instrument", instrument) is not None
