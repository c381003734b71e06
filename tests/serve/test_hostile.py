"""Bodies, headers and connections that are meant to hurt: answered with a 4xx or cut, and the service goes on."""

from __future__ import annotations

import contextlib
import gzip
import json
import select
import socket
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.serve.harness import JSON, PATIENCE, PROTOBUF, Answer, Service, recorded, serving
from tests.serve.test_receive import AS_JSON, AS_PROTOBUF, EDITS, mangled

MIB = 1024 * 1024
#: more than a body's limit takes while it is decoded, and an audit's cache
ROOM = 200 * MIB


@pytest.fixture(scope="module")
def hasty() -> Iterator[Service]:
    """A service that waits for bytes no longer than a test can."""
    with serving("--settle", "0", "--arrive", "1", "--body", "4", "--memory", "16", "--audit", "5") as service:
        yield service


def raw(service: Service) -> socket.socket:
    return socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE)


def read(connection: socket.socket) -> bytes:
    """All that comes until the other side has closed."""
    found = b""
    try:
        while part := connection.recv(65536):
            found += part
    except ConnectionResetError:
        pass
    return found


def test_a_gzip_bomb_is_refused(hasty: Service) -> None:
    """A thousand times its size: 413, and nothing like it in memory."""
    before = hasty.resident
    packer = zlib.compressobj(9, wbits=31)
    bomb = b"".join(packer.compress(bytes(MIB)) for _ in range(256)) + packer.flush()
    assert hasty.send(bomb, JSON, Content_Encoding="gzip").status == 413
    assert hasty.send(bomb, PROTOBUF, Content_Encoding="gzip").status == 413
    assert hasty.alive
    assert hasty.resident - before < 64 * MIB


