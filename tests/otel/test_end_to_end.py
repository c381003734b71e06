"""From `citespan.tool` to the receiver: the guard, its spans, the second gate and the export together."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from tests.otel.receiver import Receiver, attributes_of

import citespan
from citespan.core.decision import ProvenanceDenied
from citespan.guard.registry import registry
from citespan.otel.setup import Configured, configure_telemetry
from citespan.otel.telemetry import OtelTelemetry

RAN: list[str] = []


@citespan.tool(read_only=True)
def list_files(root: str) -> dict[str, list[str]]:
    """List files."""
    RAN.append("list_files")
    return {"files": ["src/app.py", "src/util.py"]}


@citespan.tool
def patch_file(path: str, text: str = "") -> str:
    """Replace a file's text."""
    RAN.append("patch_file")
    if path.endswith("util.py"):
        raise FileNotFoundError(path)
    return "patched"


@citespan.tool
async def read_file(path: str) -> str:
    """Read a file."""
    await asyncio.sleep(0)
    return "content"


@citespan.tool
def stream(path: str) -> Iterator[str]:
    """Read a file in pieces."""
    yield from ("a", "b")


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    RAN.clear()


@pytest.fixture
def configured(receiver: Receiver) -> Iterator[Configured]:
    provider = TracerProvider(shutdown_on_exit=False)
    made = configure_telemetry(receiver.endpoint, protocol=receiver.protocol, tracer_provider=provider)
    registry.telemetry = made.telemetry
    yield made
    provider.shutdown()


def by_name(spans: list[Span], name: str) -> Span:
    return [span for span in spans if span.name == name][-1]


def test_a_good_call_and_a_refused_one_arrive(receiver: Receiver, configured: Configured) -> None:
    with citespan.run("coder", inputs={"root": "."}, run_id="thread-42"):
        (file, _) = list_files(".")["files"]
        patch_file(file)
        with pytest.raises(ProvenanceDenied):
            patch_file("src/made_up.py")
    assert RAN == ["list_files", "patch_file"]
    configured.force_flush()
    spans = receiver.spans(4)
    listed, patched, refused, run = spans
    assert [span.name for span in spans] == [
        "execute_tool list_files",
        "execute_tool patch_file",
        "execute_tool patch_file",
        "invoke_agent coder",
    ]
    assert {span.parent_span_id for span in (listed, patched, refused)} == {run.span_id}
    cited = attributes_of(patched)
    assert cited["provenance.status"] == "ok"
    assert cited["provenance.kind.path"] == "observed"
    assert cited["provenance.source_tool.path"] == "list_files"
    assert cited["provenance.source_field.path"] == "files.0"
    assert cited["provenance.source_span.path"] == listed.span_id.hex()
    assert [link.span_id for link in patched.links] == [listed.span_id]
    assert cited["gen_ai.conversation.id"] == "thread-42"
    assert cited["gen_ai.tool.description"] == "Replace a file's text."
    said = attributes_of(refused)
    assert said["provenance.status"] == "blocked"
    assert said["provenance.violations"] == ["assumed_fields=[path]"]
    assert refused.status.code == Status.STATUS_CODE_ERROR
    assert attributes_of(listed)["provenance.kind.root"] == "user"
    everything = b"".join(span.SerializeToString() for span in spans)
    assert b"made_up" not in everything
    assert b"app.py" not in everything


def test_a_tools_own_exception_passes_and_its_text_stays_here(receiver: Receiver, configured: Configured) -> None:
    with citespan.run(inputs={"root": "."}):
        (_, file) = list_files(".")["files"]
        with pytest.raises(FileNotFoundError, match="util"):
            patch_file(file)
    configured.force_flush()
    failed = by_name(receiver.spans(3), "execute_tool patch_file")
    assert attributes_of(failed)["error.type"] == "FileNotFoundError"
    assert attributes_of(failed)["provenance.status"] == "ok"
    assert b"util.py" not in failed.SerializeToString()


async def test_async_and_streaming_tools_tell_the_same(spans: InMemorySpanExporter, telemetry: OtelTelemetry) -> None:
    registry.telemetry = telemetry
    async with citespan.run(inputs={"root": "."}):
        (file, _) = list_files(".")["files"]
        await read_file(file)
        assert list(stream(file)) == ["a", "b"]
    told = {span.name: span for span in spans.get_finished_spans()}
    listed = told["execute_tool list_files"].context
    assert listed is not None
    for name in ("execute_tool read_file", "execute_tool stream"):
        assert dict(told[name].attributes or {})["provenance.kind.path"] == "observed"
        assert [link.context.span_id for link in told[name].links] == [listed.span_id]


async def test_concurrent_runs_share_neither_trace_nor_source(
    spans: InMemorySpanExporter, telemetry: OtelTelemetry
) -> None:
    registry.telemetry = telemetry

    async def agent(name: str) -> None:
        async with citespan.run(name, inputs={"root": "."}):
            (file, _) = list_files(".")["files"]
            await read_file(file)

    await asyncio.gather(*(agent(f"agent {index}") for index in range(20)))
    finished = spans.get_finished_spans()
    assert len({span.context.trace_id for span in finished if span.context}) == 20
    for span in finished:
        for link in span.links:
            assert span.context is not None
            assert link.context.trace_id == span.context.trace_id


@pytest.mark.parametrize(
    "provider", [trace.NoOpTracerProvider(), TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)]
)
def test_without_a_recording_span_the_guard_is_the_same(provider: trace.TracerProvider) -> None:
    registry.telemetry = OtelTelemetry(provider)
    with citespan.run(inputs={"root": "."}):
        (file, _) = list_files(".")["files"]
        patch_file(file)
        with pytest.raises(ProvenanceDenied):
            patch_file("src/made_up.py")
    assert RAN == ["list_files", "patch_file"]


def test_a_framework_span_around_a_guarded_tool_tells_the_verdict(
    provider: TracerProvider, spans: InMemorySpanExporter, telemetry: OtelTelemetry
) -> None:
    registry.telemetry = telemetry
    registry.enforced_scopes.add("a.framework")
    configure_telemetry(tracer_provider=provider)
    own = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "list_files"}
    with (
        citespan.run(inputs={"root": "."}),
        provider.get_tracer("a.framework").start_as_current_span("execute_tool list_files", attributes=own),
    ):
        list_files(".")
    (call,) = [span for span in spans.get_finished_spans() if not span.name.startswith("invoke_agent")]
    assert dict(call.attributes or {})["provenance.status"] == "ok"
    assert call.instrumentation_scope is not None
    assert call.instrumentation_scope.name == "a.framework"
