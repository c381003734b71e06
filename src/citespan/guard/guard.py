"""The enforcement point: judge, write evidence, then let the body run, or refuse (design section 5).

Everything in here fails closed. Telemetry is called through a port whose methods never raise, and nothing is decided
by what it does.
"""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
from opentelemetry import context as otel_context
from opentelemetry.context import Context

from citespan.core.budget import RunBudget
from citespan.core.classify import Scope
from citespan.core.decision import Decision, ProvenanceDenied, Violation
from citespan.core.judge import Call, decide, invented
from citespan.core.kinds import SpanRef
from citespan.core.leaves import Snapshot, snapshot
from citespan.core.resolve import Resolved, Rulebook
from citespan.core.uncited import uncited, unreadable
from citespan.guard.advice import advise
from citespan.guard.context import CALL, TOKEN, JudgedToken, current_call, current_run, current_step, with_value
from citespan.guard.failures import failed_by_policy
from citespan.guard.ports import CallSpan, Telemetry, Tool, ToolCall
from citespan.guard.registry import NoSpan, registry
from citespan.guard.run import Pinned, Run, no_run_scope
from citespan.guard.snapshot import Recorded, is_empty, read_result

_log = logging.getLogger("citespan")


class Judgement:
    """A decision with what it was made from; made by `examine`, never raised."""

    __slots__ = ("call", "decision", "moment", "pinned", "rules", "run")

    def __init__(
        self, call: ToolCall, decision: Decision, run: Run | None, rules: Resolved | None, moment: int
    ) -> None:
        self.call = call
        self.decision = decision
        self.run = run
        self.rules = rules
        self.moment = moment


class Ticket:
    """A call that was let through. Run the body with `arguments`, under `context`, then call `finish` or `fail`.

    Args:
        arguments: the copy that was judged.
        decision: why it may run.
        context: the OTel Context with the call and its span.
        nested: set when the body opens a run of its own; its result is then a model's word (design section 2).
    """

    __slots__ = (
        "_covered",
        "_done",
        "_given",
        "_judgement",
        "_outer",
        "_source",
        "_span",
        "arguments",
        "context",
        "decision",
        "nested",
    )

    def __init__(
        self,
        judgement: Judgement,
        decision: Decision,
        span: CallSpan,
        context: Context,
        given: tuple[str, ...],
        source: object,
    ) -> None:
        self._judgement = judgement
        self._span = span
        self._given = given
        self._done = False
        self._covered = False
        self._outer = current_call(context)
        self._source = source
        self.arguments = judgement.call.snapshot.arguments
        self.decision = decision
        self.nested = False
        self.context = with_value(CALL, self, span.context(context))

    @property
    def tool(self) -> str:
        """The called tool's name."""
        return self._judgement.call.tool

    @property
    def span(self) -> CallSpan:
        """The call's telemetry."""
        return self._span

    def covers(self, tool: str, arguments: Mapping[str, Any] | None) -> bool:
        """Whether another hook, further in, sees this very call; True once at the most.

        It is the same call if it names the same tool and hands on the very objects that were judged. Equal values are
        not enough, and a second time is another call: a tool may call itself.
        """
        judged = self.arguments
        if self._done or self._covered or tool != self.tool or arguments is None or len(arguments) != len(judged):
            return False
        if arguments is not judged and arguments is not self._source:
            missing = object()
            if any(judged.get(name, missing) is not value for name, value in arguments.items()):
                return False
        self._covered = True
        return True

    def mark_nested(self) -> None:
        """A run was opened inside the body: what it returns, and every call around it, is a model's word."""
        ticket: Ticket | None = self
        while ticket is not None and not ticket.nested:
            ticket.nested = True
            ticket = ticket._outer

    def finish(self, result: Any) -> None:
        """The body returned: keep the result as an observation, and end the span. Never raises; only once."""
        if self._done:
            return
        self._done = True
        note: str | None = None
        try:
            note = self._record(result)
        except Exception as error:
            note = f"result not recorded: {type(error).__name__}"
            _report("could not record (so it cannot be cited) a result of", self.tool, error)
        self._span.end(note=note)

    def finish_json(self, data: bytes) -> None:
        """As `finish`, for a result that is JSON bytes already."""
        self.finish(orjson.Fragment(data))

    def fail(self, error: BaseException) -> None:
        """The body raised: a failed call teaches nothing. Never raises; only once."""
        if not self._done:
            self._done = True
            self._span.end(error=error)

    def failed(self, reason: str) -> None:
        """The body returned its framework's own error result: a failed call teaches nothing. Only once."""
        if not self._done:
            self._done = True
            self._span.end(note=reason)

    def _record(self, result: Any) -> str | None:
        judgement = self._judgement
        run, rules = judgement.run, judgement.rules
        if run is None or rules is None:
            return None
        if self.decision.status == "error" or unreadable(self.decision.tags):
            return "result not recorded: an echo of the arguments could not be told"
        if self.nested or rules.output == "model":
            return "result not recorded: a model made it"
        if rules.output == "computed" and any(tag.provenance.kind == "assumed" for tag in self.decision.tags):
            return "result not recorded: computed from uncited arguments"
        if isinstance(result, BaseException):
            return "result not recorded: an exception object"
        reading = read_result(result)
        if not isinstance(reading, Recorded):
            return f"result not recorded: {reading.reason} has no JSON form"
        if is_empty(reading.data):
            return None
        if rules.failed_when and failed_by_policy(reading.data, rules.failed_when):
            return "result not recorded: the policy reads it as a failure"
        call = judgement.call
        kept = run.state.ledger.record(
            call.tool,
            reading.data,
            server=call.server,
            span=self._span.ref,
            given=self._given,
            text=rules.text,
            confirms=rules.confirms,
        )
        return None if kept is not None else "result not recorded: larger than the ledger's bound"