def test_a_body_over_the_limit_is_413(hasty: Service) -> None:
    """Before it comes where its length is said, and while it comes where it is not."""
    with closing(raw(hasty)) as connection:
        head = (
            f"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: {JSON}\r\nContent-Length: 999999999\r\n\r\n"
        )
        connection.sendall(head.encode())
        assert connection.recv(65536).startswith(b"HTTP/1.1 413 ")
    with closing(raw(hasty)) as connection:
        head = (
            f"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: {JSON}\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        connection.sendall(head.encode())
        chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        for _ in range(4 * MIB // 0x10000 + 1):
            connection.sendall(chunk)
        assert connection.recv(65536).startswith(b"HTTP/1.1 413 ")
    assert hasty.alive


def test_a_slow_body_is_408(hasty: Service) -> None:
    """The whole of it has to be there in time, however steadily it drips."""
    with closing(raw(hasty)) as connection:
        head = f"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: {JSON}\r\nContent-Length: 100\r\n\r\n{{"
        connection.sendall(head.encode())
        assert read(connection).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nHost: local"])
def test_a_connection_that_says_nothing_is_cut(hasty: Service, sent: bytes) -> None:
    """So is one that begins its headers and goes on dawdling."""
    with closing(raw(hasty)) as connection:
        connection.sendall(sent)
        assert read(connection) == b""


def test_a_second_request_may_not_dawdle_either(hasty: Service) -> None:
    """A connection that is kept alive has the same limits for its next headers."""
    with closing(raw(hasty)) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /healthz HTTP/1.1\r\nHos")
        assert read(connection).count(b"HTTP/1.1 ") == 1


def test_an_answer_that_nobody_reads_is_cut(hasty: Service) -> None:
    """It would be kept in memory for as long as the connection is open."""
    with closing(raw(hasty)) as connection:
        question = f"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\nCookie: {'x' * 1000}\r\n\r\n"
        connection.settimeout(0.5)
        with contextlib.suppress(TimeoutError, ConnectionError):
            connection.sendall(question.encode() * 10_000)
        broken = select.poll()
        broken.register(connection, 0)  # tells of errors alone
        assert broken.poll(PATIENCE * 1000)
    assert hasty.alive


def test_huge_headers_are_refused(hasty: Service) -> None:
    """Before they are read to their end."""
    assert hasty.get("/healthz", Cookie="x" * 12_000).status == 200
    with closing(raw(hasty)) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nCookie: " + b"x" * 100_000)
        assert not read(connection).startswith(b"HTTP/1.1 2")
    assert hasty.alive


@pytest.mark.parametrize(
    "sent", [b"\x00" * 100, b"\x16\x03\x01\x02\x00\x01", b"GET /\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\n"]
)
def test_what_is_no_http_is_refused(hasty: Service, sent: bytes) -> None:
    """TLS and HTTP/2 with prior knowledge are none here."""
    with closing(raw(hasty)) as connection:
        connection.sendall(sent)
        assert connection.recv(65536).startswith(b"HTTP/1.1 4")
    assert hasty.alive


def test_more_than_can_be_received_is_503_with_a_time_to_wait() -> None:
    """One large body is under way and takes all the room; when it is done with, there is room again."""
    with serving("--settle", "0", "--body", "1") as service, ThreadPoolExecutor(4) as pool:
        size = MIB - 10
        head = (
            f"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: {PROTOBUF}\r\nContent-Length: {size}\r\n\r\n"
        )
        with closing(raw(service)) as first, closing(raw(service)) as second:
            for connection in (first, second):
                connection.sendall(head.encode() + b"x" * (size - 1))

            def refused() -> Answer:
                return service.send(b" " * (MIB // 4), JSON)

            answers = [pool.submit(refused) for _ in range(4)]
            found = [each.result() for each in answers]
        assert {answer.status for answer in found} <= {400, 503}
        for answer in found:
            if answer.status == 503:
                assert answer.headers["retry-after"] == "1"
        assert service.send(b"{}", JSON).status == 200


@pytest.mark.parametrize(
    "kind, body",
    [
        (JSON, b"[" * MIB),
        (JSON, b"[" + b"[]," * 100_000 + b"1]"),
        (JSON, b'{"resourceSpans":[' + b"{}," * 100_000 + b"{}]}"),
        (JSON, b'{"resourceSpans":[{"scopeSpans":[{"spans":[' + b"{}," * 50_000 + b"{}]}]}]}"),
        (JSON, b'{"resourceSpans":[{"resource":{"attributes":[' + b'{"key":"a"},' * 80_000 + b"{}]}}]}"),
        (PROTOBUF, b"\x0a\x00" * 200_000),
        (PROTOBUF, b"\x0a\x80\xb5\x18" + b"\x12\x00" * 200_000),
        (PROTOBUF, b"\x0b" * MIB),
    ],
)
def test_a_great_number_of_nothings_is_answered(hasty: Service, kind: str, body: bytes) -> None:
    """Within bounds of time and memory, with no 5xx."""
    before = hasty.resident
    assert hasty.send(body, kind).status in {200, 400, 413}
    assert hasty.alive
    assert hasty.resident - before < ROOM


def test_a_hostile_name_is_text_on_every_page(hasty: Service) -> None:
    """Markup, control characters, what turns the direction of a text."""
    sent = recorded(uncited=True)
    name = "<script>alert(1)</script>\x1b[2J\u202e"
    text = sent.body().replace(b"delete_file", json.dumps(name)[1:-1].encode())
    assert hasty.send(text).body == b"{}"
    page = hasty.get(f"/traces/{sent.trace_id}/report").body.decode()
    assert "<script>alert" not in page
    assert hasty.get(f"/traces/{sent.trace_id}").json["status"] == "violations"


@settings(max_examples=120, deadline=None, derandomize=True)
@given(st.sampled_from([(JSON, AS_JSON), (PROTOBUF, AS_PROTOBUF)]), EDITS, st.booleans())
def test_damaged_bodies_are_answered_without_a_5xx(
    hasty: Service, start: tuple[str, bytes], edits: list[tuple[float, str, bytes]], zipped: bool
) -> None:
    """And so is every question about what came of them."""
    kind, data = start
    body = mangled(data, edits)
    encoding = {"Content_Encoding": "gzip"} if zipped else {}
    assert hasty.send(gzip.compress(body) if zipped else body, kind, **encoding).status in {200, 400, 413}
    listed = hasty.get("/traces?limit=1").json["traces"]
    for trace in listed:
        assert hasty.get(f"/traces/{trace['trace_id']}").status == 200
        assert hasty.get(f"/traces/{trace['trace_id']}/report").status == 200
    assert hasty.get("/violations").status == 200


def test_after_all_of_this_memory_is_bounded(hasty: Service) -> None:
    """Floods of traces do not add up; everything before this test is in it too."""
    sent = recorded()
    for body in sent.bodies([f"{number:032x}" for number in range(1, 8001)]):
        assert hasty.send(body).body == b"{}"
    assert hasty.get("/healthz").json["bytes"] <= 16 * MIB
    assert hasty.resident < 16 * MIB + ROOM
