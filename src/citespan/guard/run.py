"""The run scope: one conversation of one agent owns one ledger; nested agents share the outermost one's."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

import orjson
from opentelemetry import context as otel_context
from opentelemetry.context import Context

from citespan.core import locks
from citespan.core.classify import field_matches
from citespan.core.fold import forms
from citespan.core.opaque import is_scalar
from citespan.core.policy import Policy
from citespan.core.proposals import Proposal, Reviewer, for_calls, for_proposals
from citespan.core.resolve import Rulebook
from citespan.errors import UsageError
from citespan.guard.context import RUN, STEP, current_call, current_run, with_value
from citespan.guard.ports import RunSpan, Telemetry
from citespan.guard.registry import registry
from citespan.guard.snapshot import Recorded, read_result
from citespan.guard.state import RunState


class Step:
    """The calls of one model response.

    `with run.step():` holds for the calls under it, wherever the OTel Context reaches; `run.step()` alone holds in
    its run until the next one, or until the run ends.
    """

    def __init__(self, run: Run, key: str) -> None:
        self._run = run
        self._before = run.current_step
        self._token: Any = None
        self.key = key

    def __enter__(self) -> Step:
        self._run.current_step = self._before
        self._token = otel_context.attach(with_value(STEP, self.key, otel_context.get_current()))
        return self

    def __exit__(self, *_: object) -> None:
        token, self._token = self._token, None
        if token is not None:
            otel_context.detach(token)

    async def __aenter__(self) -> Step:
        return self.__enter__()

    async def __aexit__(self, *_: object) -> None:
        self.__exit__()


class Run:
    """A run: a context manager, sync and async. See `citespan.run`.

    Args:
        name: the agent's name, for `invoke_agent {name}` and `gen_ai.agent.name`.
        inputs: declared inputs, JSON values; they are of kind `user`, and texts among them count as messages.
        policy: None for the one that `citespan.configure` set.
        run_id: `gen_ai.conversation.id`.
        kept: whether its ledger stays when it is left, since it belongs to something that lives longer.

    Raises:
        UsageError: the inputs have no JSON form, or the run is entered twice.
    """

    def __init__(
        self,
        name: str | None = None,
        inputs: Mapping[str, Any] | None = None,
        policy: Policy | None = None,
        *,
        run_id: str | None = None,
        telemetry: Telemetry | None = None,
        kept: bool = False,
    ) -> None:
        self.kept = kept
        self.name = name
        self.run_id = run_id
        self._inputs = dict(inputs or {})
        self._policy = policy
        self.telemetry = telemetry
        self.rulebook: Rulebook = registry.rulebook if policy is None else Rulebook(policy)
        self.state = RunState(self.rulebook.policy)
        self._opening = locks.lock()
        self.current_step: str | None = None
        self._borrowed = False
        self._span: RunSpan | None = None
        self._token: Any = None
        self._live: Run = self
        self._closed = False
        self._declare(self._inputs)

    @property
    def policy(self) -> Policy:
        """The policy that judges this run."""
        return self.rulebook.policy

    def _declare(self, inputs: Mapping[str, Any]) -> None:
        if not inputs:
            return
        reading = read_result(dict(inputs))
        if not isinstance(reading, Recorded):
            raise UsageError(f"inputs of run {self.name!r} are no JSON ({reading.reason}): pass plain values")
        self.state.given.record("inputs", reading.data)
        for text in texts(orjson.loads(reading.data)):
            self.state.said.say(text)

    def user(self, text: str) -> None:
        """A human's message, said now: its whole tokens may be cited from now on, as kind `user`.

        What a nested agent is told is an argument of the call that started it, not a human's word, and is ignored.

        Raises:
            UsageError: `text` is no str. Never pass tool output or assistant text here.
        """
        if type(text) is not str:
            raise UsageError(f"run.user takes a human's text as str, not {type(text).__qualname__}")
        live = self._live
        if not live._borrowed:
            live.state.said.say(text)

    def observe(self, name: str, value: Any) -> None:
        """Context that the host vouches for, as kind `user` with `name` as its origin.

        Raises:
            UsageError: the value has no JSON form.
        """
        reading = read_result(value)
        if not isinstance(reading, Recorded):
            raise UsageError(f"observed {name!r} is no JSON ({reading.reason}): pass plain values")
        live = self._live
        if not live._borrowed:
            live.state.given.record(name, reading.data)

    def propose(
        self,
        tool: str,
        argument: str,
        value: Any,
        *,
        reason: str = "",
        reviewer: Reviewer | Callable[[Proposal], bool] | None = None,
    ) -> bool:
        """Ask for a value that is meant to be new. Approved, it may be used once, as kind `invented`.

        The policy must name the listing (`propose_against`), the run must have observed it by a call without uncited
        arguments, and the value must be absent from it under every fold. Then the reviewer decides, by True alone.

        Args:
            value: a leaf: a scalar, or an empty container. reason: for the reviewer.
            reviewer: a function or a reviewer; None for the one of `citespan.configure`, which refuses where none
                was named, and where it is a function, since that one is for refused calls.

        Returns:
            Whether the proposal was approved.
        """
        proposal = Proposal(tool, argument, value, reason)
        live = self._live
        server, _, name = tool.rpartition("/")
        rule = live.rulebook.tool(name, server or None).arguments.get(argument)
        listing = None if rule is None else rule.propose_against
        if listing is None or not is_scalar(value) or not live._absent(value, listing):
            return False
        chosen = for_calls(registry.reviewer) if reviewer is None else for_proposals(reviewer)
        # only a plain True approves: a coroutine, or a text that says no, must not
        if chosen.proposal(proposal) is not True:
            return False
        if not live.state.approvals.add(proposal):
            return False
        live.state.marks.lift(forms(value))
        return True

    def _absent(self, value: Any, listing: str) -> bool:
        """Whether a listing was observed, by calls without uncited arguments, and holds nothing like the value."""
        folded, seen = set(forms(value)), False
        if self.state.ledger.evicted:
            return False
        for owner, field, leaf in self.state.ledger.fields():
            empty = isinstance(leaf, list | dict) and field_matches(listing, f"{field}.*", owner.server)
            if empty or field_matches(listing, field, owner.server):
                if owner.given or folded & set(forms(leaf)):
                    return False
                seen = True
        return seen

    def step(self) -> Step:
        """Start a step: calls until the next one (or the end of `with`) cannot cite each other.

        Example:
            `with run.step(): await asyncio.gather(read("a"), read("b"))`
        """
        live = self._live
        step = Step(live, f"step-{next(live.state.step_numbers)}")
        live.current_step = step.key
        return step

    def attach(self, context: Context) -> Context:
        """`context` with this run open and its span current; `__enter__` without the attaching. May be repeated."""
        return self._open(context)[1]

    def _open(self, context: Context) -> tuple[Run, Context]:
        run = self._joined(context)
        with self._opening:
            if self._span is None:
                telemetry = self.telemetry or registry.telemetry
                self._span = telemetry.start_run(self.name, self.run_id, context)
            return run, self._span.context(with_value(RUN, run, context))

    def _joined(self, context: Context) -> Run:
        """This run, or where another one or a tool's body is around it, a copy of it that is nested there.

        A nested run shares the outermost one's state. What a tool's body declares is no human's word: it was written by
        whoever called the tool. A copy, since a task may outlive the nesting and must not come by another state.
        """
        outer = current_run(context)
        call = current_call(context) or registry.reported_call(context)
        if outer is not None and outer is not self and call is None and self._is_another(outer):
            outer = None
        if outer is self or (outer is None and call is None):
            return self
        nested = copy.copy(self)
        nested._live = nested
        nested.current_step = None
        if outer is not None and self._policy is None:
            nested.rulebook = outer.rulebook
        if outer is not None and self.telemetry is None:
            nested.telemetry = outer.telemetry
        if outer is not None:
            nested.state = outer.state
        elif call is not None:
            nested.state = RunState(self.rulebook.policy)
        if call is not None:
            call.mark_nested()
            nested._borrowed = True
        elif outer is not None and outer._borrowed:
            nested._borrowed = True
        else:
            nested._declare(self._inputs)
        return nested

    def _is_another(self, outer: Run) -> bool:
        """Whether the run around is another conversation: one that has ended, or that has another id.

        A task or a generator may carry the context of a conversation that is over, or that it has nothing to do with.
        """
        ids = (self.run_id, outer.run_id)
        return outer.state.closed or (None not in ids and self.run_id != outer.run_id)

    def end(self, error: BaseException | None = None) -> None:
        """End the run's span; a span that was not this run's own stays open."""
        with self._opening:
            span, self._span = self._span, None
            self.current_step = None
        if span is not None:
            span.end(error=error)

    def __enter__(self) -> Run:
        if self._token is not None:
            raise UsageError("this run is open already; make a new one with citespan.run(...)")
        if self._closed:
            raise UsageError("this run is over, and its ledger with it; make a new one with citespan.run(...)")
        run, context = self._open(otel_context.get_current())
        self._live = run
        self._token = otel_context.attach(context)
        return run

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        token, self._token = self._token, None
        if token is not None:
            otel_context.detach(token)
        if not self.kept:
            self._closed = self.state.closed = True
        self.end(error)

    async def __aenter__(self) -> Run:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, traceback)


def texts(value: Any) -> list[str]:
    """Every text in a declared input."""
    found: list[str] = []
    waiting = [value]
    while waiting:
        at = waiting.pop()
        if isinstance(at, str):
            found.append(at)
        elif isinstance(at, dict):
            waiting.extend(at.values())
        elif isinstance(at, list):
            waiting.extend(at)
    return found
