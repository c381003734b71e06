"""Functions, coroutines, generators and async generators behave the same: refused before the body, citable after it."""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
from typing import Any

import pytest
from opentelemetry import context as otel_context
from tests.guard.harness import LISTED, SECRET, SHAPES, Shape, Spans, Watch, refused

import citespan
from citespan.core.policy import Policy
from citespan.guard.context import current_call

EVERY_SHAPE = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
TOLD = Policy(allow=frozenset({"comment"}))


class Boom(Exception):
    """A tool's own failure."""


class Scene:
    """A tool `look` of one shape, and a sink that shows what may be cited."""

    def __init__(self, shape: Shape, result: Any = LISTED) -> None:
        self.ran: list[str] = []
        self.sunk: list[str] = []

        def body(path: str) -> list[Any]:
            self.ran.append(path)
            if isinstance(result, BaseException):
                raise result
            return list(result)

        self.look = citespan.tool(read_only=True)(shape.make(body))

        @citespan.tool
        def patch_file(path: str) -> None:
            self.sunk.append(path)

        self.patch_file = patch_file


@EVERY_SHAPE
def test_a_refused_call_never_runs_the_body(shape: Shape, watch: Watch) -> None:
    scene = Scene(shape)
    with citespan.run(inputs={"path": "."}):
        refused(shape.use, scene.look, path=SECRET)
    assert scene.ran == []
    assert watch.last.status == "blocked"
    assert watch.ending.error is None


@EVERY_SHAPE
def test_a_cited_call_runs_and_its_result_can_be_cited(shape: Shape, spans: Spans) -> None:
    scene = Scene(shape)
    with citespan.run(inputs={"path": "."}):
        assert shape.use(scene.look, path=".") == LISTED
        scene.patch_file(path=LISTED[1])
    assert (scene.ran, scene.sunk) == (["."], LISTED[1:])
    told = spans.last("patch_file")
    assert told["provenance.kind.path"] == "observed"
    assert told["provenance.source_tool.path"] == "look"
    (source,) = spans.of("look")
    assert told["provenance.source_span.path"] == format(source.context.span_id, "016x")
    (link,) = spans.of("patch_file")[-1].links
    assert link.context.span_id == source.context.span_id
    assert "provenance.unrecorded" not in spans.last("look")


@EVERY_SHAPE
def test_a_tools_own_exception_is_the_callers_and_teaches_nothing(shape: Shape, watch: Watch) -> None:
    error = Boom(LISTED[0])
    scene = Scene(shape, error)
    with citespan.run(inputs={"path": "."}):
        with pytest.raises(Boom) as raised:
            shape.use(scene.look, path=".")
        refused(scene.patch_file, path=LISTED[0])
    assert raised.value is error
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None
    assert scene.sunk == []
    assert watch.endings[0][0].error is error
    assert len(watch.endings[0]) == 1


@EVERY_SHAPE
def test_the_span_of_a_failed_call_names_the_class_and_no_text(shape: Shape, spans: Spans) -> None:
    scene = Scene(shape, Boom(SECRET))
    with citespan.run(inputs={"path": "."}), pytest.raises(Boom):
        shape.use(scene.look, path=".")
    (span,) = spans.of("look")
    assert not span.status.is_ok
    assert dict(span.attributes or {})["error.type"] == "Boom"
    assert not span.events
    assert SECRET not in "".join(one.to_json() for one in spans.of("look"))


@EVERY_SHAPE
def test_the_body_runs_under_its_own_span_and_the_caller_does_not(
    shape: Shape, spans: Spans, caplog: pytest.LogCaptureFixture
) -> None:
    inside: list[Any] = []

    def body(path: str) -> list[Any]:
        call = current_call()
        inside.append(None if call is None else call.tool)
        return list(LISTED)

    look = citespan.tool(shape.make(body))
    with citespan.run(inputs={"path": "."}), caplog.at_level(logging.DEBUG):
        before = otel_context.get_current()
        shape.use(look, path=".")
        assert otel_context.get_current() == before
        assert current_call() is None
    assert inside == ["look"]
    assert "detach" not in caplog.text


