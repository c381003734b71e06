"""A trace that went through the real Jaeger and was downloaded there, or through a real collector's `file` exporter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import TraceServiceStub
from tests.collector.programs import fetch, free_ports, program, started, until
from tests.collector.stack import Stack
from tests.traces.messages import parse_line

from citespan.calls import Call, call_of
from citespan.errors import TraceFileError
from citespan.traces.model import SpanRecord
from citespan.traces.reader import read_spans

CONFIG = """
receivers: {otlp: {protocols: {grpc: {endpoint: "${env:IN}"}}}}
exporters:
  file/json: {path: "${env:OUT}/json"}
  file/proto: {path: "${env:OUT}/proto", format: proto}
  file/zstd: {path: "${env:OUT}/zstd", format: proto, compression: zstd}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {traces: {receivers: [otlp], exporters: [file/json, file/proto, file/zstd]}}
"""


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The blocked run of the demo, as its trace file has it."""
    folder = tmp_path_factory.mktemp("played") / "demo"
    environment = {key: value for key, value in os.environ.items() if not key.startswith("OTEL_")}
    command = [sys.executable, "-m", "citespan", "demo", "--keep", str(folder)]
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, timeout=90)
    return folder / "bad.jsonl"


@pytest.fixture(scope="module")
def written(sent: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of what a collector wrote, which has ended."""
    folder = tmp_path_factory.mktemp("written")
    (port,) = free_ports(1)
    config = folder / "collector.yaml"
    config.write_text(CONFIG)
    environment = {"IN": f"127.0.0.1:{port}", "OUT": str(folder)}
    command = [program("otelcol"), "--config", str(config)]
    with started(command, folder / "log", lambda: True, environment):
        send(sent, environment["IN"])
    return folder


@pytest.fixture(scope="module")
def downloaded(running: Stack, sent: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The address of the trace in Jaeger's API, and a folder to put it into."""
    send(sent, running.jaeger.otlp)
    trace_id = next(read_spans(sent)).trace_id
    address = f"{running.jaeger.api}/api/traces/{trace_id}"
    number = len(list(read_spans(sent)))
    until(lambda: (text := fetch(address)) and text.count('"operationName"') == number, "the trace is in Jaeger")
    return address, tmp_path_factory.mktemp("downloaded")


def send(file: Path, address: str) -> None:
    """Send each line of a trace file over OTLP."""
    with grpc.insecure_channel(address) as channel:
        for line in file.read_bytes().splitlines():
            request = ExportTraceServiceRequest.FromString(parse_line(line).SerializeToString())
            TraceServiceStub(channel).Export(request, timeout=30, wait_for_ready=True)


def by_id(file: Path) -> dict[str, SpanRecord]:
    """The spans of a file, without their places."""
    return {span.span_id: span._replace(place="") for span in read_spans(file)}


def calls_of(file: Path) -> dict[str, Call]:
    """The calls of a file, as far as Jaeger has them: microseconds, no attributes on links, keys in another order."""
    found = {}
    for span in read_spans(file):
        call = call_of(span)
        if call is not None:
            arguments = tuple(sorted(call.arguments))
            times = {"start": call.start // 1000, "end": 0}
            found[span.span_id] = call._replace(place="", links=(), arguments=arguments, **times)
    return found


@pytest.mark.parametrize("form", ["json", "proto"])
def test_both_formats_of_the_file_exporter(form: str, sent: Path, written: Path) -> None:
    """The same spans as were sent, every field."""
    assert by_id(written / form) == by_id(sent)


def test_a_compressed_one_says_how_to_go_on(written: Path) -> None:
    """Each message of it is compressed by itself, which no program undoes."""
    with pytest.raises(TraceFileError, match=r"zstd, as a collector.*: write the file without `compression`"):
        list(read_spans(written / "zstd"))


@pytest.mark.parametrize("query", [{}, {"prettyPrint": "true"}], ids=["plain", "pretty"])
def test_jaegers_download_tells_of_the_same_calls(
    query: dict[str, str], sent: Path, downloaded: tuple[str, Path]
) -> None:
    """Verdicts, violations, arguments, sources, digests, times to the microsecond, parents."""
    address, folder = downloaded
    file = folder / f"trace{len(query)}.json"
    file.write_text(fetch(address, query) or "")
    assert calls_of(file) == calls_of(sent)
    theirs, ours = by_id(file), by_id(sent)
    assert theirs.keys() == ours.keys()
    for identity, span in ours.items():
        other = theirs[identity]
        assert (other.parent_id, other.status, other.message, other.kind) == (
            span.parent_id,
            span.status,
            span.message,
            span.kind,
        )
        assert (other.scope, other.scope_version, other.resource) == (span.scope, span.scope_version, span.resource)
        assert other.attributes == span.attributes
        assert [link.span_id for link in other.links] == [link.span_id for link in span.links]
        assert [(event.name, event.attributes) for event in other.events] == [
            (event.name, event.attributes) for event in span.events
        ]


def test_jaegers_newer_api_answers_otlp(sent: Path, downloaded: tuple[str, Path]) -> None:
    """Which loses nothing."""
    address, folder = downloaded
    file = folder / "otlp.json"
    file.write_text(fetch(address.replace("/api/", "/api/v3/")) or "")
    assert json.loads(file.read_text()).keys() == {"result"}
    theirs, ours = by_id(file), by_id(sent)
    assert {key: span.attributes for key, span in theirs.items()} == {
        key: span.attributes for key, span in ours.items()
    }
    assert {key: span.links for key, span in theirs.items()} == {key: span.links for key, span in ours.items()}
