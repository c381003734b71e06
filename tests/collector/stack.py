"""Everything of collector-config/, started as it is shipped: only the addresses are the test's own."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.collector.programs import CONFIG, Running, ask, fetch, free_ports, program, start, started, until
from tests.otel.receiver import Receiver, grpc_receiver


class Jaeger(NamedTuple):
    """A running Jaeger: where OTLP goes in, its HTTP API, and the API over gRPC, which takes no OTLP."""

    otlp: str
    api: str
    grpc: str

    def traces(self, service: str, **query: str) -> list[Any]:
        """The traces that a search finds."""
        found = ask(f"{self.api}/api/traces", {"service": service, "limit": "5000", **query}) or {}
        return list(found.get("data") or ())

    def tagged(self, service: str, tags: Mapping[str, str]) -> list[Any]:
        """The traces of which one span, or one of its events, has all these tags."""
        return self.traces(service, tags=json.dumps(tags))

    def spans(self, service: str) -> list[Any]:
        """All spans of a service."""
        return [span for trace in self.traces(service) for span in trace["spans"]]


def tags_of(span: Any) -> dict[str, Any]:
    """The tags of a span, or of one of its log lines."""
    return {tag["key"]: tag["value"] for tag in span.get("tags", span.get("fields", ()))}


@contextmanager
def jaeger(folder: Path, otlp: int | None = None) -> Iterator[Jaeger]:
    """Jaeger with collector-config/jaeger/jaeger.yaml; `otlp` is a port that was promised to somebody."""
    free, query, grpc, health, own = free_ports(5)
    otlp = otlp or free
    env = {
        "JAEGER_OTLP": f"127.0.0.1:{otlp}",
        "JAEGER_QUERY": f"127.0.0.1:{query}",
        "JAEGER_GRPC": f"127.0.0.1:{grpc}",
        "JAEGER_HEALTH": f"127.0.0.1:{health}",
        "JAEGER_SELF_PORT": str(own),
    }
    api = f"http://127.0.0.1:{query}"
    command = [program("jaeger"), "--config", str(CONFIG / "jaeger" / "jaeger.yaml")]
    running = start(command, folder / "jaeger.log", lambda: fetch(f"{api}/api/services"), env)
    try:
        yield Jaeger(f"127.0.0.1:{otlp}", api, f"127.0.0.1:{grpc}")
    finally:
        running.kill()  # it waits for connections to close, and has nothing to save


class Gateway(NamedTuple):
    """A collector with collector-config/gateway.yaml, which can be started again where it was."""

    folder: Path
    env: dict[str, str]
    config: Path = CONFIG / "gateway.yaml"

    @property
    def http(self) -> str:
        """Where OTLP over HTTP goes in."""
        return f"http://{self.env['CITESPAN_HTTP']}"

    @property
    def metrics(self) -> str:
        """What Prometheus scrapes."""
        return fetch(f"http://{self.env['CITESPAN_METRICS']}/metrics") or ""

    @property
    def self_metrics(self) -> str:
        """The collector's own metrics."""
        return fetch(f"http://127.0.0.1:{self.env['CITESPAN_SELF_PORT']}/metrics") or ""

    @property
    def violations(self) -> Path:
        """The file that every violation is written to."""
        return Path(self.env["CITESPAN_STATE"]) / "violations.jsonl"

    def start(self) -> Running:
        """Start it, and wait until it is healthy."""
        command = [program("otelcol"), "--config", str(self.config)]
        health = f"http://{self.env['CITESPAN_HEALTH']}/"
        return start(command, self.folder / "gateway.log", lambda: fetch(health) is not None, self.env)

    @contextmanager
    def running(self) -> Iterator[Gateway]:
        """Running for the length of a block."""
        process = self.start()
        try:
            yield self
        finally:
            process.stop()