@EVERY_SHAPE
def test_an_empty_result_is_no_source(shape: Shape, watch: Watch) -> None:
    scene = Scene(shape, [])
    with citespan.run(inputs={"path": "."}):
        assert shape.use(scene.look, path=".") == []
        refused(scene.patch_file, path=[])
    assert scene.sunk == []


@EVERY_SHAPE
def test_the_result_is_the_bodys_own(shape: Shape, watch: Watch) -> None:
    item = object()
    scene = Scene(shape, [item])
    with citespan.run(inputs={"path": "."}):
        (returned,) = shape.use(scene.look, path=".")
    assert returned is item
    assert watch.ending.note is not None


@EVERY_SHAPE
def test_the_guarded_function_looks_like_its_body(shape: Shape) -> None:
    def body(path: str) -> list[Any]:
        return []

    plain = shape.make(body)
    plain.__doc__ = "Look at a path."
    plain.custom = "kept"  # type: ignore[attr-defined]
    guarded = citespan.tool(plain)
    assert guarded.__name__ == "look"
    assert guarded.__doc__ == "Look at a path."
    assert guarded.custom == "kept"  # type: ignore[attr-defined]
    assert inspect.signature(guarded) == inspect.signature(plain)
    assert guarded.__module__ == plain.__module__
    for kind in ("iscoroutinefunction", "isgeneratorfunction", "isasyncgenfunction"):
        test = getattr(inspect, kind)
        assert test(guarded) == test(plain)


def test_a_coroutine_that_is_never_awaited_is_no_call(watch: Watch) -> None:
    scene = Scene(SHAPES[1])
    with citespan.run(inputs={"path": "."}):
        scene.look(path=SECRET).close()
    assert scene.ran == []
    assert not watch.decisions


def test_a_generator_that_is_never_stepped_is_no_call(watch: Watch) -> None:
    scene = Scene(SHAPES[2])
    with citespan.run(inputs={"path": "."}):
        scene.look(path=SECRET).close()
    assert scene.ran == []
    assert not watch.decisions


def test_a_cancelled_call_teaches_nothing_and_stays_cancelled(watch: Watch) -> None:
    sunk: list[str] = []

    @citespan.tool
    def patch_file(path: str) -> None:
        sunk.append(path)

    async def main() -> None:
        entered = asyncio.Event()

        @citespan.tool
        async def look() -> list[str]:
            entered.set()
            await asyncio.Event().wait()
            return LISTED

        with citespan.run():
            task = asyncio.create_task(look())
            await entered.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            refused(patch_file, path=LISTED[0])

    asyncio.run(main())
    assert sunk == []
    assert isinstance(watch.endings[0][0].error, asyncio.CancelledError)


def test_partials_and_callable_objects_are_guarded(watch: Watch) -> None:
    ran: list[Any] = []

    class Tool:
        def __call__(self, path: str) -> str:
            ran.append(path)
            return "done"

    def look(depth: int, path: str) -> str:
        ran.append(path)
        return "done"

    with citespan.run(inputs={"path": "src"}):
        for tool in (citespan.tool(name="a")(Tool()), citespan.tool(name="b")(functools.partial(look, 4711))):
            assert tool(path="src") == "done"
            refused(tool, path=SECRET)
            refused(tool, SECRET)
    assert ran == ["src", "src"]


def test_allowed_words_are_tagged_and_never_citable(watch: Watch) -> None:
    sunk: list[str] = []

    @citespan.tool
    def note(comment: str) -> dict[str, str]:
        return {"said": comment}

    @citespan.tool
    def patch_file(path: str) -> None:
        sunk.append(path)

    with citespan.run(policy=TOLD):
        assert note(comment=SECRET) == {"said": SECRET}
        refused(patch_file, path=SECRET)
    assert sunk == []
