"""What every adapter shares: how a call is judged, its body run and its result learned; how a run is opened around an
agent, and a stream stepped through (design sections 5 and 6).

An adapter reads (what is called, with what, by whom) and says no in its framework's way. It decides nothing, and what
goes wrong in its reading denies the call.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from opentelemetry import context as otel_context
from opentelemetry.context import Context

from citespan.core.decision import ProvenanceDenied
from citespan.guard.context import current_call, current_run
from citespan.guard.guard import begin
from citespan.guard.ports import Tool
from citespan.guard.registry import registry
from citespan.guard.run import Run, texts
from citespan.guard.steps import drive, drive_async
from citespan.guard.ticket import Ticket
from citespan.guard.trouble import report
from citespan.instrument._patch import Adapter, trouble
from citespan.otel.ready import ready


class Call(NamedTuple):
    """One tool call, as an adapter reads it.

    Args:
        tool: what is known of the tool. arguments: as the model wrote them; what the framework adds is left out.
        call_id: the framework's id of it. step: key of the model response that it belongs to.
        reparsed: see `citespan.guard.guard.begin`.
    """

    tool: Tool
    arguments: Mapping[str, Any] | None
    call_id: str | None = None
    step: str | None = None
    reparsed: bool = False


class Value(NamedTuple):
    """A result that becomes an observation."""

    value: Any


class Failed(NamedTuple):
    """A result by which the framework says that the tool failed: it teaches nothing."""

    reason: str


class Unread(NamedTuple):
    """A result that becomes no observation, though the tool did not fail."""

    reason: str


Learned: TypeAlias = Value | Failed | Unread


class Refusal(NamedTuple):
    """How a framework says no.

    Args:
        tell: what the model reads: returned, or raised, in place of the tool's result.
        abort: the exception that reaches the caller of the run; the refusal itself where the framework lets it through.
    """

    tell: Callable[[ProvenanceDenied], Any]
    abort: Callable[[ProvenanceDenied], BaseException] = lambda refusal: refusal

    def say(self, refusal: ProvenanceDenied) -> Any:
        """Tell the model, or stop the run, as the decision says (design section 5.8)."""
        if refusal.decision.abort or refusal.decision.on_violation == "abort":
            raise self.abort(refusal) from None
        return self.tell(refusal)


class Covered:
    """A call that a hook further out judges: that one has the ticket."""

    def __init__(self, arguments: Mapping[str, Any] | None, ticket: Ticket) -> None:
        self.arguments = arguments
        self.ticket = ticket
        self.context = otel_context.get_current()


Held: TypeAlias = Ticket | Covered


def hold(adapter: Adapter, read: Callable[[], Call]) -> Held:
    """Judge a call. What holds it is to be closed by `learn` or `fail`.

    Raises:
        ProvenanceDenied: the body must not run.
    """
    why = trouble(adapter)
    try:
        ready()
        call = read()
    except Exception as error:
        report("could not read a call of", adapter.title, error)
        call = Call(Tool(name="unknown"), None)
        why = why or f"the {adapter.name} adapter could not read the call ({type(error).__name__})"
    outer = current_call()
    if why is None and outer is not None and outer.covers(call.tool.name, call.arguments, call.tool.server):
        return Covered(call.arguments, outer)
    return begin(call.tool, call.arguments, step=call.step, call_id=call.call_id, trouble=why, reparsed=call.reparsed)


def learn(held: Held, read: Callable[[Any], Learned], result: Any) -> None:
    """The body returned: keep what it says as an observation. Never raises: the result goes to the caller anyway."""
    if isinstance(held, Covered):
        return
    try:
        learned = read(result)
    except Exception as error:
        report("could not read (so it cannot be cited) a result of", held.tool, error)
        learned = Unread(f"the result could not be read: {type(error).__name__}")
    match learned:
        case Value(value):
            held.finish(value)
        case Failed(reason):
            held.failed(reason)
        case Unread(reason):
            held.unrecorded(reason)


def fail(held: Held, error: BaseException, adapter: Adapter | None = None) -> None:
    """The body raised, or its framework stopped it in a way that `adapter` knows."""
    if isinstance(held, Covered):
        held.ticket.uncover()
    elif adapter is not None and adapter.pauses(error):
        held.pause("the framework stopped the call, to run it again")
    else:
        held.fail(error)


def call(
    adapter: Adapter,
    read: Callable[[], Call],
    body: Callable[[Any], Any],
    refusal: Refusal,
    learned: Callable[[Any], Learned] = Value,
) -> Any:
    """Judge a call, and run its body with the judged copy of the arguments; or say no.

    Args:
        read: what is called. body: given the arguments, runs the tool. learned: what its result says.

    Raises:
        what `refusal` says, and what the body raises, unchanged.
    """
    try:
        held = hold(adapter, read)
    except ProvenanceDenied as denied:
        return refusal.say(denied)
    token = otel_context.attach(held.context)
    try:
        result = body(held.arguments)
    except BaseException as error:
        fail(held, error, adapter)
        raise
    finally:
        otel_context.detach(token)
    learn(held, learned, result)
    return result


async def call_async(
    adapter: Adapter,
    read: Callable[[], Call],
    body: Callable[[Any], Awaitable[Any]],
    refusal: Refusal,
    learned: Callable[[Any], Learned] = Value,
) -> Any:
    """As `call`, for a body that is awaited."""
    try:
        held = hold(adapter, read)
    except ProvenanceDenied as denied:
        return refusal.say(denied)
    token = otel_context.attach(held.context)
    try:
        result = await body(held.arguments)
    except BaseException as error:
        fail(held, error, adapter)
        raise
    finally:
        otel_context.detach(token)
    learn(held, learned, result)
    return result


class Conversation(NamedTuple):
    """One invocation of an agent, as an adapter reads it.

    Args:
        key: its thread or session: runs of one key share a ledger. None: this invocation is a run of its own.
        store: which store of the framework the key is of, where a program may have several.
        name: the agent's. said: what humans said, oldest first, and nothing else (design section 2).
        inputs: declared inputs.
    """

    key: str | None = None
    name: str | None = None
    said: tuple[str, ...] = ()
    inputs: Mapping[str, Any] | None = None
    store: str = ""


class Opened(NamedTuple):
    """A run that is open around an agent."""

    run: Run
    context: Context

    def close(self, error: BaseException | None = None) -> None:
        """End its span; its ledger lives on if its conversation does."""
        if not self.run.kept:
            self.run.state.closed = True
        self.run.end(error)


def open_run(adapter: Adapter, read: Callable[[], Conversation]) -> Opened:
    """Open a run around an invocation of an agent. What cannot be read of it vouches for nothing."""
    ready()
    try:
        conversation = read()
    except Exception as error:
        report("could not read (so nothing that was said counts) a run of", adapter.title, error)
        conversation = Conversation()
    run = Run(conversation.name, run_id=conversation.key)
    known = None
    if conversation.key is not None:
        known = registry.conversations.join(adapter.name, conversation.key, run, conversation.store)
    context = run.attach(otel_context.get_current())
    opened = current_run(context)
    if opened is not None:
        # inside another run it is that one's ledger that hears, and it may not have heard these yet
        for text in conversation.said if known is None or opened is not run else known.unheard(conversation.said):
            opened.user(text)
        _declare(adapter, opened, conversation.inputs)
    return Opened(run, context)


def _declare(adapter: Adapter, run: Run, inputs: Mapping[str, Any] | None) -> None:
    """Declare inputs to the run that is open, whichever one it joined; to one inside a tool's body nothing is said."""
    if not inputs:
        return
    try:
        run.observe("inputs", dict(inputs))
        for text in texts(inputs):
            run.user(text)
    except Exception as error:
        report("could not read (so they cannot be cited) the inputs of a run of", adapter.title, error)


