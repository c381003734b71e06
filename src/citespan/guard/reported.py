"""Results of calls that somebody else's instrumentation reports (design section 5.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opentelemetry.context import Context

from citespan.core.budget import RunBudget
from citespan.core.decision import Decision
from citespan.core.judge import Call, decide
from citespan.core.kinds import SpanRef
from citespan.core.leaves import snapshot
from citespan.core.resolve import Rulebook
from citespan.guard.context import current_run
from citespan.guard.examine import Judgement, mark
from citespan.guard.ports import Tool, ToolCall
from citespan.guard.ticket import Ticket
from citespan.guard.trouble import report


def started(context: Context) -> int:
    """The ledger's moment in a context: to be kept when a reported call starts, and given to `observe`."""
    run = current_run(context)
    return 0 if run is None else run.state.ledger.moment()


def observe(
    tool: Tool,
    arguments: Mapping[str, Any] | None,
    result: Any,
    *,
    context: Context,
    span: SpanRef | None,
    since: int | None = None,
    rulebook: Rulebook | None = None,
) -> None:
    """Learn a result that somebody else's instrumentation reports (design section 5.2). Never raises.

    The call's own uncited values are worked out anew, so that an echo stays an echo.

    Args:
        rulebook: None for the run's own.
        since: the moment at which the call started (`started`): what came later vouches for none of its arguments.
    """
    try:
        run = current_run(context)
        if run is None:
            return
        book = rulebook or run.rulebook
        rules = book.tool(tool.name, tool.server, tool.output, tool.read_only, tool.confirms)
        pinned = run.state.pin(tool)
        snap = snapshot(dict(arguments or {}), pinned.schema)
        unlimited = RunBudget(len(snap.leaves), 0)
        call = Call(tool.name, tool.server, snap, pinned.schema, rules.read_only, False)
        moment = run.state.ledger.moment() if since is None else since
        decision = decide(call, run.state.scope(None, moment), rules, unlimited, book.digest)._replace(mode="tag")
        judgement = Judgement(
            ToolCall(tool.name, tool.server, snap, pinned.declared, None, None, None, None),
            decision,
            run,
            rules,
            moment,
            () if pinned.schema.charted else tuple(snap.arguments),
        )
        given = mark(judgement, decision)
        if given is None:
            return
        ticket = Ticket(judgement, decision, _Reported(span), context, given)
        ticket.finish(result)
    except Exception as error:
        report("could not learn a reported result of", tool.name, error)


class _Reported:
    """The span of a call that somebody else traced; it is not ours to end."""

    __slots__ = ("ref",)

    def __init__(self, ref: SpanRef | None) -> None:
        self.ref = ref

    def context(self, context: Context) -> Context:
        return context

    def amend(self, decision: Decision) -> None:
        return None

    def end(self, *, error: BaseException | None = None, note: str | None = None, failed: bool = False) -> None:
        return None
