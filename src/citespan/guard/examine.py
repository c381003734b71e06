"""The decision about one call, whatever happens: what it may cite, what the policy says, what it costs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry.context import Context

from citespan.core.budget import RunBudget
from citespan.core.classify import Scope
from citespan.core.decision import Decision
from citespan.core.fields import Catalogue
from citespan.core.judge import Call, decide, invented
from citespan.core.leaves import Snapshot, snapshot
from citespan.core.nearest import Offer, offers
from citespan.core.proposals import Approvals, for_calls
from citespan.core.resolve import Resolved, Rulebook
from citespan.core.uncited import uncited, unreadable
from citespan.guard.context import current_run, current_step
from citespan.guard.ports import Tool, ToolCall
from citespan.guard.registry import registry
from citespan.guard.run import Run
from citespan.guard.state import Pinned, no_run_scope
from citespan.guard.trouble import broken, report


class Judgement:
    """A decision with what it was made from; made by `examine`, never raised."""

    __slots__ = ("call", "decision", "moment", "names", "rules", "run")

    def __init__(
        self,
        call: ToolCall,
        decision: Decision,
        run: Run | None,
        rules: Resolved | None,
        moment: int,
        names: tuple[str, ...] = (),
    ) -> None:
        self.call = call
        self.decision = decision
        self.run = run
        self.rules = rules
        self.moment = moment
        #: argument names that no schema declares, since none is known: a model wrote them
        self.names = names


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
    unnamed: tuple[str, ...] = ()
    offered: tuple[Offer, ...] = ()
    try:
        run = current_run(context)
        book = rulebook or (registry.rulebook if run is None else run.rulebook)
        rules = book.tool(tool.name, tool.server, tool.output, tool.read_only, tool.confirms)
        pinned = Pinned(tool) if run is None else run.state.pin(tool)
        snap = snapshot(dict(arguments or {}), pinned.schema)
        unnamed = () if pinned.schema.charted else tuple(snap.arguments)
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
        if decision.violations:
            offered = _offers(run, decision, scope, rules)
        if decision.deny:
            decision = _ask(decision, budget)
        if not decision.deny and run is not None and run.state.approvals:
            decision = _use_approvals(run, decision)
    except Exception as error:
        report("could not judge a call of", tool.name, error)
        mode = "enforce" if rules is None else rules.mode
        # in tag mode the body runs all the same, with what it was given
        snap = Snapshot({} if arguments is None else arguments, ())  # type: ignore[arg-type]
        decision = Decision(tool.name, tool.server, mode == "enforce", "error", mode, "tell", (), (), 0, "", True)
        decision = broken(decision, f"the guard failed ({type(error).__name__})")
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
        offered,
    )
    return Judgement(call, decision, run, rules, moment, unnamed)


def _reach(run: Run | None, step: str | None, book: Rulebook) -> tuple[Scope, str | None, int, RunBudget]:
    """What the call may cite, its step, the ledger's moment now, and the budget that it draws on."""
    if run is None:
        # no run, no budget of a run: one for each call would be one for as many calls as anybody likes
        return no_run_scope(), step, 0, RunBudget(0, book.policy.run_max_refused)
    state = run.state
    step = step or run.current_step
    moment = state.ledger.moment()
    if state.process != os.getpid():
        # a forked child has a copy of the run: what is free in it, or approved, is the parent's to use
        budget = RunBudget(0, book.policy.run_max_refused)
        if state.budget.stopped:
            budget.stop()
        return state.scope(step)._replace(approvals=Approvals()), step, moment, budget
    return state.scope(step), step, moment, state.budget


def _offers(run: Run | None, decision: Decision, scope: Scope, rules: Resolved) -> tuple[Offer, ...]:
    """What could have vouched for what counted: advice, so its failure decides nothing."""
    if decision.status == "ok":
        return ()
    try:
        catalogue = Catalogue() if run is None else run.state.catalogue
        return offers(decision.tags, scope.view, rules, catalogue)
    except Exception as error:
        report("could not name the nearest fields for a call of", decision.tool, error)
        return ()


def _ask(decision: Decision, budget: RunBudget) -> Decision:
    """Under `on_violation = "ask"` the registry's reviewer decides about a refusal; with none it stands.

    What a person approves is no guess: it does not count towards the refusals after which a run is stopped.
    """
    if decision.on_violation != "ask" or decision.abort or for_calls(registry.reviewer).call(decision) is not True:
        return decision
    budget.forgive()
    return decision._replace(deny=False, status="flagged")


def _use_approvals(run: Run, decision: Decision) -> Decision:
    for digest in invented(decision.tags):
        if not run.state.approvals.use(digest):
            return broken(decision, "an approval was used by another call")
    return decision


def give_back(judgement: Judgement) -> None:
    """Return what a call took from its run's budget, when it is refused after it was let through."""
    decision, run = judgement.decision, judgement.run
    if run is not None and not decision.deny and decision.status == "ok" and decision.mode == "enforce":
        run.state.budget.give_back(len(decision.counted))


def mark(judgement: Judgement, decision: Decision) -> tuple[str, ...] | None:
    """U(c), marked for the state rule; None when that failed.

    Before the body runs: another call may read back what it stores while it is still running.
    """
    try:
        given = uncited(decision.tags, judgement.names)
        run = judgement.run
        if run is not None and decision.mutating:
            if decision.status == "error" or unreadable(decision.tags):
                run.state.marks.bar_all(judgement.moment)
            elif given:
                run.state.marks.add(given, judgement.moment)
    except Exception as error:
        report("could not mark the uncited values of a call of", judgement.call.tool, error)
        return None
    return given
