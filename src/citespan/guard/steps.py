"""A generator's steps under a context: attached around each one, never across a yield (facts of the OTel Context).

A generator that attached a context and yielded would leak it into whoever consumes it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from typing import Any, Protocol

from opentelemetry import context as otel_context
from opentelemetry.context import Context


class Watcher(Protocol):
    """Told of what a generator does; exactly one of `done` and `failed` is called, once."""

    def item(self, item: Any) -> None:
        """It yielded."""
        ...

    def done(self) -> None:
        """It ended normally."""
        ...

    def failed(self, error: BaseException) -> None:
        """It raised, or its consumer left it (`GeneratorExit`)."""
        ...


def drive(context: Context, body: Iterator[Any], watcher: Watcher) -> Generator[Any, Any, Any]:
    """Step through a generator, or a plain iterator, under a context; what is sent and thrown in reaches it."""
    sent: Any = None
    error: BaseException | None = None
    generator: Any = body if hasattr(body, "send") else _as_generator(body)
    try:
        while True:
            token = otel_context.attach(context)
            try:
                item = generator.send(sent) if error is None else generator.throw(error)
            except StopIteration as stop:
                watcher.done()
                return stop.value
            finally:
                otel_context.detach(token)
            sent = error = None
            watcher.item(item)
            try:
                sent = yield item
            except GeneratorExit:
                raise
            except BaseException as thrown:
                error = thrown
    except BaseException as raised:
        watcher.failed(raised)
        raise
    finally:
        token = otel_context.attach(context)
        try:
            generator.close()
        finally:
            otel_context.detach(token)


async def drive_async(context: Context, body: AsyncIterator[Any], watcher: Watcher) -> AsyncGenerator[Any, Any]:
    """As `drive`, for an async generator or iterator."""
    sent: Any = None
    error: BaseException | None = None
    generator: Any = body if hasattr(body, "asend") else _as_async_generator(body)
    try:
        while True:
            token = otel_context.attach(context)
            try:
                item = await (generator.asend(sent) if error is None else generator.athrow(error))
            except StopAsyncIteration:
                watcher.done()
                return
            finally:
                otel_context.detach(token)
            sent = error = None
            watcher.item(item)
            try:
                sent = yield item
            except GeneratorExit:
                raise
            except BaseException as thrown:
                error = thrown
    except BaseException as raised:
        watcher.failed(raised)
        raise
    finally:
        token = otel_context.attach(context)
        try:
            await generator.aclose()
        finally:
            otel_context.detach(token)


def _as_generator(iterator: Iterator[Any]) -> Generator[Any, Any, Any]:
    yield from iterator


async def _as_async_generator(iterator: AsyncIterator[Any]) -> AsyncGenerator[Any, Any]:
    async for item in iterator:
        yield item
