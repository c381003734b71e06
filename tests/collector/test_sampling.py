"""Counted before anything is sampled, and no violation is sampled away."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from tests.collector.agents import delete_file, list_files, run, sending
from tests.collector.programs import until
from tests.collector.stack import Gateway, Stack, gateway, tags_of

from citespan.core.policy import Policy

SERVICE = "sampled"
CLEAN, VIOLATING = 2000, 20
POLICY = Policy(mode="tag")


@pytest.fixture(scope="module")
def collector(running: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A collector that these traces are alone in, at the share of 10 % that is shipped; what it sampled has arrived."""
    tempo = running.tempo.endpoint.removeprefix("http://")
    made = gateway(tmp_path_factory.mktemp("sampling"), jaeger=running.jaeger.otlp, tempo=tempo)
    with made.running():
        with sending(made.http, SERVICE) as provider:
            for number in range(CLEAN + VIOLATING):
                with run(provider, POLICY):
                    (file, _) = list_files("/srv/checkout")["files"]
                    delete_file(file if number % (CLEAN // VIOLATING + 1) else f"guess-{number}.txt")
        until(lambda: sum(decided(made).values()) == CLEAN + VIOLATING or None, "every trace is decided on")
        kept = decided(made)["sampled"]
        until(lambda: len(running.jaeger.traces(SERVICE)) == kept or None, "all that was kept is in Jaeger")
        yield made


def decided(collector: Gateway) -> dict[str, int]:
    """Traces by decision, as the collector counts them."""
    pattern = r'tail_sampling_global_count_traces_sampled\{decision="(\w+)".*\} (\S+)'
    return {decision: int(float(number)) for decision, number in re.findall(pattern, collector.self_metrics)}


def counted(collector: Gateway, metric: str, **labels: str) -> float:
    """The sum of a counter's series, as the collector shows them."""
    lines = [line for line in collector.metrics.splitlines() if line.startswith(f"{metric}{{")]
    for name, value in labels.items():
        lines = [line for line in lines if f'{name}="{value}"' in line]
    return sum(float(line.rpartition(" ")[2]) for line in lines)


def test_every_violating_trace_is_kept_whole(running: Stack, collector: Gateway) -> None:
    """All 20, each with its run, the listing that it did cite nothing from, and the flagged call; none twice."""
    traces = running.jaeger.tagged(SERVICE, {"provenance.status": "flagged"})
    assert len(traces) == VIOLATING
    for trace in traces:
        names = sorted(span["operationName"] for span in trace["spans"])
        assert names == ["execute_tool delete_file", "execute_tool list_files", "invoke_agent agent"]


def test_of_the_clean_traces_a_share_is_kept(running: Stack, collector: Gateway) -> None:
    """About 10 %: within five standard deviations of the binomial distribution."""
    kept = decided(collector)["sampled"] - VIOLATING
    assert 133 <= kept <= 267
    clean = [trace for trace in running.jaeger.traces(SERVICE) if not any(map(flagged, trace["spans"]))]
    assert len(clean) == kept


def flagged(span: dict[str, object]) -> bool:
    return tags_of(span).get("provenance.status") == "flagged"


def test_what_is_counted_is_exact(collector: Gateway) -> None:
    """Every call and every uncited argument, of the traces that were dropped as well."""
    until(lambda: counted(collector, "provenance_calls_total") == 2 * (CLEAN + VIOLATING) or None, "all is flushed")
    assert counted(collector, "provenance_calls_total", gen_ai_tool_name="list_files", provenance_status="ok") == 2020
    assert counted(collector, "provenance_calls_total", gen_ai_tool_name="delete_file", provenance_status="ok") == 2000
    assert counted(collector, "provenance_calls_total", provenance_status="flagged") == VIOLATING
    assert counted(collector, "provenance_events_total") == VIOLATING