def begin(
    tool: Tool,
    arguments: Mapping[str, Any] | None,
    *,
    step: str | None = None,
    call_id: str | None = None,
    rulebook: Rulebook | None = None,
    telemetry: Telemetry | None = None,
) -> Ticket:
    """Judge a call, write it down, and let it through or refuse it.

    Args:
        tool: what is known of the tool. arguments: as the model wrote them.
        step: key of the model response that the call belongs to, None for the run's current step.
        rulebook: the policy of this set of tools, None for the run's, else the registry's.

    Raises:
        ProvenanceDenied: the body must not run. The span has been ended and the evidence written.

    Example:
        `ticket = begin(Tool("patch_file"), {"path": "a.py"})`
    """
    started = time.perf_counter()
    context = otel_context.get_current()
    judgement = examine(tool, arguments, context, step=step, call_id=call_id, rulebook=rulebook)
    decision, run = judgement.decision, judgement.run
    if telemetry is None:
        telemetry = registry.telemetry if run is None or run.telemetry is None else run.telemetry
    span = _start_span(telemetry, judgement, with_value(TOKEN, JudgedToken(tool.name), context), started)
    evidence = registry.evidence
    if evidence is not None:
        try:
            evidence.append(judgement.call, decision, span.ref)
        except Exception as error:
            decision = _broken(decision, f"evidence could not be written ({type(error).__name__})")
            span.amend(decision)
    given = () if decision.deny else _mark(judgement, decision)
    if given is None:
        decision = _broken(decision, "the call's uncited values could not be marked")
        span.amend(decision)
    if decision.deny:
        give_back(judgement)
        span.end()
        raise ProvenanceDenied(decision, _advice(run, judgement.rules, decision)) from None
    return Ticket(judgement, decision, span, context, given or (), arguments)


def give_back(judgement: Judgement) -> None:
    """Return what a call took from its run's budget, when it is refused after it was let through."""
    decision, run = judgement.decision, judgement.run
    if run is not None and not decision.deny and decision.status == "ok" and decision.mode == "enforce":
        run.state.budget.give_back(len(decision.counted))


