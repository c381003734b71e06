"""`citespan serve` behind a real collector: what went through it has a verdict.

Jaeger 2 is the collector here: it is made of the collector's parts, and has the exporter for OTLP/HTTP, which the one
of collector-config/ does not need.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.collector.agents import delete_file, list_files, run, sending
from tests.collector.programs import fetch, free_ports, program, started, until
from tests.serve.harness import Service, serving

from citespan.core.policy import Policy

CONFIG = """\
receivers:
  otlp:
    protocols:
      http:
        endpoint: 127.0.0.1:{incoming}
exporters:
  otlphttp:
    endpoint: {service}
    encoding: {encoding}
extensions:
  healthcheckv2:
    use_v2: true
    http:
      endpoint: 127.0.0.1:{health}
service:
  extensions: [healthcheckv2]
  telemetry:
    metrics:
      level: none
  pipelines:
    traces:
      receivers: [otlp]
      exporters: [otlphttp]
"""


@pytest.mark.parametrize("encoding", ["proto", "json"])
def test_what_a_collector_sends_is_judged(tmp_path: Path, encoding: str) -> None:
    """In either encoding, gzip, with its own queue between: a clean run and one with a violation."""
    incoming, health = free_ports(2)
    with serving("--settle", "0") as service:
        config = tmp_path / "collector.yaml"
        config.write_text(CONFIG.format(incoming=incoming, service=service.url, health=health, encoding=encoding))
        command = [program("jaeger"), "--config", str(config)]
        with started(command, tmp_path / "collector.log", lambda: fetch(f"http://127.0.0.1:{health}/status")):
            endpoint = f"http://127.0.0.1:{incoming}"
            with sending(endpoint, "clean") as provider, run(provider, Policy()):
                delete_file(list_files("/srv/checkout")["files"][0])
            with sending(endpoint, "tags") as provider, run(provider, Policy(mode="tag")):
                delete_file("customers.csv")
            until(lambda: settled(service) == ["clean", "violations"], "both traces are judged")
        (found,) = service.get("/violations?severity=error").json["violations"]
        assert (found["rule"], found["tool"]) == ("flagged", "delete_file")


def settled(service: Service) -> list[str]:
    """How the traces stand."""
    return sorted(row["status"] for row in service.get("/traces").json["traces"])
