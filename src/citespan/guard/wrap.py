"""Guarded callables: sync, async, generator and async generator, one shape each (design section 5.1)."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from typing import Any, Final, TypeAlias

from opentelemetry import context as otel_context

from citespan.core.resolve import Rulebook
from citespan.guard.guard import already_judged, begin
from citespan.guard.ports import Tool
from citespan.guard.signature import Binder
from citespan.guard.snapshot import Recorded, read_result
from citespan.guard.steps import drive, drive_async
from citespan.guard.ticket import Ticket

#: a generator's items are kept up to this many JSON bytes; beyond it the whole result is not recorded
MAX_STREAM_BYTES: Final = 16 * 1024 * 1024


class Passed:
    """In place of a ticket, for a call that an outer hook judges: that one records the result and ends the span."""

    def __init__(self) -> None:
        self.context = otel_context.get_current()

    def finish(self, result: Any) -> None:
        """The outer hook's to do."""

    def finish_json(self, data: bytes) -> None:
        """The outer hook's to do."""

    def fail(self, error: BaseException) -> None:
        """The outer hook's to do."""

    def unrecorded(self, reason: str) -> None:
        """The outer hook's to do."""


Held: TypeAlias = Ticket | Passed


def guarded(fn: Callable[..., Any], tool: Tool, rulebook: Rulebook | None = None) -> Callable[..., Any]:
    """Wrap a function so that its body runs only if the guard lets the call through.

    The body gets the copy of the arguments that was judged, under a context in which the call's span is current. A
    generator's context is attached around each step, never across a yield; its call is judged when it is first
    stepped, and its items are recorded when it ends normally.

    Raises (from the wrapped function):
        ProvenanceDenied: the body did not run.
    """
    binder = Binder(fn)

    def start(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Held, tuple[Any, ...], dict[str, Any]]:
        arguments = binder.arguments(args, kwargs)
        if already_judged(tool.name, arguments):
            return Passed(), args, kwargs
        ticket = begin(tool, arguments, rulebook=rulebook)
        judged_args, judged_kwargs = binder.call(args, kwargs, ticket.arguments)
        return ticket, judged_args, judged_kwargs

    if inspect.isasyncgenfunction(fn):

        @functools.wraps(fn)
        async def async_stream(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
            ticket, args, kwargs = start(args, kwargs)
            async with contextlib.aclosing(_driven_async(ticket, _opened(ticket, fn, args, kwargs))) as steps:
                step = steps.asend(None)
                while True:
                    try:
                        item = await step
                    except StopAsyncIteration:
                        return
                    try:
                        step = steps.asend((yield item))
                    except GeneratorExit:
                        raise
                    except BaseException as thrown:
                        step = steps.athrow(thrown)

        return async_stream

    if inspect.isgeneratorfunction(fn):

        @functools.wraps(fn)
        def stream(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            ticket, args, kwargs = start(args, kwargs)
            return (yield from _driven(ticket, _opened(ticket, fn, args, kwargs)))

        return stream

    if inspect.iscoroutinefunction(fn):

        @functools.wraps(fn)
        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            ticket, args, kwargs = start(args, kwargs)
            token = otel_context.attach(ticket.context)
            try:
                result = await fn(*args, **kwargs)
            except BaseException as error:
                ticket.fail(error)
                raise
            finally:
                otel_context.detach(token)
            ticket.finish(result)
            return result

        return coroutine

    @functools.wraps(fn)
    def plain(*args: Any, **kwargs: Any) -> Any:
        ticket, args, kwargs = start(args, kwargs)
        return run_body(ticket, fn, args, kwargs)

    return plain


def _opened(ticket: Held, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The generator of a call; wrong arguments make that fail, and the call with it."""
    try:
        return fn(*args, **kwargs)
    except BaseException as error:
        ticket.fail(error)
        raise


def run_body(ticket: Held, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a plain function under its ticket; a coroutine or iterator that it returns is driven under it as well."""
    token = otel_context.attach(ticket.context)
    try:
        result = fn(*args, **kwargs)
    except BaseException as error:
        ticket.fail(error)
        raise
    finally:
        otel_context.detach(token)
    if inspect.iscoroutine(result):
        return _finish_later(ticket, result)
    if inspect.isgenerator(result):
        return _driven(ticket, result)
    if inspect.isasyncgen(result):
        return _driven_async(ticket, result)
    ticket.finish(result)
    return result


async def _finish_later(ticket: Held, awaitable: Any) -> Any:
    token = otel_context.attach(ticket.context)
    try:
        result = await awaitable
    except BaseException as error:
        ticket.fail(error)
        raise
    finally:
        otel_context.detach(token)
    ticket.finish(result)
    return result


class _Items:
    """The items of a stream as JSON, each copied when it is yielded, since its consumer may change it."""

    def __init__(self, ticket: Held) -> None:
        self._ticket = ticket
        self._parts: list[bytes] = []
        self._bytes = 0
        self._why: str | None = None

    def item(self, item: Any) -> None:
        """See `Watcher`; keeps a copy."""
        if self._why is not None:
            return
        reading = read_result(item)
        if not isinstance(reading, Recorded):
            self._stop(f"{reading.reason} has no JSON form")
            return
        self._bytes += len(reading.data) + 1
        if self._bytes > MAX_STREAM_BYTES:
            self._stop(f"more than {MAX_STREAM_BYTES} bytes were yielded")
            return
        self._parts.append(reading.data)

    def _stop(self, why: str) -> None:
        self._why = why
        self._parts.clear()

    def done(self) -> None:
        """See `Watcher`; the items are the call's result."""
        if self._why is not None:
            self._ticket.unrecorded(f"result not recorded: {self._why}")
        else:
            self._ticket.finish_json(b"[" + b",".join(self._parts) + b"]")

    def failed(self, error: BaseException) -> None:
        """See `Watcher`; a stream that was left or raised teaches nothing."""
        self._ticket.fail(error)


def _driven(ticket: Held, body: Iterator[Any]) -> Generator[Any, Any, Any]:
    return drive(ticket.context, body, _Items(ticket))


def _driven_async(ticket: Held, body: AsyncIterator[Any]) -> AsyncGenerator[Any, Any]:
    return drive_async(ticket.context, body, _Items(ticket))