@contextlib.contextmanager
def in_run(adapter: Adapter, read: Callable[[], Conversation]) -> Iterator[Run]:
    """Everything under it belongs to one run; for code that is called and returns, sync and async."""
    opened = open_run(adapter, read)
    token = otel_context.attach(opened.context)
    try:
        yield opened.run
    except BaseException as error:
        opened.close(error)
        raise
    else:
        opened.close()
    finally:
        otel_context.detach(token)


def stream(
    adapter: Adapter, read: Callable[[], Conversation], body: Callable[[], Iterator[Any]]
) -> Generator[Any, Any, Any]:
    """A generator of an agent, each step of it under its run; the run is opened when it is first stepped."""
    opened = open_run(adapter, read)
    return (yield from drive(opened.context, body(), _Closing(opened)))


async def stream_async(
    adapter: Adapter, read: Callable[[], Conversation], body: Callable[[], AsyncIterator[Any]]
) -> AsyncGenerator[Any, Any]:
    """As `stream`, for an async generator."""
    opened = open_run(adapter, read)
    async with contextlib.aclosing(drive_async(opened.context, body(), _Closing(opened))) as steps:
        async for item in steps:
            yield item


class _Closing:
    """Closes a run when its stream ends."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened

    def item(self, item: Any) -> None:
        """Nothing is kept of what an agent yields."""

    def done(self) -> None:
        """It ended."""
        self._opened.close()

    def failed(self, error: BaseException) -> None:
        """It raised, or was left: then it is no error."""
        self._opened.close(None if isinstance(error, GeneratorExit) else error)


def tool_schema(schema: Any) -> Mapping[str, Any] | None:
    """A tool's JSON Schema if it is one, else None: then no argument of it has a name that may go out."""
    return schema if isinstance(schema, Mapping) else None
