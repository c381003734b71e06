"""Recorded calls through the guard's own rules: what each decision would have been, had the policy been there.

A recording went on after every call, so the replay does as well: each recorded result lands, also that of a call
that is blocked here, and an uncited value that a blocked call had stores itself as if the call had run. Otherwise
one refusal would take the sources of all that follows, and the replay would judge a run that never was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from opentelemetry.context import Context

from citespan.core.budget import RunBudget
from citespan.core.decision import Decision
from citespan.core.resolve import Rulebook
from citespan.guard.context import RUN, with_value
from citespan.guard.examine import examine, mark
from citespan.guard.ports import Tool
from citespan.guard.registry import NoSpan
from citespan.guard.run import Run
from citespan.guard.ticket import Ticket
from citespan.trajectories import RecordedCall, RecordedTool, Trajectory

_UNKNOWN = RecordedTool()


class _Unstopped(RunBudget):
    """A run's budget in a replay: too many refusals are counted, and the recording goes on all the same."""

    __slots__ = ()

    @property
    def stopped(self) -> bool:
        """Never."""
        return False


class Judged(NamedTuple):
    """One recorded call and the decision about it.

    Args:
        trajectory: the run that it belongs to. position: index of the call in it.
        calls: observation ordinal -> index of the call that made it, for every call up to this one at least.
    """

    trajectory: Trajectory
    position: int
    call: RecordedCall
    decision: Decision
    calls: Mapping[int, int]


def replay(trajectory: Trajectory, rulebook: Rulebook) -> Iterator[Judged]:
    """Judge the calls of a trajectory, in order, as one run.

    A user's message counts from its turn on. Calls with one step are siblings: they cannot cite each other. A run
    that has too many refusals is not stopped; the decisions say from where on it would have been.

    Example:
        `[judged.decision.status for judged in replay(trajectory, rulebook)]`
    """
    run = Run(policy=rulebook.policy)
    run.state.budget = _Unstopped(rulebook.policy.run_max_assumed, rulebook.policy.run_max_refused)
    ledger = run.state.ledger
    landed: dict[int, int] = {}
    tools = {name: _tool(name, recorded) for name, recorded in trajectory.tools.items()}
    said = 0
    for index, call in enumerate(trajectory.calls):
        while said <= call.turn and said < len(trajectory.user_messages):
            run.user(trajectory.user_messages[said])
            said += 1
        tool = tools.get(call.tool) or _tool(call.tool, _UNKNOWN)
        tool = tool._replace(name=call.name, server=call.server)
        moment = ledger.moment()
        decision = judge_recorded(run, rulebook, tool, call)
        if ledger.moment() > moment:
            landed[moment] = index
        yield Judged(trajectory, index, call, decision, landed)


def _tool(name: str, recorded: RecordedTool) -> Tool:
    return Tool(name, None, recorded.parameters, hint=recorded.read_only_hint)


def judge_recorded(run: Run, rulebook: Rulebook, tool: Tool, call: RecordedCall) -> Decision:
    """Judge one recorded call, and land what it left behind: the one place that reaches into the guard.

    A call whose uncited values the guard could not work out (its arguments are too large) counts as one that stored
    anything, and its result is not recorded: an echo in it could not be told.
    """
    context = with_value(RUN, run, Context())
    # steps are numbered within a turn as well as over a run: one model response is never in two turns
    step = None if call.step is None else f"{call.turn}/{call.step}"
    judgement = examine(tool, call.arguments, context, step=step, rulebook=rulebook)
    decision = judgement.decision
    if call.refused:
        return decision
    ran = decision._replace(deny=False)
    if any(violation.rule == "guard" for violation in decision.violations):
        ran = ran._replace(status="error")
    given = mark(judgement, ran)
    if given is not None and not call.failed:
        Ticket(judgement, ran, NoSpan(), context, given).finish(call.result)
    return decision
