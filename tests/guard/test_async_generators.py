"""Async generators: as `test_generators`, with the event loop's ways of leaving one."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from opentelemetry import context as otel_context
from tests.guard.harness import LISTED, SECRET, Watch, refused

import citespan
from citespan.guard.context import current_call


class Boom(Exception):
    """Somebody's own failure."""


@pytest.fixture(autouse=True)
def _no_leaked_context(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Nothing in this file may leave a context attached, or detach one that is not its own."""
    before = otel_context.get_current()
    with caplog.at_level(logging.DEBUG):
        yield
        gc.collect()
    assert "detach" not in caplog.text
    assert otel_context.get_current() == before


@pytest.fixture
def sunk() -> list[str]:
    return []


@pytest.fixture
def patch_file(sunk: list[str], watch: Watch) -> Callable[..., None]:
    @citespan.tool
    def patch_file(path: str) -> None:
        sunk.append(path)

    return patch_file


def names(trail: list[str]) -> Callable[[], AsyncIterator[Any]]:
    """As in `test_generators`, asynchronous."""

    @citespan.tool
    async def names() -> AsyncIterator[Any]:
        try:
            for name in LISTED:
                try:
                    got = yield name
                    if got is not None:
                        trail.append(f"got {got}")
                except Boom:
                    trail.append("caught")
        finally:
            trail.append("closed")

    return names


async def test_async_items_are_citable_only_once_the_stream_has_ended(
    patch_file: Callable[..., None], sunk: list[str]
) -> None:
    with citespan.run():
        steps = names([])()
        assert await anext(steps) == LISTED[0]
        refused(patch_file, path=LISTED[0])
        assert [name async for name in steps] == LISTED[1:]
        patch_file(path=LISTED[0])
    assert sunk == LISTED[:1]


async def test_an_async_stream_that_is_left_early_teaches_nothing(
    patch_file: Callable[..., None], sunk: list[str], watch: Watch
) -> None:
    trail: list[str] = []
    with citespan.run():
        steps: Any = names(trail)()
        async for _ in steps:
            break
        await steps.aclose()
        assert trail == ["closed"]
        assert len(watch.endings[0]) == 1
        refused(patch_file, path=LISTED[0])
    assert sunk == []


def test_an_async_stream_that_is_dropped_is_closed_by_the_loop(watch: Watch) -> None:
    trail: list[str] = []

    async def main() -> None:
        with citespan.run():
            async for _ in names(trail)():
                break
            gc.collect()
            await asyncio.sleep(0)

    asyncio.run(main())
    assert trail == ["closed"]
    assert len(watch.endings[0]) == 1


async def test_an_async_exception_in_the_middle_teaches_nothing(
    patch_file: Callable[..., None], sunk: list[str]
) -> None:
    error = Boom()

    @citespan.tool
    async def names() -> AsyncIterator[str]:
        yield LISTED[0]
        raise error

    with citespan.run():
        with pytest.raises(Boom) as raised:
            async for _ in names():
                pass
        assert raised.value is error
        refused(patch_file, path=LISTED[0])
    assert sunk == []


async def test_what_is_thrown_into_an_async_stream_reaches_the_body(watch: Watch) -> None:
    trail: list[str] = []
    with citespan.run():
        steps: Any = names(trail)()
        await anext(steps)
        assert await steps.athrow(Boom()) == LISTED[1]
        with pytest.raises(StopAsyncIteration):
            await anext(steps)
    assert trail == ["caught", "closed"]


async def test_what_is_sent_into_an_async_stream_reaches_the_body(watch: Watch) -> None:
    trail: list[str] = []
    with citespan.run():
        steps: Any = names(trail)()
        await anext(steps)
        await steps.asend("a value")
        await steps.aclose()
    assert trail == ["got a value", "closed"]


async def test_the_async_consumers_context_is_its_own_between_steps(watch: Watch) -> None:
    inside: list[Any] = []

    @citespan.tool
    async def names() -> AsyncIterator[str]:
        for name in LISTED:
            await asyncio.sleep(0)
            call = current_call()
            inside.append(call and call.tool)
            yield name

    with citespan.run():
        before = otel_context.get_current()
        async for _ in names():
            assert otel_context.get_current() == before
    assert inside == ["names", "names"]


async def test_an_async_stream_may_be_finished_by_another_task(
    patch_file: Callable[..., None], sunk: list[str]
) -> None:
    async def rest(steps: AsyncIterator[Any]) -> list[Any]:
        return [name async for name in steps]

    with citespan.run():
        steps = names([])()
        await anext(steps)
        assert await asyncio.create_task(rest(steps), context=contextvars.Context()) == LISTED[1:]
        patch_file(path=LISTED[0])
    assert sunk == LISTED[:1]


async def test_what_an_async_body_does_when_it_is_left_early_is_inside_its_call(
    patch_file: Callable[..., None], sunk: list[str]
) -> None:
    @citespan.tool
    async def delegate(comment: str) -> AsyncIterator[str]:
        try:
            yield "started"
        finally:
            with citespan.run(inputs={"task": comment}):
                pass

    with citespan.run():
        steps: Any = delegate(comment=SECRET)
        await anext(steps)
        await steps.aclose()
        refused(patch_file, path=SECRET)
    assert sunk == []


async def test_a_guessed_async_stream_is_refused_when_it_is_first_stepped(watch: Watch) -> None:
    ran: list[str] = []

    @citespan.tool
    async def names(root: str) -> AsyncIterator[str]:
        ran.append(root)
        yield root

    with citespan.run():
        steps = names(root=SECRET)
        with pytest.raises(PermissionError):
            await anext(steps)
    assert ran == []
