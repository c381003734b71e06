"""Judging recorded calls, and changed ones in their place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from opentelemetry.context import Context

from citespan.core.decision import Decision, Tag
from citespan.guard.context import RUN, with_value
from citespan.guard.examine import examine
from citespan.guard.ports import Tool
from citespan.guard.run import Run
from citespan.replay import AsRecorded, judge_recorded
from citespan.trajectories import RecordedCall, RecordedTool, Trajectory

_UNKNOWN = RecordedTool()


class Moment(NamedTuple):
    """A recorded call before its result landed: its decision, and the means to judge another call in its place."""

    position: int
    call: RecordedCall
    decision: Decision
    run: Run
    tool: Tool
    book: AsRecorded

    def instead(self, arguments: dict[str, Any]) -> Decision:
        """The decision about other arguments at this moment; nothing of it is kept."""
        context = with_value(RUN, self.run, Context())
        step = None if self.call.step is None else f"{self.call.turn}/{self.call.step}"
        return examine(self.tool, arguments, context, step=step, rulebook=self.book).decision


def moments(trajectory: Trajectory, book: AsRecorded) -> Iterator[Moment]:
    """Every call of a run as `citespan replay` judges it. Use each moment before the next one is asked for."""
    run = Run(policy=book.policy)
    said = 0
    for position, call in enumerate(trajectory.calls):
        while said <= call.turn and said < len(trajectory.user_messages):
            run.user(trajectory.user_messages[said])
            said += 1
        recorded = trajectory.tools.get(call.tool, _UNKNOWN)
        tool = Tool(call.name, call.server, recorded.parameters, hint=recorded.read_only_hint)
        context = with_value(RUN, run, Context())
        step = None if call.step is None else f"{call.turn}/{call.step}"
        before = examine(tool, call.arguments, context, step=step, rulebook=book).decision
        yield Moment(position, call, before, run, tool, book)
        judge_recorded(run, book, tool, call)


def refused(decision: Decision, *, bare: bool = False) -> list[Tag]:
    """The leaves for which a call is refused where it is enforced; [] for one that passes.

    Args:
        bare: only a leaf that equals an observed one passes.
    """
    if not bare:
        return list(decision.counted)
    return [tag for tag in decision.tags if not _exact(tag)]


def _exact(tag: Tag) -> bool:
    found = tag.provenance
    return found.kind == "observed" and any(source.projection == "exact" for source in found.sources)
