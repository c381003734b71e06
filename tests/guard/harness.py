"""Tools that keep count of their bodies, and telemetry that remembers what it was told."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import citespan
from citespan.core.decision import Decision, ProvenanceDenied
from citespan.core.kinds import SpanRef
from citespan.core.policy import Policy
from citespan.guard.ports import ToolCall
from citespan.guard.registry import NoSpan
from citespan.otel.telemetry import OtelTelemetry

#: built, not written out: a traceback quotes source lines, and these must not hold the value; nothing in it is escaped
SECRET = "-".join(("prod", "env", "4711"))
LISTED = ["src/app.py", "src/setup.cfg"]

ENFORCE = Policy()
TAG = Policy(mode="tag")
ONE = Policy(max_assumed=1, run_max_assumed=1, run_max_refused=10_000)


class Told(NamedTuple):
    """How a call's span ended."""

    error: BaseException | None
    note: str | None


class WatchedSpan(NoSpan):
    """A span with ids of its own; the trace id is the run's id, so that a source tells its run."""

    def __init__(self, watch: Watch, number: int, run_id: str) -> None:
        self._watch = watch
        self._number = number
        self.ref: SpanRef = SpanRef(run_id, format(number, "016x"))

    def amend(self, decision: Decision) -> None:
        self._watch.decisions[self._number] = decision

    def end(self, *, error: BaseException | None = None, note: str | None = None, failed: bool = False) -> None:
        self._watch.endings.setdefault(self._number, []).append(Told(error, note))


class Watch:
    """Telemetry that keeps what the guard decided, and what came of it."""

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self.decisions: dict[int, Decision] = {}
        self.endings: dict[int, list[Told]] = {}
        self.refs: dict[int, SpanRef] = {}

    def start_call(self, call: ToolCall, decision: Decision, context: Context, *, guard_seconds: float) -> WatchedSpan:
        number = next(self._numbers)
        self.decisions[number] = decision
        span = WatchedSpan(self, number, call.run_id or "")
        self.refs[number] = span.ref
        return span

    def start_run(self, name: str | None, run_id: str | None, context: Context) -> NoSpan:
        return NoSpan()

    @property
    def last(self) -> Decision:
        return self.decisions[max(self.decisions)]

    @property
    def ending(self) -> Told:
        """How the last call that ended did; each ends once."""
        number = list(self.endings)[-1]
        (told,) = self.endings[number]
        return told

    def kinds(self) -> dict[str, str]:
        """Kind of each value leaf of the last call, by dotted path."""
        return {
            ".".join(map(str, tag.leaf.path)): tag.provenance.kind for tag in self.last.tags if tag.leaf.role == "value"
        }

    def why(self, path: str) -> str:
        return next(tag.provenance.why for tag in self.last.tags if ".".join(map(str, tag.leaf.path)) == path)


class Spans:
    """A tracer provider whose spans stay in memory."""

    def __init__(self, **provider: Any) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider(**provider)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.telemetry = OtelTelemetry(self.provider)

    def all(self) -> Sequence[ReadableSpan]:
        return self.exporter.get_finished_spans()

    def of(self, tool: str) -> list[ReadableSpan]:
        return [span for span in self.all() if span.name == f"execute_tool {tool}"]

    def last(self, tool: str) -> dict[str, Any]:
        return dict(self.of(tool)[-1].attributes or {})

    def wire(self) -> bytes:
        """Every span as the OTLP exporter sends it; raises for what cannot be sent."""
        return encode_spans(self.all()).SerializeToString()

    def text(self) -> str:
        """Everything that leaves the process."""
        return "".join(span.to_json() for span in self.all()) + self.wire().decode("utf-8", "replace")


class Toolbox:
    """Three guarded tools; the body of `patch_file` writes down that it ran."""

    def __init__(self) -> None:
        self.ran: list[Any] = []

        @citespan.tool(read_only=True)
        def list_files(root: str) -> dict[str, Any]:
            return {"files": list(LISTED)}

        @citespan.tool(read_only=True)
        def names() -> list[str]:
            return list(LISTED)

        @citespan.tool
        def patch_file(path: str, comment: str = "") -> str:
            self.ran.append(path)
            return "done"

        self.list_files = list_files
        self.names = names
        self.patch_file = patch_file


def refused(call: Callable[..., Any], *args: Any, **kwargs: Any) -> ProvenanceDenied:
    """The refusal of a call; it is a failure if there is none."""
    try:
        call(*args, **kwargs)
    except ProvenanceDenied as denied:
        return denied
    raise AssertionError("the call was not refused")


def judges_both_ways(policy: Policy | None = None) -> None:
    """The cited call runs and the guessed one does not: the guard is at work, and not merely shut."""
    box = Toolbox()
    with citespan.run(inputs={"root": "."}, policy=policy):
        path = box.list_files(root=".")["files"][0]
        box.patch_file(path=path, comment="looks right")
        refused(box.patch_file, path=SECRET)
    assert box.ran == [path]


class Shape(NamedTuple):
    """One kind of function: how to write a tool of it, and how a caller uses it up."""

    name: str
    make: Callable[[Callable[[str], list[Any]]], Callable[..., Any]]
    use: Callable[..., list[Any]]


def _plain(body: Callable[[str], list[Any]]) -> Callable[..., Any]:
    def look(path: str) -> list[Any]:
        return body(path)

    return look


def _coroutine(body: Callable[[str], list[Any]]) -> Callable[..., Any]:
    async def look(path: str) -> list[Any]:
        await asyncio.sleep(0)
        return body(path)

    return look


def _generator(body: Callable[[str], list[Any]]) -> Callable[..., Any]:
    def look(path: str) -> Any:
        yield from body(path)

    return look


def _async_generator(body: Callable[[str], list[Any]]) -> Callable[..., Any]:
    async def look(path: str) -> Any:
        for item in body(path):
            await asyncio.sleep(0)
            yield item

    return look


def _hidden_coroutine(body: Callable[[str], list[Any]]) -> Callable[..., Any]:
    inner = _coroutine(body)

    def look(path: str) -> Any:
        return inner(path)

    return look


def _hidden_generator(body: Callable[[str], list[Any]]) -> Callable[..., Any]:
    inner = _generator(body)

    def look(path: str) -> Any:
        return inner(path)

    return look


def _hidden_async_generator(body: Callable[[str], list[Any]]) -> Callable[..., Any]:
    inner = _async_generator(body)

    def look(path: str) -> Any:
        return inner(path)

    return look


def _call(tool: Callable[..., Any], **kwargs: Any) -> list[Any]:
    return list(tool(**kwargs))


def _await(tool: Callable[..., Any], **kwargs: Any) -> list[Any]:
    async def main() -> list[Any]:
        return list(await tool(**kwargs))

    return asyncio.run(main())


def _collect(tool: Callable[..., Any], **kwargs: Any) -> list[Any]:
    async def main() -> list[Any]:
        return [item async for item in tool(**kwargs)]

    return asyncio.run(main())


SHAPES = [
    Shape("function", _plain, _call),
    Shape("coroutine", _coroutine, _await),
    Shape("generator", _generator, _call),
    Shape("async generator", _async_generator, _collect),
    Shape("function returning a coroutine", _hidden_coroutine, _await),
    Shape("function returning a generator", _hidden_generator, _call),
    Shape("function returning an async generator", _hidden_async_generator, _collect),
]
