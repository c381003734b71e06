"""A recorded run, call by call, with the means to judge another call in the place of a recorded one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from opentelemetry.context import Context

from citespan.core.decision import Decision
from citespan.core.resolve import Rulebook
from citespan.guard.context import RUN, with_value
from citespan.guard.examine import examine
from citespan.guard.ports import Tool
from citespan.guard.run import Run
from citespan.replay import judge_recorded
from citespan.trajectories import RecordedCall, RecordedTool, Trajectory

_UNKNOWN = RecordedTool()


class Moment(NamedTuple):
    """A recorded call before its result landed.

    Args:
        position: index of the call. decision: about the call as it was recorded.
        run, tool, book: what it was judged with.
    """

    position: int
    call: RecordedCall
    decision: Decision
    run: Run
    tool: Tool
    book: Rulebook

    def instead(self, arguments: dict[str, Any], book: Rulebook | None = None) -> Decision:
        """The decision about other arguments, or under another rulebook; nothing of it is kept."""
        return _judge(self.run, self.tool, self.call, arguments, book or self.book)


def moments(trajectory: Trajectory, book: Rulebook) -> Iterator[Moment]:
    """Every call of a run, judged as `citespan replay` judges it. Use each moment before the next one is asked for."""
    run = Run(policy=book.policy)
    said = 0
    for position, call in enumerate(trajectory.calls):
        while said <= call.turn and said < len(trajectory.user_messages):
            run.user(trajectory.user_messages[said])
            said += 1
        recorded = trajectory.tools.get(call.tool, _UNKNOWN)
        tool = Tool(call.name, call.server, recorded.parameters, hint=recorded.read_only_hint)
        yield Moment(position, call, _judge(run, tool, call, call.arguments, book), run, tool, book)
        judge_recorded(run, book, tool, call)


def put(arguments: dict[str, Any], path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    """The arguments with another value at a path; what is not on the path is shared."""
    changed = dict(arguments)
    at: Any = changed
    for step in path[:-1]:
        inner = at[step]
        at[step] = dict(inner) if type(inner) is dict else list(inner)
        at = at[step]
    at[path[-1]] = value
    return changed


def _judge(run: Run, tool: Tool, call: RecordedCall, arguments: dict[str, Any], book: Rulebook) -> Decision:
    context = with_value(RUN, run, Context())
    step = None if call.step is None else f"{call.turn}/{call.step}"
    return examine(tool, arguments, context, step=step, rulebook=book).decision
