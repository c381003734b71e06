"""What leaves the process arrives, over gRPC and over HTTP, at a real receiver."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from opentelemetry.sdk.trace import TracerProvider
from tests.otel.receiver import Receiver, attributes_of
from tests.otel.values import LISTED, assumed, judged, observed, tag

from citespan import semconv
from citespan.core.decision import Tag
from citespan.core.leaves import snapshot
from citespan.core.opaque import opaque
from citespan.core.schema import UNKNOWN
from citespan.guard.context import TOKEN, JudgedToken, with_value
from citespan.otel.setup import Configured, configure_telemetry

Send = Callable[..., None]


@pytest.fixture
def configured(receiver: Receiver) -> Iterator[Configured]:
    provider = TracerProvider(shutdown_on_exit=False)
    made = configure_telemetry(receiver.endpoint, protocol=receiver.protocol, tracer_provider=provider)
    yield made
    provider.shutdown()


@pytest.fixture
def send(configured: Configured) -> Send:
    def one(tags: list[Tag], error: BaseException | None = None, **more: Any) -> None:
        call, decision = judged(tags, **more)
        here = with_value(TOKEN, JudgedToken(call.tool), Context())  # as the guard does
        configured.telemetry.start_call(call, decision, here, guard_seconds=1e-5).end(error=error)

    return one


def test_attributes_links_events_and_status_arrive(receiver: Receiver, configured: Configured, send: Send) -> None:
    send([tag(("path",), "a.py", observed()), tag(("files", 3), "zz", assumed())], call_id="call_7")
    configured.force_flush()
    (span,) = receiver.spans(1)
    attributes = attributes_of(span)
    assert span.name == "execute_tool patch_file"
    assert span.kind == Span.SPAN_KIND_INTERNAL
    assert attributes["provenance.status"] == "blocked"
    assert attributes["provenance.kind.path"] == "observed"
    assert attributes["provenance.violations"] == ["assumed_fields=[files.3]"]
    assert attributes["gen_ai.tool.call.id"] == "call_7"
    (link,) = span.links
    assert (link.trace_id.hex(), link.span_id.hex()) == tuple(LISTED)
    assert attributes_of(link) == {
        "provenance.link.arguments": ["path"],
        "provenance.link.source_tool": "list_files",
    }
    (event,) = span.events
    assert event.name == "provenance.uncited"
    assert attributes_of(event) == {
        "provenance.argument.name": "files",
        "provenance.argument.path": "files.*",
        "provenance.argument.kind": "assumed",
        "gen_ai.tool.name": "patch_file",
        "provenance.tool.mutating": True,
    }
    assert span.status.code == Status.STATUS_CODE_ERROR
    assert span.status.message == "refused: assumed_fields=[files.3]"
    ((scope, version, schema_url),) = receiver.scopes()
    assert (scope, schema_url) == ("citespan", semconv.SCHEMA_URL)
    assert version


class Evil(str):
    """A text that lies, and cannot be printed."""

    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError("no text for you")

    __repr__ = __str__


def hostile() -> dict[str, Any]:
    """Arguments that break naive telemetry."""
    cyclic: list[Any] = []
    cyclic.append(cyclic)
    deep: Any = "bottom"
    for _ in range(2000):
        deep = [deep]
    return {
        "surrogate": "a\ud800b",
        "surrogate\udfff": "x",
        "cyclic": cyclic,
        "deep": deep,
        "evil": Evil("x"),
        "huge": 2**70,
        "nan": float("nan"),
        "bytes": b"\xff",
        "object": object(),
        "many": {f"k{index}": index for index in range(300)},
    }


def test_hostile_arguments_never_cost_a_batch(receiver: Receiver, configured: Configured, send: Send) -> None:
    arguments = hostile()
    leaves = snapshot(dict(arguments), UNKNOWN).leaves
    tags = [Tag(leaf, assumed(), True, False, False) for leaf in leaves]
    tags += [tag(("cited",), value, observed()) for value in ("a\ud800", 2**70, opaque(object()), Evil("x"))]
    names = frozenset(map(str, arguments)) | {"cited"}
    send([tag(("before",), "a.py", observed())])
    send(tags, arguments=arguments, declared=names, tool="tool\ud800", description="d\ud800")
    send([tag(("after",), "a.py", observed())])
    configured.force_flush()
    arrived = receiver.spans(3)
    assert [span.name for span in arrived] == [
        "execute_tool patch_file",
        "execute_tool tool?",
        "execute_tool patch_file",
    ]
    attributes = attributes_of(arrived[1])
    assert attributes["provenance.kind.huge"] == "assumed"
    assert attributes["gen_ai.tool.name"] == "tool?"
    assert len(attributes) <= 128


def test_previews_of_hostile_arguments_never_cost_a_batch(
    receiver: Receiver, configured: Configured, send: Send
) -> None:
    configured.telemetry.previews = True
    arguments = hostile()
    send([tag((name,), "x", assumed()) for name in arguments], arguments=arguments)
    configured.force_flush()
    (span,) = receiver.spans(1)
    assert attributes_of(span)["provenance.preview.surrogate"] == "a?b"
    assert attributes_of(span)["provenance.preview.object"] == "<opaque>"


def test_raw_content_of_other_spans_does_not_arrive(receiver: Receiver, configured: Configured) -> None:
    tracer = trace.get_tracer("a.framework", tracer_provider=configured.tracer_provider)
    own = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "x"}
    with tracer.start_as_current_span("execute_tool x", attributes=own) as span:
        span.set_attribute("gen_ai.tool.call.arguments", '{"path": "secret"}')
        span.set_attribute("gen_ai.tool.call.result", "secret")
    configured.force_flush()
    (arrived,) = receiver.spans(1)
    assert b"secret" not in arrived.SerializeToString()
    assert attributes_of(arrived)["provenance.status"] == "unguarded"
