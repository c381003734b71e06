"""Three metrics with bounded labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.context import Context
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from tests.otel.values import assumed, judged, observed, tag

from citespan import semconv
from citespan.otel import metrics as metrics_module
from citespan.otel.digest import Digester
from citespan.otel.telemetry import OtelTelemetry


class Reader:
    """A telemetry, and the points that it made."""

    def __init__(self) -> None:
        self._reader = InMemoryMetricReader()
        self.provider = MeterProvider([self._reader], shutdown_on_exit=False)
        tracers = TracerProvider(shutdown_on_exit=False)
        self._telemetry = OtelTelemetry(tracers, self.provider, digester=Digester(b"k"))

    def call(self, tags: list[Any], **more: Any) -> None:
        call, decision = judged(tags, **more)
        self._telemetry.start_call(call, decision, Context(), guard_seconds=2e-5).end()

    def metrics(self) -> dict[str, Any]:
        data = self._reader.get_metrics_data()
        assert data is not None
        return {
            metric.name: metric
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }

    def points(self, name: str) -> dict[tuple[tuple[str, Any], ...], Any]:
        return {tuple(sorted(point.attributes.items())): point for point in self.metrics()[name].data.data_points}


@pytest.fixture
def reader() -> Iterator[Reader]:
    made = Reader()
    yield made
    made.provider.shutdown()


def test_calls_are_counted_by_tool_and_verdict(reader: Reader) -> None:
    reader.call([])
    reader.call([])
    reader.call([tag(("path",), "zz", assumed())])
    points = reader.points("citespan.tool.calls")
    assert {key: point.value for key, point in points.items()} == {
        (("gen_ai.tool.name", "patch_file"), ("provenance.status", "ok")): 2,
        (("gen_ai.tool.name", "patch_file"), ("provenance.status", "blocked")): 1,
    }


def test_leaves_are_counted_by_declared_argument_and_kind(reader: Reader) -> None:
    tags = [
        tag(("files", 0), "a.py", observed()),
        tag(("files", 1), "b.py", observed()),
        tag(("made up",), "zz", assumed()),
    ]
    reader.call(tags, declared=frozenset({"files"}))
    points = reader.points("citespan.argument.leaves")
    assert {
        (dict(key)["provenance.argument.name"], dict(key)["provenance.argument.kind"]): point.value
        for key, point in points.items()
    } == {
        ("files", "observed"): 2,
        ("*", "assumed"): 1,
    }


def test_durations_have_buckets_for_microseconds(reader: Reader) -> None:
    reader.call([])
    ((key, point),) = reader.points("citespan.guard.duration").items()
    assert key == (("provenance.status", "ok"),)
    assert point.explicit_bounds[0] == 1e-5
    assert point.bucket_counts[1] == 1
    assert point.sum == 2e-5


def test_units_and_descriptions_are_those_of_the_table(reader: Reader) -> None:
    reader.call([tag(("path",), "a.py", observed())])
    found = reader.metrics()
    assert {(name, metric.unit, metric.description) for name, metric in found.items()} == {
        (metric.name, metric.unit, metric.brief) for metric in semconv.METRICS
    }


def test_the_number_of_series_is_bounded(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics_module, "MAX_SERIES", 10)
    for index in range(50):
        reader.call([tag((f"a{index}",), "a.py", observed())], tool=f"tool{index}")
    calls = reader.points("citespan.tool.calls")
    assert len(calls) <= 11
    assert sum(point.value for point in calls.values()) == 50
    assert (("gen_ai.tool.name", "*"), ("provenance.status", "ok")) in calls
