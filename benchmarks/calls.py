"""A whole guarded call against the spans that one would write by hand (groups 1 and 7)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Link, SpanContext, Tracer

import citespan
from benchmarks.measure import Row, Scale, Side, Work, at_most, medians, row
from benchmarks.setting import DIGEST_KEY, Nowhere, batching, inside, learn, registered
from citespan.core.policy import Policy
from citespan.guard.ports import Evidence, Telemetry
from citespan.guard.registry import NoTelemetry, registry
from citespan.guard.run import Run
from citespan.otel.digest import Digester
from citespan.otel.telemetry import OtelTelemetry
from citespan.stores.evidence import EvidenceFile

GROUP = "1. a guarded call: 2 arguments observed, 3 user"
INFORMATIONAL = "7. other set-ups of the same call"
LEAVES = 100_000
MESSAGE = "Please close issue 51234 of acme/web as duplicate, and name the file."

Keywords = dict[str, Any]


def body(path: str, ticket: str, repository: str, issue: int, label: str) -> None:
    """Close an issue."""


class Scene(NamedTuple):
    """What a sample of calls needs.

    Args:
        guarded: the tool. arguments: of each call of a sample. run: makes a run that has observed everything.
    """

    guarded: Callable[..., None]
    arguments: list[Keywords]
    run: Callable[[Policy, Telemetry], Run]


def scene_of(scale: Scale) -> Scene:
    half = scale.of(LEAVES) // 2
    files = [f"src/part_{number % 97}/module_{number}.py" for number in range(half)]
    tickets = [f"ticket-{number}-{number % 7}" for number in range(half)]
    pick = random.Random(5)
    arguments = [
        {
            "path": pick.choice(files),
            "ticket": pick.choice(tickets),
            "repository": "acme/web",
            "issue": 51234,
            "label": "duplicate",
        }
        for _ in range(scale.calls)
    ]

    def run(policy: Policy, telemetry: Telemetry) -> Run:
        with registered(telemetry):
            made = Run("bench", policy=policy, kept=True)
            with made:
                made.user(MESSAGE)
                learn("list_files", {"files": files})
                learn("list_tickets", {"ids": tickets})
        return made

    with registered():
        return Scene(citespan.tool(name="close_issue")(body), arguments, run)


def guarded_calls(
    name: str, scene: Scene, telemetry: Telemetry | None, evidence: Evidence | None, policy: Policy | None = None
) -> Side:
    run = scene.run(policy or Policy(), telemetry or NoTelemetry())
    tool, arguments = scene.guarded, scene.arguments

    def work() -> None:
        for keywords in arguments:
            tool(**keywords)

    @contextmanager
    def opened() -> Iterator[Work]:
        with registered(telemetry, evidence), inside(run):
            yield work

    return Side(name, opened, len(arguments))


def _spans(name: str, scene: Scene, provider: TracerProvider, span: Callable[[Tracer], Any]) -> Side:
    """Calls of the bare body, each in a span."""
    tracer = provider.get_tracer("by hand")
    arguments = scene.arguments

    def work() -> None:
        for keywords in arguments:
            with span(tracer):
                body(**keywords)

    @contextmanager
    def opened() -> Iterator[Work]:
        # a run has a span of its own, in which its calls lie
        with tracer.start_as_current_span("invoke_agent bench"):
            yield work

    return Side(name, opened, len(arguments))


def _seen(scene: Scene) -> ReadableSpan:
    """What the span of a guarded call holds."""
    kept = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    telemetry = OtelTelemetry(provider, digester=Digester(DIGEST_KEY))
    run = scene.run(Policy(), telemetry)
    with registered(telemetry), run:
        scene.guarded(**scene.arguments[0])
    span = next(span for span in kept.get_finished_spans() if span.name == "execute_tool close_issue")
    kinds = [value for key, value in (span.attributes or {}).items() if key.startswith("provenance.kind.")]
    if sorted(map(str, kinds)) != ["observed"] * 2 + ["user"] * 3 or len(span.links) != 2:
        raise RuntimeError(f"the call that is measured is not the one that was meant: {kinds}")
    return span


def _parts(told: ReadableSpan) -> tuple[dict[str, Any], list[tuple[SpanContext, dict[str, Any]]]]:
    return dict(told.attributes or {}), [(link.context, dict(link.attributes or {})) for link in told.links]


def _at_once(told: ReadableSpan) -> Callable[[Tracer], Any]:
    attributes, links = _parts(told)

    @contextmanager
    def events_after(opened: AbstractContextManager[Any]) -> Iterator[None]:
        with opened as span:
            for event in told.events:
                span.add_event(event.name, event.attributes)
            yield

    def span(tracer: Tracer) -> Any:
        opened = tracer.start_as_current_span(
            told.name,
            kind=told.kind,
            attributes=dict(attributes),
            links=[Link(context, dict(said)) for context, said in links],
        )
        return events_after(opened) if told.events else opened

    return span


def _one_by_one(told: ReadableSpan) -> Callable[[Tracer], Any]:
    attributes, links = _parts(told)

    @contextmanager
    def span(tracer: Tracer) -> Iterator[None]:
        with tracer.start_as_current_span(told.name, kind=told.kind) as opened:
            for key, value in attributes.items():
                opened.set_attribute(key, value)
            for context, said in links:
                opened.add_link(context, dict(said))
            for event in told.events:
                opened.add_event(event.name, event.attributes)
            yield

    return span


def _configured(folder: Path) -> tuple[Telemetry, Evidence | None, TracerProvider]:
    """What `citespan.configure` sets up: the second gate and the exporter that keeps content in as well."""
    provider = TracerProvider(shutdown_on_exit=False)
    with registered():
        citespan.configure(evidence=folder / "configured.jsonl", tracer_provider=provider, exporters=[Nowhere()])
        return registry.telemetry, registry.evidence, provider


def rows(scale: Scale) -> Iterator[Row]:
    """Measure groups 1 and 7, which are one set of sides."""
    with TemporaryDirectory(prefix="citespan-bench-") as name:
        yield from _rows(scale, Path(name))


def _rows(scale: Scale, folder: Path) -> Iterator[Row]:
    scene = scene_of(scale)
    told = _seen(scene)
    ours, theirs, theirs_slowly, tagging = batching(), batching(), batching(), batching()
    plain = batching()
    evidence = EvidenceFile(folder / "evidence.jsonl")
    digester = Digester(DIGEST_KEY)
    telemetry, kept, configured = _configured(folder)
    tags = OtelTelemetry(tagging, digester=digester)
    spans = OtelTelemetry(ours, digester=digester)
    sides = [
        guarded_calls("guarded", scene, spans, evidence),
        _spans("bare span", scene, plain, lambda tracer: tracer.start_as_current_span("close_issue")),
        _spans("the same span at once", scene, theirs, _at_once(told)),
        _spans("the same span one by one", scene, theirs_slowly, _one_by_one(told)),
        guarded_calls("guarded, no evidence file", scene, spans, None),
        guarded_calls("as citespan.configure sets up", scene, telemetry, kept),
        guarded_calls("tag mode", scene, tags, evidence, Policy(mode="tag")),
        guarded_calls("mode off", scene, tags, evidence, Policy(mode="off")),
        guarded_calls("no provider", scene, OtelTelemetry(digester=digester), evidence),
        guarded_calls("no provider, no evidence file", scene, OtelTelemetry(digester=digester), None),
    ]
    taken = medians(sides, scale.rounds)
    named = [(side.name, seconds) for side, seconds in zip(sides, taken, strict=True)]
    guarded, bare, at_once, one_by_one, *others = named
    yield row(GROUP, "against a bare span", guarded, bare, at_most(6))
    yield row(GROUP, "against the same span made at once", guarded, at_once, at_most(1.5))
    yield row(GROUP, "against the same span made one by one", guarded, one_by_one)
    for other in others:
        yield row(INFORMATIONAL, other[0], other, bare)
    for provider in (ours, theirs, theirs_slowly, tagging, plain, configured):
        provider.shutdown()
    evidence.close()
