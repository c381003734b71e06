"""A real `citespan serve`, its client, and real runs to send to it. What is started here is stopped here."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

import orjson
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.collector.agents import delete_file, list_files, run

from citespan.core.policy import Policy
from citespan.traces.otlp_json import traces_data

#: seconds for anything that has no promise of its own
PATIENCE = 60.0
JSON = "application/json"
PROTOBUF = "application/x-protobuf"


class Answer(NamedTuple):
    """An HTTP answer; header names in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, which is JSON."""
        return json.loads(self.body)


class Service(NamedTuple):
    """A running service."""

    process: subprocess.Popen[str]
    url: str

    @property
    def port(self) -> int:
        """Where it listens, on 127.0.0.1."""
        return int(self.url.rpartition(":")[2])

    @property
    def alive(self) -> bool:
        """Whether it runs, and answers."""
        return self.process.poll() is None and self.get("/healthz").status == 200

    @property
    def resident(self) -> int:
        """Bytes of memory that the process has now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) * 1024

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """One request on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body, dict(headers or {}))
            answer = connection.getresponse()
            named = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, named, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        """A GET."""
        return self.ask("GET", path, None, headers)

    def send(self, body: bytes, content_type: str = JSON, **headers: str) -> Answer:
        """A request to `/v1/traces`."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.ask("POST", "/v1/traces", body, {"Content-Type": content_type} | named)

    def status(self, trace_id: str) -> str:
        """How a trace stands."""
        return str(self.get(f"/traces/{trace_id}").json["status"])


@contextmanager
def serving(*options: str) -> Iterator[Service]:
    """The command, on a free port, for the length of a block; it must end well when it is asked to."""
    process = subprocess.Popen(
        [sys.executable, "-m", "citespan", "serve", "--port", "0", *options],
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        assert line.startswith("listening on http://127.0.0.1:"), line + process.stderr.read()
        yield Service(process, line.split()[-1])
        process.terminate()
        assert process.wait(PATIENCE) == 0
        assert process.stderr.read() == ""
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def until(answer: Any, what: str) -> Any:
    """The first answer that is something, asking again and again.

    Raises:
        AssertionError: there was none in time.
    """
    end, never = time.monotonic() + PATIENCE, Event()
    while not (found := answer()):
        assert time.monotonic() < end, what
        never.wait(0.02)
    return found


class Recorded(NamedTuple):
    """A run as it was exported: its trace id and its spans as OTLP/JSON, the run's own last."""

    trace_id: str
    spans: list[dict[str, Any]]

    def body(self, spans: list[dict[str, Any]] | None = None) -> bytes:
        """A request with these spans, all by default."""
        scope = {"scope": {"name": "citespan"}, "spans": self.spans if spans is None else spans}
        return orjson.dumps({"resourceSpans": [{"resource": {}, "scopeSpans": [scope]}]})

    def bodies(self, trace_ids: Sequence[str], together: int = 200) -> Iterator[bytes]:
        """Requests with the same run under other trace ids, so many of them in each."""
        spans, own = orjson.dumps(self.spans)[1:-1], self.trace_id.encode()
        start, end = self.body([]).split(b"[]}]}]}")[0] + b"[", b"]}]}]}"
        for first in range(0, len(trace_ids), together):
            renamed = (spans.replace(own, name.encode()) for name in trace_ids[first : first + together])
            yield start + b",".join(renamed) + end


def recorded(*, uncited: bool = False) -> Recorded:
    """A run that lists files and deletes one of them; `uncited` deletes one that nothing named, and is only tagged."""
    kept = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    with run(provider, Policy(mode="tag" if uncited else "enforce")):
        path = list_files("/srv/checkout")["files"][0]
        delete_file("zanzibar.csv" if uncited else path)
    provider.shutdown()
    data = traces_data(kept.get_finished_spans())
    spans = [span for group in data["resourceSpans"] for scoped in group["scopeSpans"] for span in scoped["spans"]]
    return Recorded(spans[-1]["traceId"], orjson.loads(orjson.dumps(spans)))
