"""From one call to the page: collector, Prometheus, Alertmanager, webhook, as they are shipped."""

from __future__ import annotations

import json
import time
from typing import Any, NamedTuple

import pytest
from opentelemetry.trace import SpanKind
from tests.collector.agents import delete_file, list_files, measuring, run, sending
from tests.collector.programs import CONFIG, ask, until
from tests.collector.stack import Stack, tags_of

from citespan.core.decision import ProvenanceDenied
from citespan.core.policy import Policy

#: what is promised, in seconds from the call
PROMISED = 60.0
#: an argument's value: nothing but the tool's body may ever see it
VALUE = "customers-2031.csv"
ENFORCE = Policy()
TAG = Policy(mode="tag")


class Sent(NamedTuple):
    """When the calls were made."""

    since: float

    def left(self) -> float:
        """Seconds that are left of what was promised."""
        return PROMISED - (time.monotonic() - self.since)


@pytest.fixture(scope="module")
def sent(running: Stack) -> Sent:
    """One call of each sort, each by a service of its own."""
    now = time.monotonic()
    with sending(running.gateway.http, "blocks") as provider, run(provider, ENFORCE), pytest.raises(ProvenanceDenied):
        delete_file(VALUE)
    with sending(running.gateway.http, "tags") as provider, run(provider, TAG):
        delete_file(VALUE)
        list_files(VALUE)
    endpoint = running.gateway.http
    with (
        sending(endpoint, "clean") as provider,
        measuring(endpoint, "clean") as meters,
        run(provider, ENFORCE, meters=meters),
    ):
        delete_file(list_files("/srv/checkout")["files"][0])
    with sending(running.gateway.http, "bare") as provider:
        tracer = provider.get_tracer("somebody's agent")
        called = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "shell"}
        tracer.start_span("execute_tool shell", attributes=called).end()
        tracer.start_span("search", attributes={"openinference.span.kind": "TOOL", "tool.name": "search"}).end()
        # the inside of a call that another span tells of
        called = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "inner", "mcp.method.name": "tools/call"}
        tracer.start_span("tools/call inner", kind=SpanKind.CLIENT, attributes=called).end()
    return Sent(now)


def pages(running: Stack, sent: Sent, service: str, number: int = 1) -> list[dict[str, Any]]:
    """The first pages about a service."""

    def enough() -> list[dict[str, Any]] | None:
        received = running.paged(service)
        return received if len(received) >= number else None

    return until(enough, f"{number} page(s) about {service}: {running.pages.read_text()}", sent.left())


def said(page: dict[str, Any]) -> tuple[str | None, ...]:
    """What an on-call looks at."""
    return tuple(page["labels"].get(key) for key in ("alertname", "severity", "tool", "argument"))


def test_one_blocked_call_is_paged_within_a_minute(running: Stack, sent: Sent) -> None:
    """The first occurrence counts; tool and argument are labels."""
    (page,) = pages(running, sent, "blocks")
    assert said(page) == ("CitespanCallBlocked", "warning", "delete_file", "path")
    assert page["annotations"]["summary"] == "blocks: delete_file was blocked, path is uncited"


def test_an_uncited_argument_that_reached_a_tool_that_writes_is_critical(running: Stack, sent: Sent) -> None:
    """In tag mode the call ran. The same on a read-only tool pages nobody."""
    (page,) = pages(running, sent, "tags")
    assert said(page) == ("CitespanUncitedArgumentRan", "critical", "delete_file", "path")


def test_unguarded_tool_spans_page(running: Stack, sent: Sent) -> None:
    """By the conventions and by OpenInference; the client span of MCP is the inside of a call, and does not."""
    received = pages(running, sent, "bare", 2)
    assert sorted(map(said, received)) == [
        ("CitespanToolUnguarded", "warning", "search", None),
        ("CitespanToolUnguarded", "warning", "shell", None),
    ]


def test_no_page_holds_a_value_and_a_clean_run_pages_nobody(running: Stack, sent: Sent) -> None:
    """Once all the others are there."""
    for service, number in (("blocks", 1), ("tags", 1), ("bare", 2)):
        pages(running, sent, service, number)
    assert not running.paged("clean")
    assert VALUE not in running.pages.read_text()


def test_an_exemplar_leads_from_the_counter_to_the_trace(running: Stack, sent: Sent) -> None:
    """As Grafana asks for it."""

    def found() -> list[str] | None:
        window = {"start": str(time.time() - 300), "end": str(time.time() + 60)}
        query = {"query": 'provenance_events_total{service_name="blocks"}', **window}
        answer = ask(f"{running.prometheus}/api/v1/query_exemplars", query) or {"data": []}
        return [each["labels"]["trace_id"] for series in answer["data"] for each in series["exemplars"]]

    (trace_id,) = set(until(found, "an exemplar of the blocked call"))
    (trace,) = until(
        lambda: running.jaeger.tagged("blocks", {"provenance.status": "blocked"}), "the trace is in Jaeger"
    )
    assert trace["traceID"] == trace_id
    assert {tags_of(span).get("gen_ai.tool.name") for span in trace["spans"]} >= {"delete_file"}


def test_the_counters_have_the_labels_of_the_conventions_and_nothing_else(running: Stack, sent: Sent) -> None:
    """One series per tool, argument, kind, effect and verdict; of clean and foreign spans, calls only."""
    (series,) = until(lambda: running.query('provenance_events_total{service_name="blocks"}'), "the event is counted")
    labels = dict(series["metric"])
    for of_the_scrape in ("__name__", "instance", "collector_instance_id"):
        del labels[of_the_scrape]
    assert labels == {
        "job": "blocks",
        "service_name": "blocks",
        "gen_ai_tool_name": "delete_file",
        "provenance_argument_name": "path",
        "provenance_argument_kind": "assumed",
        "provenance_tool_mutating": "true",
        "provenance_status": "blocked",
    }
    assert not running.query('provenance_events_total{service_name=~"clean|bare"}')
    calls = running.query('sum by (gen_ai_tool_name, provenance_status) (provenance_calls_total{service_name="bare"})')
    assert {tuple(sorted(each["metric"].values())) for each in calls} == {
        ("search", "unguarded"),
        ("shell", "unguarded"),
    }


def test_prometheus_takes_every_query_of_the_dashboard(running: Stack, sent: Sent) -> None:
    """With Grafana's variables filled in; each has an answer, the guard's time from the SDK's own metric."""
    dashboard = json.loads((CONFIG / "grafana" / "dashboards" / "citespan.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"] if "expr" in target]
    assert queries
    for query in queries:
        filled = query.replace("$service", ".*").replace("$__rate_interval", "1m")
        until(lambda filled=filled: running.query(filled), f"an answer to {filled}")
