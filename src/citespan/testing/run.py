"""What a test has of its run: the fixture `citespan_run`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan

from citespan.calls import Call
from citespan.calls.paths import head
from citespan.core.decision import Decision, ProvenanceDenied
from citespan.guard.context import CALL, RUN, STEP, TOKEN, current_run
from citespan.guard.run import Run
from citespan.testing.happened import Happened, ended, happened
from citespan.testing.marker import Asked
from citespan.testing.watch import watched
from citespan.traces.dump import write_spans

#: the test's run, in every context that is made inside it
_TEST: Final = otel_context.create_key("citespan-test")
_OURS: Final = frozenset({_TEST, RUN, CALL, STEP, TOKEN})


class CitespanRun:
    """The run of one test, and what its tools did.

    Args:
        asked: what the test's markers say.

    Raises:
        UsageError: the declared inputs are no JSON.

    Example:
        `def test_it(citespan_run): citespan_run.user("fix the tests"); agent(); assert len(citespan_run.calls) == 2`
    """

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        #: what was said to be wrong already
        self.told: set[str] = set()
        self._before = otel_context.get_current()
        with ExitStack() as opening:
            self._journal, telemetry = opening.enter_context(watched(asked.policy))
            #: the run itself, a `citespan.Run`
            self.run = Run(None, asked.inputs, asked.policy, telemetry=telemetry)
            # a trace of its own, whatever span a plugin has opened around the test
            token = otel_context.attach(trace.set_span_in_context(trace.INVALID_SPAN))
            opening.callback(otel_context.detach, token)
            opening.enter_context(self.run)
            token = otel_context.attach(otel_context.set_value(_TEST, self))
            opening.callback(otel_context.detach, token)
            self._inside = otel_context.get_current()
            self._stack = opening.pop_all()

    def user(self, text: str) -> None:
        """A human's message, said now; see `citespan.Run.user`."""
        self.run.user(text)

    def observe(self, name: str, value: Any) -> None:
        """Context that the host vouches for; see `citespan.Run.observe`."""
        self.run.observe(name, value)

    @property
    def happened(self) -> tuple[Happened, ...]:
        """The calls so far with what the test thinks of them."""
        return happened(self._journal)

    @property
    def full(self) -> bool:
        """Whether there was no room for some calls or spans: more than 10,000 are not kept."""
        return self._journal.full

    @property
    def calls(self) -> tuple[Call, ...]:
        """The tool calls so far, by start; a call that is still open has `end` 0."""
        return tuple(one.call for one in self.happened)

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        """The spans that ended so far, those of calls that a framework opened a span for among them.

        Without the raw arguments and results that others put on them.
        """
        return ended(self._journal)

    def save(self, path: str | os.PathLike[str]) -> int:
        """Write the spans that ended so far as a trace file, whole or not at all.

        Returns:
            How many there were.

        Raises:
            OSError: it cannot be written.

        Example:
            `citespan_run.save(tmp_path / "trace.jsonl")`
        """
        return write_spans(list(self.spans), Path(path))

    @contextmanager
    def expect_blocked(self, tool: str, argument: str | None = None) -> Iterator[None]:
        """Expect that a call of a tool is refused in the block; it then does not fail the test.

        A `ProvenanceDenied` of such a call ends the block and goes no further. Where the agent swallows it, the block
        just goes on. A call that is refused because no run is open where it is made, or because the guard failed, is
        not what a test can want.

        Args:
            tool: its name. argument: an argument, or a leaf's dotted path, that it is refused for; None for any.

        Raises:
            pytest.fail.Exception: no such call was refused.

        Example:
            `with citespan_run.expect_blocked("patch_file", "path"): agent("patch prod.env")`
        """
        __tracebackhide__ = True
        before = len(self._journal.entries)
        try:
            yield
        except ProvenanceDenied as refusal:
            if not _is_refusal(refusal.decision, tool, argument):
                raise
        refused = [one for one in self._journal.entries[before:] if _is_refusal(one.decision, tool, argument)]
        refused = [entry for entry in refused if not entry.outside]
        for entry in refused:
            entry.expected = True
        if not refused:
            what = tool if argument is None else f"{tool}.{argument}"
            pytest.fail(f"citespan: no call was refused for {what}", pytrace=False)

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Make the run current where it is not: in a task whose context is older than the run."""
        if current_run() is not None:
            yield
            return
        token = otel_context.attach(self.run.attach(otel_context.get_current()))
        try:
            yield
        finally:
            otel_context.detach(token)

    def finish(self) -> None:
        """End the run's span: the trace is closed. The ledger stays until `close`, for fixtures that call tools."""
        self.run.end()

    def close(self) -> None:
        """End the run, and put the process's defaults and the context back.

        What fixtures of a wider scope put into the context meanwhile stays in it.
        """
        now = otel_context.get_current()
        self._stack.close()
        _become(now)

    def without(self, now: Context) -> Context:
        """A context that was made inside the run, as it would be without the run."""
        before, inside = self._before, self._inside
        rest = {key: before[key] for key in _OURS & before.keys()}
        for key, value in now.items():
            if inside.get(key) is not value and key not in _OURS:
                rest[key] = value
            elif key in before:
                rest[key] = before[key]
        return Context(rest)


def sweep() -> None:
    """Leave the run of a test that is over: a fixture that began inside it has put its context back just now."""
    _become(otel_context.get_current())


def _become(now: Context) -> None:
    run = now.get(_TEST)
    if isinstance(run, CitespanRun) and run.run.state.closed:
        rest = run.without(now)
        if rest != otel_context.get_current():
            otel_context.attach(rest)


def _is_refusal(decision: Decision, tool: str, argument: str | None) -> bool:
    if not decision.deny or decision.tool != tool or any(each.rule == "guard" for each in decision.violations):
        return False
    return argument is None or any(argument in {path, head(path)} for path in decision.assumed_fields)
