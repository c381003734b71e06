"""The enforcement point: judge, write evidence, then let the body run, or refuse (design section 5).

Everything in here fails closed. Telemetry is called through a port whose methods never raise, and nothing is decided
by what it does.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry.context import Context

from citespan.core.decision import Decision, ProvenanceDenied
from citespan.core.resolve import Rulebook
from citespan.guard.advice import advise
from citespan.guard.context import TOKEN, JudgedToken, current_call, with_value
from citespan.guard.examine import Judgement, examine, give_back, mark
from citespan.guard.ports import CallSpan, Telemetry, Tool
from citespan.guard.registry import NoSpan, registry
from citespan.guard.run import Run
from citespan.guard.ticket import Ticket, tried_before
from citespan.guard.trouble import broken, report


def begin(
    tool: Tool,
    arguments: Mapping[str, Any] | None,
    *,
    step: str | None = None,
    call_id: str | None = None,
    rulebook: Rulebook | None = None,
    telemetry: Telemetry | None = None,
    trouble: str | None = None,
    reparsed: bool = False,
) -> Ticket:
    """Judge a call, write it down, and let it through or refuse it.

    A framework that tries a call again, under the same id after its body raised, gets the verdict of the first time:
    one call is judged, written down and charged once.

    Args:
        tool: what is known of the tool. arguments: as the model wrote them.
        step: key of the model response that the call belongs to, None for the run's current step.
        call_id: the framework's own id of the call, None where there is none.
        rulebook: the policy of this set of tools, None for the run's, else the registry's.
        trouble: why whoever calls this could not do its own part, None where it could: the guard's own failure.
        reparsed: the framework hands the arguments on as text, so a hook further in sees equal values, not these.

    Raises:
        ProvenanceDenied: the body must not run. The span has been ended and the evidence written.

    Example:
        `ticket = begin(Tool("patch_file"), {"path": "a.py"})`
    """
    started = time.perf_counter()
    context = otel_context.get_current()
    again = None if call_id is None else tried_before(call_id, tool, arguments, context, step, rulebook)
    if again is not None and trouble is None and (marked := mark(again, again.decision)) is not None:
        span = _start_span(_telemetry(telemetry, again.run), again, _judged(tool, context), started)
        return Ticket(again, again.decision, span, context, marked, arguments, reparsed)
    judgement = examine(tool, arguments, context, step=step, call_id=call_id, rulebook=rulebook)
    decision, run = judgement.decision, judgement.run
    if trouble is not None:
        decision = judgement.decision = broken(decision, trouble)
    span = _start_span(_telemetry(telemetry, run), judgement, _judged(tool, context), started)
    evidence = registry.evidence
    if evidence is not None:
        try:
            evidence.append(judgement.call, decision, span.ref)
        except Exception as error:
            decision = broken(decision, f"evidence could not be written ({type(error).__name__})")
            span.amend(decision)
    given = () if decision.deny else mark(judgement, decision)
    if given is None:
        decision = broken(decision, "the call's uncited values could not be marked")
        span.amend(decision)
    registry.tally.add(decision)
    if decision.deny:
        give_back(judgement)
        span.end()
        raise ProvenanceDenied(decision, _advice(judgement, decision)) from None
    return Ticket(judgement, decision, span, context, given or (), arguments, reparsed)


def _telemetry(asked: Telemetry | None, run: Run | None) -> Telemetry:
    if asked is not None:
        return asked
    return registry.telemetry if run is None or run.telemetry is None else run.telemetry


def _judged(tool: Tool, context: Context) -> Context:
    """The context under which the call's span starts: the span processor sees that it is judged."""
    return with_value(TOKEN, JudgedToken(tool.name), context)


def _advice(judgement: Judgement, decision: Decision) -> str:
    try:
        return advise(judgement.run, judgement.rules, decision, judgement.call.offers)
    except Exception as error:
        report("could not advise after a refusal of", decision.tool, error)
        return ""


def _start_span(telemetry: Telemetry, judgement: Judgement, context: Context, started: float) -> CallSpan:
    try:
        seconds = time.perf_counter() - started
        return telemetry.start_call(judgement.call, judgement.decision, context, guard_seconds=seconds)
    except Exception as error:  # a port that breaks its promise must not decide about a call either way
        report("has no span (the call is not affected) for a call of", judgement.call.tool, error)
        return NoSpan()


def already_judged(tool: str, arguments: Mapping[str, Any] | None) -> bool:
    """Whether an outer hook judges this very call (design section 5.7: by call identity, not by nesting)."""
    ticket = current_call()
    return ticket is not None and ticket.covers(tool, arguments)
