"""The public API over guard and telemetry: `run`, `tool`, `TracedTools`, `configure`."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, overload

from opentelemetry import context as otel_context

from citespan.core.policy import Output, Policy
from citespan.core.resolve import Rulebook
from citespan.errors import UnknownTool, UsageError
from citespan.guard.context import current_run
from citespan.guard.guard import begin
from citespan.guard.ports import Tool
from citespan.guard.run import Run
from citespan.guard.signature import signature_schema
from citespan.guard.wrap import guarded, run_body
from citespan.otel.ready import ready
from citespan.policy_file import load

if TYPE_CHECKING:
    from citespan.otel.collect import CollectingTelemetry

F = TypeVar("F", bound=Callable[..., Any])
_MAX_DUMPED_SPANS = 10_000


def as_policy(policy: Policy | str | Path | None) -> Policy | None:
    """A policy from a value or a named file.

    Raises:
        PolicyError: the file has mistakes, all of them in the error. PolicyNotFound: it is not there.
    """
    return load(policy) if isinstance(policy, str | Path) else policy


def run(
    name: str | None = None,
    inputs: Mapping[str, Any] | None = None,
    policy: Policy | str | Path | None = None,
    *,
    run_id: str | None = None,
) -> Run:
    """Open a run: one conversation of one agent, with a ledger of its own.

    Args:
        name: the agent's name. inputs: declared inputs, JSON values. policy: a `Policy`, a policy file, or None for
            the configured one. run_id: `gen_ai.conversation.id`.

    Returns:
        A context manager, sync and async.

    Raises:
        PolicyError: the named policy cannot be used. UsageError: the inputs are no JSON.

    Example:
        `with citespan.run(inputs={"root": "."}) as r: r.user("fix the tests"); agent()`
    """
    ready()
    return Run(name, inputs, as_policy(policy), run_id=run_id)


@overload
def tool(fn: F, /) -> F: ...
@overload
def tool(
    *,
    name: str | None = None,
    read_only: bool | None = None,
    output: Output | None = None,
    confirms: Iterable[str] = (),
) -> Callable[[F], F]: ...
def tool(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    read_only: bool | None = None,
    output: Output | None = None,
    confirms: Iterable[str] = (),
) -> Any:
    """Guard a function: sync, async, generator or async generator.

    Args:
        name: the tool's name, the function's by default.
        read_only: its code's word that it changes nothing (state rule). output: what its results are, see
            `citespan.core.policy.ToolRule`. confirms: result fields that make an uncited value citable.

    Raises (from the guarded function):
        ProvenanceDenied: before the body runs.

    Example:
        `@citespan.tool(read_only=True)` above `def list_files(root: str) -> dict: ...`
    """

    def wrap(body: Callable[..., Any]) -> Callable[..., Any]:
        ready()
        return guarded(body, _describe(body, name or body.__name__, read_only, output, tuple(confirms)))

    return wrap if fn is None else wrap(fn)


def _describe(
    body: Callable[..., Any], name: str, read_only: bool | None, output: Output | None, confirms: tuple[str, ...]
) -> Tool:
    try:
        schema: dict[str, Any] | None = signature_schema(body)
    except (TypeError, ValueError):  # a builtin without a signature
        schema = None
    description = inspect.getdoc(body)
    summary = description.partition("\n")[0] if description else None
    return Tool(name, None, schema, summary, read_only, None, output, confirms)


class TracedTools:
    """The five-minute entry: a plain dict of functions, guarded and traced.

    Works with no provider at all, and in a run of its own unless one is current.

    Args:
        impl: tool name -> function. policy: a `Policy` or a policy file. inputs: declared inputs of its own run.

    Raises:
        UsageError: a tool is not callable or its name is no text. PolicyError: the policy cannot be used.

    Example:
        >>> tools = TracedTools({"list_files": lambda root: {"files": ["a.py"]}}, inputs={"root": "."})
        >>> tools.call("list_files", root=".")
        {'files': ['a.py']}
    """

    def __init__(
        self,
        impl: Mapping[str, Callable[..., Any]],
        policy: Policy | str | Path | None = None,
        inputs: Mapping[str, Any] | None = None,
    ) -> None:
        ready()
        for name, body in impl.items():
            if type(name) is not str or not name or not callable(body):
                raise UsageError(f"TracedTools takes tool name -> function; {name!r} is not that")
        self._impl = dict(impl)
        self._tools = {name: _describe(body, name, None, None, ()) for name, body in impl.items()}
        chosen = as_policy(policy)
        self._rulebook = None if chosen is None else Rulebook(chosen)
        self._spans: deque[Any] = deque(maxlen=_MAX_DUMPED_SPANS)
        self._telemetry = self._own_telemetry()
        self._run = Run(None, inputs, chosen, telemetry=self._telemetry, kept=True)

    def _own_telemetry(self) -> CollectingTelemetry:
        """Spans of the global provider if the program has one, else of a private one, kept for `dump` either way."""
        from citespan.otel.collect import CollectingTelemetry

        return CollectingTelemetry(self._spans)

    @property
    def run(self) -> Run:
        """This set's own run; used while no other is current."""
        return self._run

    def call(self, tool: str, /, **arguments: Any) -> Any:
        """Call a tool by name, guarded.

        Raises:
            UnknownTool: there is no such tool. ProvenanceDenied: the body did not run.
        """
        body = self._impl.get(tool)
        if body is None:
            raise UnknownTool(f"no tool {tool!r}; there are: {', '.join(sorted(self._impl)) or 'none'}")
        token, telemetry, run = None, self._telemetry, current_run()
        if run is not None and run.telemetry is not None and run.telemetry is not self._run.telemetry:
            telemetry = telemetry.within(run.telemetry)
        if run is None:
            token = otel_context.attach(self._run.attach(otel_context.get_current()))
        try:
            ticket = begin(self._tools[tool], arguments, rulebook=self._rulebook, telemetry=telemetry)
            return run_body(ticket, body, (), ticket.arguments)
        finally:
            if token is not None:
                otel_context.detach(token)

    def close(self) -> None:
        """End the span of this set's own run; the ledger stays, and the next call opens another span."""
        self._run.end()

    def dump(self, path: str | Path) -> int:
        """Close the run and write its spans as OTLP/JSON lines, replacing the file whole or not at all.

        Returns:
            How many spans were written: 0 where tracing is off (`OTEL_SDK_DISABLED`, unsampled).

        Raises:
            OSError: the file cannot be written.
        """
        from citespan.traces.dump import write_spans

        self.close()
        return write_spans(list(self._spans), Path(path))

    def __enter__(self) -> TracedTools:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
