"""`citespan demo` into the collector, and out of Jaeger's API and the file of violations."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from tests.collector.programs import until
from tests.collector.stack import Gateway, Stack, gateway, tags_of

from citespan.traces.reader import read_spans

SERVICE = "citespan-demo"


@pytest.fixture(scope="module")
def collector(running: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A collector that keeps clean traces as well, as in docker-compose.yml; there is no Tempo at its other address."""
    made = gateway(tmp_path_factory.mktemp("demo"), jaeger=running.jaeger.otlp, tempo=running.jaeger.grpc)
    made.env["CITESPAN_SHARE"] = "100"
    with made.running():
        yield made


@pytest.fixture(scope="module")
def demo(running: Stack, collector: Gateway, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """The two traces of the demo, as Jaeger has them; the blocked run is the second."""
    folder = tmp_path_factory.mktemp("played") / "demo"
    command = [sys.executable, "-m", "citespan", "demo", "--keep", str(folder)]
    environment = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": collector.http}
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, timeout=90)
    sent = [list(read_spans(folder / name)) for name in ("good.jsonl", "bad.jsonl")]

    def arrived() -> list[Any] | None:
        traces = {trace["traceID"]: trace for trace in running.jaeger.traces(SERVICE)}
        found = [traces.get(spans[0].trace_id, {"spans": ()}) for spans in sent]
        return found if [len(each["spans"]) for each in found] == [len(spans) for spans in sent] else None

    return until(arrived, "both traces of the demo are in Jaeger, each span once")


def blocked(trace: Any) -> dict[str, Any]:
    """The blocked spans of a trace, by id."""
    return {span["spanID"]: span for span in trace["spans"] if tags_of(span).get("provenance.status") == "blocked"}


@pytest.mark.parametrize(
    "tags",
    [
        {"provenance.status": "blocked"},
        {"provenance.kind.files": "assumed"},
        {"provenance.kind.base_branch": "assumed"},
        {"gen_ai.tool.name": "git_add", "provenance.status": "blocked"},
        {"error.type": "provenance_budget_exceeded"},
        {"provenance.argument.name": "base_branch"},
        {"provenance.argument.path": "files.*"},
    ],
    ids=str,
)
def test_jaeger_finds_the_blocked_run_and_only_that(running: Stack, demo: list[Any], tags: dict[str, str]) -> None:
    """By verdict, by kind of an argument, by tool, by error, by the argument's name or path on the event."""
    _, bad = demo
    assert [trace["traceID"] for trace in running.jaeger.tagged(SERVICE, tags)] == [bad["traceID"]]


def test_jaeger_finds_what_cites_a_tool(running: Stack, demo: list[Any]) -> None:
    """By the attribute that names the source of an argument."""
    good, _ = demo
    found = running.jaeger.tagged(SERVICE, {"provenance.source_tool.files": "git_status"})
    assert [trace["traceID"] for trace in found] == [good["traceID"]]


def test_the_blocked_spans_say_what_was_uncited(demo: list[Any]) -> None:
    """Three calls, each with its event, and no value of an argument anywhere in the trace."""
    _, bad = demo
    spans = blocked(bad).values()
    assert sorted(span["operationName"].removeprefix("execute_tool ") for span in spans) == [
        "git_add",
        "git_create_branch",
        "git_create_branch",
    ]
    names = {tags_of(event)["provenance.argument.name"] for span in spans for event in span["logs"]}
    assert names == {"files", "base_branch"}


def test_a_citation_is_a_link_to_the_span_of_its_source(demo: list[Any]) -> None:
    """Beside the parent there is a reference to the call that was cited, which `source_span` names as well."""
    good, _ = demo
    by_name = {span["operationName"]: span for span in good["spans"]}
    listed, added = by_name["execute_tool git_status"], by_name["execute_tool git_add"]
    assert tags_of(added)["provenance.source_span.files"] == listed["spanID"]
    references = {(each["refType"], each["spanID"]) for each in added["references"]}
    assert ("FOLLOWS_FROM", listed["spanID"]) in references
    parents = {identity for kind, identity in references if kind == "CHILD_OF"}
    assert parents == {by_name["invoke_agent careful"]["spanID"]}


def test_the_file_of_violations_has_the_same_spans(demo: list[Any], collector: Gateway) -> None:
    """`citespan`'s reader takes it; the blocked spans are there, whole, and no clean one is."""
    _, bad = demo
    spans = {span.span_id: span for span in read_spans(collector.violations)}
    assert spans.keys() == blocked(bad).keys()
    for span in spans.values():
        assert span.resource["service.name"] == SERVICE
        assert span.attributes["provenance.status"] == "blocked"
        assert [event.name for event in span.events] == ["provenance.uncited"]


def test_what_a_backend_refuses_for_good_is_counted(demo: list[Any], collector: Gateway) -> None:
    """The collector's own metrics have the names that the alerts use; the violations' queue is empty again."""
    metrics = until(
        lambda: text if "otelcol_exporter_send_failed_spans{" in (text := collector.self_metrics) else None,
        "spans that nobody took are counted",
    )
    lines = [line for line in metrics.splitlines() if 'exporter="otlp_grpc/violations"' in line]
    assert any(line.startswith("otelcol_exporter_queue_size{") and line.endswith(" 0") for line in lines), lines
    (failed,) = [line for line in metrics.splitlines() if line.startswith("otelcol_exporter_send_failed_spans{")]
    assert 'exporter="otlp_grpc/tempo"' in failed