def _advice(run: Run | None, rules: Resolved | None, decision: Decision) -> str:
    try:
        return advise(run, rules, decision)
    except Exception as error:
        _report("could not advise after a refusal of", decision.tool, error)
        return ""


def _report(what: str, tool: str, error: BaseException) -> None:
    """Log a failure of our own by type and place; its text may hold an argument's value, and logs are exported."""
    place = "unknown place"
    if error.__traceback__ is not None:
        frame = traceback.extract_tb(error.__traceback__, limit=-1)[-1]
        place = f"{Path(frame.filename).name}:{frame.lineno}"
    _log.error("citespan %s %s: %s at %s", what, tool, type(error).__qualname__, place)


def _start_span(telemetry: Telemetry, judgement: Judgement, context: Context, started: float) -> CallSpan:
    try:
        seconds = time.perf_counter() - started
        return telemetry.start_call(judgement.call, judgement.decision, context, guard_seconds=seconds)
    except Exception as error:  # a port that breaks its promise must not decide about a call either way
        _report("has no span (the call is not affected) for a call of", judgement.call.tool, error)
        return NoSpan()


def _mark(judgement: Judgement, decision: Decision) -> tuple[str, ...] | None:
    """U(c), marked for the state rule; None when that failed.

    Before the body runs: another call may read back what it stores while it is still running.
    """
    try:
        given = uncited(decision.tags)
        run = judgement.run
        if run is not None and decision.mutating:
            if decision.status == "error" or unreadable(decision.tags):
                run.state.marks.bar_all(judgement.moment)
            elif given:
                run.state.marks.add(given, judgement.moment)
    except Exception as error:
        _report("could not mark the uncited values of a call of", judgement.call.tool, error)
        return None
    return given


def judge(
    tool: Tool,
    arguments: Mapping[str, Any] | None,
    *,
    context: Context | None = None,
    step: str | None = None,
    rulebook: Rulebook | None = None,
) -> Decision:
    """Decide about a call without a span and without evidence; what it costs is taken from the run's budget."""
    return examine(tool, arguments, context or otel_context.get_current(), step=step, rulebook=rulebook).decision


def examine(
    tool: Tool,
    arguments: Mapping[str, Any] | None,
    context: Context,
    *,
    step: str | None = None,
    call_id: str | None = None,
    rulebook: Rulebook | None = None,
) -> Judgement:
    """Decide, whatever happens: an error of the guard itself denies in enforce mode and is `error` in tag mode."""
    run: Run | None = None
    rules: Resolved | None = None
    snap = Snapshot({}, ())
    pinned: Pinned | None = None
    moment = 0
    try:
        run = current_run(context)
        book = rulebook or (registry.rulebook if run is None else run.rulebook)
        rules = book.tool(tool.name, tool.server, tool.output, tool.read_only, tool.confirms)
        pinned = Pinned(tool) if run is None else run.state.pin(tool)
        snap = snapshot(dict(arguments or {}), pinned.schema)
        scope, step, moment, budget = _reach(run, step or current_step(context), book)
        hinted = rules.hint_trusted and pinned.hint is True and rules.read_only is not False
        known = rules.read_only if rules.read_only is not None else (True if hinted else None)
        decision = decide(
            Call(tool.name, tool.server, snap, pinned.schema, known, hinted, step or ""),
            scope,
            rules,
            budget,
            book.digest,
        )
        if decision.deny:
            decision = _ask(decision)
        elif run is not None and run.state.approvals:
            decision = _use_approvals(run, decision)
    except Exception as error:
        _report("could not judge a call of", tool.name, error)
        mode = "enforce" if rules is None else rules.mode
        # in tag mode the body runs all the same, with what it was given
        snap = Snapshot({} if arguments is None else arguments, ())  # type: ignore[arg-type]
        decision = Decision(tool.name, tool.server, mode == "enforce", "error", mode, "tell", (), (), 0, "", True)
        decision = _broken(decision, f"the guard failed ({type(error).__name__})")
    call = ToolCall(
        tool.name,
        tool.server,
        snap,
        frozenset() if pinned is None else pinned.declared,
        tool.description,
        call_id,
        None if run is None else run.run_id,
        None if run is None else run.name,
        tool.type,
    )
    return Judgement(call, decision, run, rules, moment)


