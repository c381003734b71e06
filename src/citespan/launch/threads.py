"""A thread that a tool's body starts belongs to that call, in a program that knows nothing of contexts.

Without this an agent that a tool runs in a thread (a synchronous tool that needs an event loop, mostly) would be taken
for one that a human speaks to, and what a model wrote for it would be a human's word (design section 2: a nested run's
input is never `user`). Threads that are started outside of any tool's body are left alone, and so are the workers of a
pool, which serve others afterwards: only what is submitted to them inside a body is run under its context.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import wrapt
from opentelemetry import context as otel_context
from opentelemetry.context import Context

from citespan.guard.context import current_call

_here = threading.local()


@cache
def carry() -> None:
    """Carry the context of a tool's body into the threads that it starts, from now on. Twice is once."""
    wrapt.wrap_function_wrapper(threading, "Thread.start", _start)
    wrapt.register_post_import_hook(_watch_pools, "concurrent.futures.thread")


def _watch_pools(module: Any) -> None:
    wrapt.wrap_function_wrapper(module, "ThreadPoolExecutor.submit", _submit)


def _start(wrapped: Any, thread: Any, args: Any, kwargs: Any) -> Any:
    if current_call() is not None and not getattr(_here, "submits", False):
        # on the thread itself: a class of the program's own may have another `run`
        thread.run = partial(_run, thread, otel_context.get_current(), thread.run)
    return wrapped(*args, **kwargs)


def _run(thread: Any, context: Context, run: Callable[[], Any]) -> None:
    del thread.run
    _under(context, run)


def _submit(wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
    if current_call() is not None and args:
        args = (partial(_under, otel_context.get_current(), args[0]), *args[1:])
    outer, _here.submits = getattr(_here, "submits", False), True
    try:
        return wrapped(*args, **kwargs)
    finally:
        _here.submits = outer


def _under(context: Context, body: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    token = otel_context.attach(context)
    try:
        return body(*args, **kwargs)
    finally:
        otel_context.detach(token)
