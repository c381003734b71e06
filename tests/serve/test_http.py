"""How the service speaks: OTLP/HTTP's answers, problem documents, and nothing for web pages of others."""

from __future__ import annotations

import asyncio
import gzip
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from google.rpc.error_details_pb2 import BadRequest
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from tests.docs.desk import trace
from tests.serve.harness import JSON, PROTOBUF, Service, recorded

from citespan.serve.app import application
from citespan.serve.desk import Desk
from citespan.serve.limits import Limits


def test_success_is_an_export_response_in_the_encoding_of_the_request(service: Service) -> None:
    """With `partial_success` unset; also for a request without spans."""
    for body, kind, expected in ((b"{}", JSON, b"{}"), (b"", PROTOBUF, b"")):
        answer = service.send(body, kind)
        assert (answer.status, answer.headers["content-type"], answer.body) == (200, kind, expected)


def test_partial_success_counts_what_was_rejected(service: Service) -> None:
    """And says why, in English."""
    request = ExportTraceServiceRequest()
    request.resource_spans.add().scope_spans.add().spans.add(trace_id=b"1")
    answer = service.send(request.SerializeToString(), PROTOBUF)
    partial = ExportTraceServiceResponse.FromString(answer.body).partial_success
    assert (answer.status, partial.rejected_spans) == (200, 1)
    assert "traceId" in partial.error_message


def test_bad_data_is_400_with_a_status(service: Service) -> None:
    """In the encoding of the request, with a BadRequest in its details."""
    answer = service.send(b"\xff", PROTOBUF)
    status = Status.FromString(answer.body)
    assert (answer.status, answer.headers["content-type"]) == (400, PROTOBUF)
    assert status.message.startswith("no ExportTraceServiceRequest")
    (detail,) = status.details
    assert detail.type_url == "type.googleapis.com/google.rpc.BadRequest"
    assert BadRequest.FromString(detail.value).field_violations[0].description == status.message
    answer = service.send(b"{", JSON)
    assert (answer.status, answer.headers["content-type"]) == (400, JSON)
    assert answer.json["details"][0]["@type"] == "type.googleapis.com/google.rpc.BadRequest"


@pytest.mark.parametrize("kind", ["text/plain", "", "application/grpc", "application/x-www-form-urlencoded"])
def test_another_content_type_is_415(service: Service, kind: str) -> None:
    """Those that a web page may send without asking are among them."""
    assert service.send(b"{}", kind).status == 415


def test_another_content_encoding_is_415(service: Service) -> None:
    """Only gzip is; a name in capitals is the same."""
    assert service.send(b"{}", JSON, Content_Encoding="br").status == 415
    assert service.send(gzip.compress(b"{}"), JSON, Content_Encoding="GZIP").status == 200
    assert service.send(b"{}", "Application/JSON; charset=utf-8").status == 200
    assert service.send(b"{}", JSON, Content_Encoding="gzip").status == 400


def test_an_unknown_trace_is_a_problem_document(service: Service) -> None:
    """404, as for what is no id."""
    for path in (f"/traces/{'9' * 32}", "/traces/9", f"/traces/{'9' * 32}/report", "/traces/%00", "/nothing"):
        answer = service.get(path)
        assert (answer.status, answer.headers["content-type"]) == (404, "application/problem+json")
        assert answer.json["status"] == 404


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "POST", "OPTIONS"])
def test_another_method_is_405(service: Service, method: str) -> None:
    """Which ones there are is in the answer."""
    answer = service.ask(method, "/traces")
    assert answer.status == 405
    assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD"}
    assert service.get("/v1/traces").status == 405


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=1001", "limit=x", "limit=-1", "offset=1e3", "limit=1&limit=2", "limit="]
)
def test_a_wrong_number_is_400(service: Service, query: str) -> None:
    """And the answer says which numbers are right."""
    answer = service.get(f"/traces?{query}")
    assert answer.status == 400
    assert "whole number" in answer.json["detail"]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "LOCALHOST:1", "127.0.0.1:4318", "[::1]:4318"])
