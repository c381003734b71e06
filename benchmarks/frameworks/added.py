"""What the guard adds to a framework's tool call, against what it adds to a plain one (group 8)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, ExitStack, contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import citespan
from benchmarks import calls
from benchmarks.frameworks.tool import NAME, Dress, Opened, Prepare
from benchmarks.measure import Row, Scale, Side, Work, always, at_most, medians, row
from benchmarks.setting import DIGEST_KEY, batching, inside, registered
from citespan import instrument
from citespan.core.policy import Policy
from citespan.otel.digest import Digester
from citespan.otel.telemetry import OtelTelemetry
from citespan.stores.evidence import EvidenceFile

GROUP: Final = "8. a tool call through a framework"
KINDS: Final = ["observed", "observed", "user", "user", "user"]


class Framework(NamedTuple):
    """A framework that may be installed.

    Args:
        module: what must be importable. adapter: its name for `citespan.instrument`.
    """

    module: str
    adapter: str


#: by the file of this package that calls a tool of it
FRAMEWORKS: Final = {
    "fastmcp": Framework("fastmcp", "fastmcp"),
    "langchain": Framework("langchain_core", "langchain"),
    "mcp": Framework("mcp.server.mcpserver", "mcp"),
    "mcp_server": Framework("mcp.server.mcpserver", "mcp-server"),
    "openai_agents": Framework("agents", "openai-agents"),
    "pydantic_ai": Framework("pydantic_ai", "pydantic-ai"),
}


def is_installed(name: str) -> bool:
    """Whether a framework can be measured in this environment."""
    wanted = FRAMEWORKS[name]
    try:
        found = find_spec(wanted.module) is not None
    except ModuleNotFoundError:  # not even what it is in
        return False
    return found and instrument.installed(instrument.adapter(wanted.adapter)) is not None


def rows(scale: Scale) -> Iterator[Row]:
    """Measure every framework that is installed here."""
    for name in filter(is_installed, FRAMEWORKS):
        yield from rows_of(name, scale)


def rows_of(name: str, scale: Scale) -> Iterator[Row]:
    """Measure one framework.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    opened: Opened = import_module(f"benchmarks.frameworks.{name}").opened
    adapter = instrument.adapter(FRAMEWORKS[name].adapter)
    title = f"{adapter.title} {instrument.installed(adapter)}"
    scene = calls.scene_of(scale)
    with TemporaryDirectory(prefix="citespan-bench-") as folder, ExitStack() as stack:
        evidence = EvidenceFile(Path(folder) / "evidence.jsonl")
        stack.callback(evidence.close)
        provider = batching()
        stack.callback(provider.shutdown)
        telemetry = OtelTelemetry(provider, digester=Digester(DIGEST_KEY))
        run = scene.run(Policy(), telemetry)
        bare, adapted = (stack.enter_context(Calls.open(opened, lambda function: function)) for _ in range(2))
        decorated = stack.enter_context(Calls.open(opened, citespan.tool(name=NAME)))
        check(adapted, scene, adapter.name)
        check(decorated, scene)

        def through(name: str, tools: Calls, *adapters: str) -> Side:
            """Calls in the run, since frameworks do more where a span is current; guarded or not."""

            @contextmanager
            def prepared() -> Iterator[Work]:
                with registered(telemetry, evidence), active(*adapters), inside(run):
                    yield tools.work(scene.arguments)

            return Side(name, prepared, len(scene.arguments))

        sides = [
            through("adapter", adapted, adapter.name),
            through("decorated", decorated),
            through("unguarded", bare),
            calls.guarded_calls("@citespan.tool", scene, telemetry, evidence),
            Side("bare function", always(lambda: [calls.body(**given) for given in scene.arguments]), scale.calls),
        ]
        with_adapter, with_decorator, unguarded, plain, function = medians(sides, scale.rounds)
    added = ("the adapter adds", with_adapter - unguarded)
    yield row(GROUP, f"{title}: added", added, ("@citespan.tool adds", plain - function), at_most(1.2))
    yield row(GROUP, f"{title}: added, in place", added, ("@citespan.tool there", with_decorator - unguarded))
    yield row(GROUP, f"{title}: the call", ("guarded", with_adapter), ("not guarded", unguarded))


@contextmanager
def active(*adapters: str) -> Iterator[None]:
    """Adapters that are active, and put away again."""
    with ExitStack() as stack:
        for adapter in adapters:
            instrument.activate(adapter)
            stack.callback(instrument.deactivate, adapter)
        yield


class Calls:
    """A framework that is set up in an event loop of its own.

    Args:
        loop: the loop. prepare: see `benchmarks.frameworks.tool`.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, prepare: Prepare) -> None:
        self._loop = loop
        self._prepare = prepare

    @classmethod
    @contextmanager
    def open(cls, opened: Opened, dress: Dress) -> Iterator[Calls]:
        """Set a framework up; the task that opened it closes it, as cancel scopes want it."""
        with asyncio.Runner() as runner:
            loop = runner.get_loop()
            ready: asyncio.Future[Prepare] = loop.create_future()
            done = asyncio.Event()
            holding = loop.create_task(_hold(opened(dress), ready, done))
            try:
                yield cls(loop, loop.run_until_complete(ready))
            finally:
                done.set()
                loop.run_until_complete(holding)

    def work(self, arguments: list[calls.Keywords]) -> Work:
        """One call for each set of arguments, made ready."""
        prepared = [self._prepare(keywords) for keywords in arguments]

        async def each() -> None:
            for call in prepared:
                await call()

        return lambda: self._loop.run_until_complete(each())

    def once(self, keywords: calls.Keywords) -> Any:
        """The result of one call."""
        call = self._prepare(keywords)

        async def result() -> Any:
            return await call()

        made: Coroutine[Any, Any, Any] = result()
        return self._loop.run_until_complete(made)


async def _hold(
    opened: AbstractAsyncContextManager[Prepare], ready: asyncio.Future[Prepare], done: asyncio.Event
) -> None:
    try:
        async with opened as prepare:
            ready.set_result(prepare)
            await done.wait()
    except BaseException as error:
        if not ready.done():
            ready.set_exception(error)
            return
        raise


def check(through: Calls, scene: calls.Scene, *adapters: str) -> None:
    """The call that is measured is the one that was meant: judged once, two arguments observed, three the user's.

    Raises:
        RuntimeError: it is not.
    """
    kept = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    telemetry = OtelTelemetry(provider, digester=Digester(DIGEST_KEY))
    run = scene.run(Policy(), telemetry)
    kept.clear()
    with registered(telemetry), active(*adapters), inside(run):
        said = through.once(scene.arguments[0])
    judged = [
        sorted(str(value) for key, value in attributes.items() if key.startswith("provenance.kind."))
        for span in kept.get_finished_spans()
        if (attributes := span.attributes) and span.name.startswith("execute_tool")
    ]
    if judged != [KINDS]:
        raise RuntimeError(f"the call that is measured is not the one that was meant: {judged}, {said!r}")
