"""What collector-config/gateway.yaml costs against a collector that only forwards. `python -m benchmarks.collector`.

Both are the same program, fed with the same requests over OTLP/HTTP, in turn; what they send goes to a third collector.
Compared is CPU time per span, all threads of the process, from the first request until nothing waits: the other load of
the machine falls out of it. Then the gateway without one of its parts, to see what that part costs.

Needs the programs of tests/collector (`make tools`).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.collector.agents import delete_file, list_files, patch_file, run
from tests.collector.programs import CONFIG, Running, fetch, free_ports, missing, program, start, until
from tests.collector.stack import Gateway, gateway

from citespan.core.policy import Policy

TRACES: Final = 20  # in one request
SENDERS: Final = 2
POLICY: Final = Policy(mode="tag", allow=frozenset({"text"}))

BARE: Final = """
receivers:
  otlp: {protocols: {http: {endpoint: "${env:CITESPAN_HTTP}"}}}
exporters:
  otlp_grpc: {endpoint: "${env:CITESPAN_JAEGER}", tls: {insecure: true}}
extensions:
  health_check: {endpoint: "${env:CITESPAN_HEALTH}"}
service:
  extensions: [health_check]
  telemetry:
    metrics: {readers: [{pull: {exporter: {prometheus: {host: 127.0.0.1, port: "${env:CITESPAN_SELF_PORT}"}}}}]}
  pipelines:
    traces: {receivers: [otlp], exporters: [otlp_grpc]}
"""
SINK: Final = """
receivers:
  otlp: {protocols: {grpc: {endpoint: "${env:CITESPAN_GRPC}"}}}
processors:
  filter: {trace_conditions: [{context: span, conditions: ["true"]}]}
exporters:
  file: {path: /dev/null}
extensions:
  health_check: {endpoint: "${env:CITESPAN_HEALTH}"}
service:
  extensions: [health_check]
  telemetry: {metrics: {level: none}}
  pipelines:
    traces: {receivers: [otlp], processors: [filter], exporters: [file]}