def _reach(run: Run | None, step: str | None, book: Rulebook) -> tuple[Scope, str | None, int, RunBudget]:
    """What the call may cite, its step, the ledger's moment now, and the budget that it draws on."""
    if run is None:
        policy = book.policy
        return no_run_scope(), step, 0, RunBudget(policy.run_max_assumed, policy.run_max_refused)
    state = run.state
    step = step or run.current_step
    moment = state.ledger.moment()
    return state.scope(step), step, moment, state.budget


def _ask(decision: Decision) -> Decision:
    """Under `on_violation = "ask"` the registry's reviewer decides about a refusal; with none it stands."""
    reviewer = registry.reviewer
    if decision.on_violation != "ask" or decision.abort or reviewer is None or not reviewer(decision):
        return decision
    return decision._replace(deny=False, status="flagged")


def _use_approvals(run: Run, decision: Decision) -> Decision:
    for digest in invented(decision.tags):
        if not run.state.approvals.use(digest):
            return _broken(decision, "an approval was used by another call")
    return decision


def _broken(decision: Decision, why: str) -> Decision:
    """The guard's own failure: denies in enforce mode, is tagged `error` in tag mode (design section 5.5)."""
    deny = decision.mode == "enforce"
    return decision._replace(
        deny=deny,
        status="blocked" if deny else "error",
        violations=(*decision.violations, Violation("guard", (), f"guard={why}")),
    )


def observe(
    tool: Tool, arguments: Mapping[str, Any] | None, result: Any, *, context: Context, span: SpanRef | None
) -> None:
    """Learn a result that somebody else's instrumentation reports (design section 5.2). Never raises.

    The call's own uncited values are worked out anew, so that an echo stays an echo.
    """
    try:
        run = current_run(context)
        if run is None:
            return
        rules = run.rulebook.tool(tool.name, tool.server, tool.output, tool.read_only, tool.confirms)
        pinned = run.state.pin(tool)
        snap = snapshot(dict(arguments or {}), pinned.schema)
        unlimited = RunBudget(len(snap.leaves), 0)
        call = Call(tool.name, tool.server, snap, pinned.schema, rules.read_only, False)
        decision = decide(call, run.state.scope(None), rules, unlimited, run.rulebook.digest)._replace(mode="tag")
        judgement = Judgement(
            ToolCall(tool.name, tool.server, snap, pinned.declared, None, None, None, None),
            decision,
            run,
            rules,
            run.state.ledger.moment(),
        )
        given = _mark(judgement, decision)
        if given is None:
            return
        ticket = Ticket(judgement, decision, _Reported(span), context, given, arguments)
        ticket.finish(result)
    except Exception as error:
        _report("could not learn a reported result of", tool.name, error)


class _Reported:
    """The span of a call that somebody else traced; it is not ours to end."""

    __slots__ = ("ref",)

    def __init__(self, ref: SpanRef | None) -> None:
        self.ref = ref

    def context(self, context: Context) -> Context:
        return context

    def amend(self, decision: Decision) -> None:
        return None

    def end(self, *, error: BaseException | None = None, note: str | None = None) -> None:
        return None


def already_judged(tool: str, arguments: Mapping[str, Any] | None) -> bool:
    """Whether an outer hook judges this very call (design section 5.7: by call identity, not by nesting)."""
    ticket = current_call()
    return ticket is not None and ticket.covers(tool, arguments)
