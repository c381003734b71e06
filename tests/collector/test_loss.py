"""Killed in the middle of a run, with backends that are away: every violation still reaches Jaeger."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.collector.agents import delete_file, run, sending
from tests.collector.programs import CONFIG, Running, fetch, free_ports, program, started, until
from tests.collector.stack import Jaeger, gateway, jaeger, tags_of

from citespan.core.policy import Policy

EACH = 100


def violate(endpoint: str, service: str) -> set[str]:
    """Make flagged calls, hand their spans to a collector, and return their span ids."""
    kept = InMemorySpanExporter()
    with sending(endpoint, service) as provider:
        provider.add_span_processor(SimpleSpanProcessor(kept))
        for number in range(EACH):
            with run(provider, Policy(mode="tag")):
                delete_file(f"guess-{number}.txt")
    spans = [span for span in kept.get_finished_spans() if span.name == "execute_tool delete_file"]
    assert len(spans) == EACH
    return {format(span.context.span_id, "016x") for span in spans}


def flagged(store: Jaeger, service: str) -> set[str]:
    """The ids of a service's flagged spans that Jaeger has."""
    return {span["spanID"] for span in store.spans(service) if tags_of(span).get("provenance.status") == "flagged"}


def test_a_killed_collector_loses_no_violation(tmp_path: Path) -> None:
    """Agent collector, gateway, Jaeger. The gateway is killed twice; Jaeger comes only after the first time.

    What the gateway had taken is on its disk, what it had not is on the agent collector's.
    """
    with ExitStack() as up:
        (grpc, http, health, own, otlp) = free_ports(5)
        late = f"127.0.0.1:{otlp}"
        collector = gateway(tmp_path, jaeger=late, tempo="127.0.0.1:9")

        def begin() -> Running:
            process = collector.start()
            up.callback(process.stop)
            return process

        process = begin()
        env = {
            "CITESPAN_AGENT_GRPC": f"127.0.0.1:{grpc}",
            "CITESPAN_AGENT_HTTP": f"127.0.0.1:{http}",
            "CITESPAN_AGENT_HEALTH": f"127.0.0.1:{health}",
            "CITESPAN_AGENT_SELF_PORT": str(own),
            "CITESPAN_AGENT_STATE": str(tmp_path / "agent"),
            "CITESPAN_GATEWAY": collector.env["CITESPAN_GRPC"],
        }
        command = [program("otelcol"), "--config", str(CONFIG / "agent.yaml")]
        up.enter_context(started(command, tmp_path / "agent.log", lambda: fetch(f"http://127.0.0.1:{health}/"), env))
        agent = f"http://127.0.0.1:{http}"

        # taken by the gateway, which cannot hand it on
        sent = {"first": violate(agent, "first")}
        until(
            lambda: collector.violations.read_text().count("flagged") >= EACH or None, "the gateway has the first ones"
        )
        process.kill()

        # taken by the agent collector only
        sent["second"] = violate(agent, "second")
        process = begin()
        store = up.enter_context(jaeger(tmp_path, otlp))
        until(lambda: flagged(store, "first") or None, "Jaeger has some of the first ones")

        # in the middle of a third run: some have arrived, the rest is anywhere
        sent["third"] = violate(agent, "third")
        process.kill()
        begin()
        for service, spans in sent.items():
            until(lambda service=service, spans=spans: flagged(store, service) == spans, f"all of the {service} {EACH}")