"""


class Sample(NamedTuple):
    """One run of one collector: CPU microseconds per span, spans per second, the most resident MiB."""

    cpu: float
    rate: float
    memory: float


def requests(number: int) -> tuple[list[bytes], int]:
    """Requests of `TRACES` runs each, with trace ids of their own, and the spans in one of them.

    A run is seven spans as citespan writes them and one of a model call; in one of 100 runs an argument is uncited.
    """
    kept = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource.create({"service.name": "benchmark"}), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    tracer = provider.get_tracer("model")
    template = []
    for violates in (False, True):
        kept.clear()
        for each in range(TRACES):
            with run(provider, POLICY):
                with tracer.start_as_current_span("chat", attributes={"gen_ai.operation.name": "chat", "tokens": 512}):
                    one, other = list_files("/srv/checkout")["files"]
                for file in (one, other):
                    patch_file(file, text="x = 1")
                    list_files("/srv/checkout")
                delete_file("guess.txt" if violates and not each else one)
        spans = kept.get_finished_spans()
        template.append((encode_spans(spans).SerializeToString(), sorted({span.context.trace_id for span in spans})))
    made = []
    for index in range(number):
        text, traces = template[index % 5 == 0]
        for trace in traces:
            text = text.replace(trace.to_bytes(16, "big"), os.urandom(16))
        made.append(text)
    return made, len(spans)


def post(address: str, bodies: Sequence[bytes]) -> None:
    """Send requests one after the other over one connection; each until it is taken."""
    host, _, port = address.removeprefix("http://").partition(":")
    connection = HTTPConnection(host, int(port), timeout=60)
    for body in bodies:
        status = 0
        while status != 200:
            connection.request("POST", "/v1/traces", body, {"Content-Type": "application/x-protobuf"})
            answer = connection.getresponse()
            answer.read()
            status = answer.status
    connection.close()


def cpu_seconds(process: int) -> float:
    """CPU time of a process so far, all threads, user and kernel."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_mib(process: int) -> float:
    """The most memory that a process had resident."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    assert found
    return int(found.group(1)) / 1024


def waiting(metrics: str) -> float:
    """What a collector has not sent yet: all its queues, and traces that are not decided on."""
    queued = sum(map(float, re.findall(r"^otelcol_exporter_queue_size\{.*\} (\S+)$", metrics, re.M)))
    seen = sum(
        map(float, re.findall(r"^otelcol_processor_tail_sampling_new_trace_id_received.* (\S+)$", metrics, re.M))
    )
    pattern = r"^otelcol_processor_tail_sampling_global_count_traces_sampled\{.*\} (\S+)$"
    return queued + seen - sum(map(float, re.findall(pattern, metrics, re.M)))


def sample(collector: Gateway, bodies: Sequence[bytes], spans: int) -> Sample:
    """Start a collector, send everything, wait until it is idle."""
    process: Running = collector.start()
    try:
        identity = process.process.pid
        post(collector.http, bodies[:2])  # connections, first allocations
        before, since = cpu_seconds(identity), time.monotonic()
        with ThreadPoolExecutor(SENDERS) as pool:
            list(pool.map(lambda part: post(collector.http, part), [bodies[2 + n :: SENDERS] for n in range(SENDERS)]))
        took = time.monotonic() - since
        until(lambda: waiting(collector.self_metrics) <= 0 or None, "nothing waits")
        sent = (len(bodies) - 2) * spans
        return Sample((cpu_seconds(identity) - before) / sent * 1e6, sent / took, peak_mib(identity))
    finally:
        process.stop()


def without(*names: str) -> str:
    """gateway.yaml with these components taken out of every pipeline; a pipeline that feeds nobody goes as a whole."""
    config = yaml.safe_load((CONFIG / "gateway.yaml").read_text())
    pipelines = config["service"]["pipelines"]
    for name, pipeline in list(pipelines.items()):
        for part in ("receivers", "processors", "exporters"):
            pipeline[part] = [each for each in pipeline.get(part, ()) if each not in names]
        if not pipeline["receivers"] or not pipeline["exporters"]:
            del pipelines[name]
    return json.dumps(config)


def in_memory() -> str:
    """gateway.yaml with its queues in memory."""
    config = yaml.safe_load((CONFIG / "gateway.yaml").read_text())
    for exporter in config["exporters"].values():
        exporter.get("sending_queue", {}).pop("storage", None)
    return json.dumps(config)


def on_disk() -> str:
    """Forwarding only, with the queue of agent.yaml."""
    config = yaml.safe_load(BARE)
    agent = yaml.safe_load((CONFIG / "agent.yaml").read_text())
    config["extensions"]["file_storage/queue"] = {"directory": "${env:CITESPAN_STATE}"}
    config["service"]["extensions"].append("file_storage/queue")
    config["exporters"]["otlp_grpc"]["sending_queue"] = agent["exporters"]["otlp_grpc/gateway"]["sending_queue"]
    return json.dumps(config)


def variants() -> Mapping[str, str]:
    """What is compared: name -> configuration."""
    return {
        "forwarding only": BARE,
        "gateway.yaml": (CONFIG / "gateway.yaml").read_text(),
        "without redaction": without("redaction"),
        "without transform/content": without("transform/content"),
        "without transform/unguarded": without("transform/unguarded"),
        "without span_metrics": without("span_metrics"),
        "without the violations' pipeline": without("filter/violations", "file/violations", "otlp_grpc/violations"),
        "without tail sampling": without("tail_sampling"),
        "with queues in memory": in_memory(),
        "forwarding only, with a queue on disk": on_disk(),
    }


@contextmanager
def sink(folder: Path) -> Iterator[str]:
    """A collector that throws everything away."""
    grpc, health = free_ports(2)
    config = folder / "sink.yaml"
    config.write_text(SINK)
    env = {"CITESPAN_GRPC": f"127.0.0.1:{grpc}", "CITESPAN_HEALTH": f"127.0.0.1:{health}"}
    command = [program("otelcol"), "--config", str(config)]
    running = start(command, folder / "sink.log", lambda: fetch(f"http://127.0.0.1:{health}/"), env)
    try:
        yield f"127.0.0.1:{grpc}"
    finally:
        running.stop()


def measured(chosen: Mapping[str, str], rounds: int, number: int) -> dict[str, Sample]:
    """The medians of every variant, measured in turn."""
    bodies, spans = requests(number)
    samples: dict[str, list[Sample]] = {name: [] for name in chosen}
    with tempfile.TemporaryDirectory() as place, sink(Path(place)) as target:
        for turn in range(rounds):
            for index, (name, config) in enumerate(chosen.items()):
                folder = Path(place) / f"{turn}-{index}"
                folder.mkdir()
                (folder / "config.yaml").write_text(config)
                made = gateway(folder, jaeger=target, tempo=target)._replace(config=folder / "config.yaml")
                samples[name].append(sample(made, bodies, spans))
                print(f"round {turn + 1}: {name}: {samples[name][-1]}", file=sys.stderr)
    return {name: Sample(*map(statistics.median, zip(*taken, strict=True))) for name, taken in samples.items()}


def table(results: Mapping[str, Sample]) -> str:
    """A Markdown table; ratios are to forwarding only."""
    lines = ["| | CPU us/span | x | spans/s | peak MiB |", "|---|---:|---:|---:|---:|"]
    base: Any = results["forwarding only"]
    for name, each in results.items():
        lines.append(f"| {name} | {each.cpu:.1f} | {each.cpu / base.cpu:.2f} | {each.rate:,.0f} | {each.memory:.0f} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 only under `--check`, when the gateway costs more than twice the CPU."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.collector", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--requests", type=int, default=1000, help="of 160 spans each")
    parser.add_argument("--whole", action="store_true", help="only forwarding and the whole gateway")
    parser.add_argument("--check", action="store_true", help="exit with 1 above twice the CPU per span")
    options = parser.parse_args(arguments)
    if lacking := missing():
        parser.error(f"the programs are missing: {lacking}")
    chosen = dict(list(variants().items())[: 2 if options.whole else None])
    results = measured(chosen, options.rounds, options.requests)
    print(table(results))
    return int(options.check and results["gateway.yaml"].cpu > 2 * results["forwarding only"].cpu)


if __name__ == "__main__":
    sys.exit(main())