def gateway(folder: Path, *, jaeger: str, tempo: str) -> Gateway:
    """A collector on free ports, not started yet."""
    grpc, http, metrics, own, health = free_ports(5)
    env = {
        "CITESPAN_GRPC": f"127.0.0.1:{grpc}",
        "CITESPAN_HTTP": f"127.0.0.1:{http}",
        "CITESPAN_METRICS": f"127.0.0.1:{metrics}",
        "CITESPAN_SELF_PORT": str(own),
        "CITESPAN_HEALTH": f"127.0.0.1:{health}",
        "CITESPAN_JAEGER": jaeger,
        "CITESPAN_TEMPO": tempo,
        "CITESPAN_STATE": str(folder / "state"),
    }
    (folder / "state").mkdir()
    return Gateway(folder, env)


class Stack(NamedTuple):
    """The whole of it. `pages` is a file with one line of JSON per alert that the on-call received."""

    gateway: Gateway
    jaeger: Jaeger
    tempo: Receiver
    prometheus: str
    pages: Path

    def paged(self, service: str) -> list[dict[str, Any]]:
        """The alerts about a service that were received, in order."""
        alerts = [json.loads(line) for line in self.pages.read_text().splitlines()[1:]]
        return [alert for alert in alerts if alert["labels"].get("service_name") == service]

    def query(self, expression: str) -> list[Any]:
        """The samples of an instant query; a query that is refused is an error."""
        answer = ask(f"{self.prometheus}/api/v1/query", {"query": expression})
        assert answer is not None, expression
        assert answer["status"] == "success", answer
        return list(answer["data"]["result"])


def readdressed(source: Path, target: Path, addresses: dict[str, str]) -> Path:
    """A copy of a shipped configuration in which nothing but these addresses is another."""
    text = source.read_text()
    for shipped, ours in addresses.items():
        assert text.count(shipped) == 1, f"{shipped} in {source}"
        text = text.replace(shipped, ours)
    target.write_text(text)
    return target


@contextmanager
def stack(folder: Path) -> Iterator[Stack]:
    """Collector, Jaeger, Prometheus, Alertmanager and pager; a receiver of the tests' stands in for Tempo."""
    with ExitStack() as up:
        store = up.enter_context(jaeger(folder))
        tempo = up.enter_context(grpc_receiver())
        collector = gateway(folder, jaeger=store.otlp, tempo=tempo.endpoint.removeprefix("http://"))
        up.enter_context(collector.running())

        pages = folder / "pages.jsonl"
        command = [sys.executable, str(CONFIG / "demo" / "pager.py"), "127.0.0.1:0"]
        up.enter_context(started(command, pages, pages.read_text))
        pager = pages.read_text().splitlines()[0]

        alertmanager, prometheus = (f"127.0.0.1:{port}" for port in free_ports(2))
        config = readdressed(
            CONFIG / "alertmanager" / "alertmanager.yaml", folder / "alertmanager.yaml", {"pager:9095": pager}
        )
        command = [
            program("prometheus-alertmanager"),
            f"--config.file={config}",
            f"--storage.path={folder / 'alertmanager'}",
            f"--web.listen-address={alertmanager}",
            "--cluster.listen-address=",
        ]
        ready = f"http://{alertmanager}/-/ready"
        up.enter_context(started(command, folder / "alertmanager.log", lambda: fetch(ready)))

        addresses = {
            "collector:8889": collector.env["CITESPAN_METRICS"],
            "collector:8888": f"127.0.0.1:{collector.env['CITESPAN_SELF_PORT']}",
            "alertmanager:9093": alertmanager,
            "rules/*.yaml": str(CONFIG / "prometheus" / "rules" / "*.yaml"),
        }
        config = readdressed(CONFIG / "prometheus" / "prometheus.yaml", folder / "prometheus.yaml", addresses)
        command = [
            program("prometheus"),
            f"--config.file={config}",
            f"--storage.tsdb.path={folder / 'tsdb'}",
            f"--web.listen-address={prometheus}",
            "--enable-feature=exemplar-storage",
        ]
        api = f"http://{prometheus}"
        up.enter_context(started(command, folder / "prometheus.log", lambda: fetch(f"{api}/-/ready")))
        everything = Stack(collector, store, tempo, api, pages)
        until(lambda: everything.query('up{job="citespan"} == 1'), "Prometheus has scraped the collector")
        yield everything