def test_loopback_by_its_names_is_answered(service: Service, host: str) -> None:
    """With or without a port, which a tunnel may change."""
    assert service.get("/healthz", Host=host).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "example.org",
        "127.0.0.1.example.org",
        "localhost.example.org:4318",
        "10.0.0.1",
        "[fe80::1]",
        "0.0.0.0",
        "localhost@x",
        "",
    ],
)
def test_another_host_is_refused(service: Service, host: str) -> None:
    """A page whose name was made to lead here (DNS rebinding) says its own name."""
    assert service.get("/traces", Host=host).status == 400
    assert service.ask("POST", "/v1/traces", b"", {"Host": host, "Content-Type": PROTOBUF}).status == 400


def test_a_page_of_another_origin_is_refused(service: Service) -> None:
    """Also for what it could send without seeing the answer."""
    for origin in ("http://example.org", "null", "https://127.0.0.1", "http://127.0.0.1:1"):
        assert service.get("/traces", Origin=origin).status == 403
        assert service.send(b"{}", JSON, Origin=origin).status == 403
    assert service.get("/traces", Origin=service.url).status == 200


def test_no_answer_may_be_used_by_other_pages(service: Service) -> None:
    """Whatever the answer is: no CORS, no sniffing, no framing, nothing kept."""
    for path in ("/traces", "/nothing", "/healthz", "/openapi.json"):
        headers = service.get(path).headers
        assert not any(name.startswith("access-control") for name in headers)
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "server" not in headers


def test_the_report_page_may_load_nothing(service: Service) -> None:
    """Its own scripts are named by their digests."""
    sent = recorded(uncited=True)
    service.send(sent.body())
    answer = service.get(f"/traces/{sent.trace_id}/report")
    policy = answer.headers["content-security-policy"]
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert b"delete_file" in answer.body
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in re.sub("style-src 'unsafe-inline'", "", policy)


def test_an_answer_names_no_value(service: Service) -> None:
    """What stands in a span that cannot be used is not repeated."""
    secret = "zanzibar"
    span = {"traceId": secret, "spanId": secret, "name": secret}
    answer = service.send(recorded().body([span]))
    assert answer.status == 200
    assert secret not in answer.body.decode()
    assert secret not in service.get(f"/traces/{secret}").body.decode()
    assert secret not in service.get(f"/traces?limit={secret}").body.decode()


def test_a_mistake_of_the_service_is_500_and_tells_its_type_alone(caplog: pytest.LogCaptureFixture) -> None:
    """Its text could hold a value. (A desk that is closed can take nothing.)"""
    desk = Desk(Limits(), None)
    desk.close()
    sent: list[Any] = []

    async def ask() -> None:
        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        headers = [(b"host", b"localhost"), (b"content-type", PROTOBUF.encode())]
        scope = {"type": "http", "method": "POST", "scheme": "http", "path": "/v1/traces", "headers": headers}
        await application(desk)({**scope, "query_string": b"", "root_path": ""}, receive, send)

    asyncio.run(ask())
    assert sent[0]["status"] == 500
    assert Status.FromString(sent[1]["body"]).message.startswith("a mistake of the service")
    assert re.fullmatch(r"a request failed: RuntimeError in submit, line \d+", caplog.messages[-1])


def test_the_lines_of_a_trace_file_are_sent_as_the_page_says(service: Service, tmp_path: Path) -> None:
    """The loop of docs/serve.md, by a shell."""
    page = (Path(__file__).parents[2] / "docs" / "serve.md").read_text(encoding="utf-8")
    (loop,) = [line for line in page.splitlines() if line.startswith("while read")]
    trace(tmp_path / "trace.jsonl", "prod.env")
    trace_id = re.findall(r'"traceId":"([0-9a-f]{32})"', (tmp_path / "trace.jsonl").read_text())[0]
    loop = loop.replace("http://127.0.0.1:4318", service.url)
    done = subprocess.run(["bash", "-c", loop], check=False, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, "code" in done.stdout) == (0, False)
    assert service.get(f"/traces/{trace_id}").json["counts"] == {"blocked": 1}
