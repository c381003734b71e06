"""A call that was let through, from its verdict to its result."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import orjson
from opentelemetry.context import Context

from citespan.core.decision import Decision
from citespan.core.equality import same
from citespan.core.leaves import Leaf, snapshot
from citespan.core.opaque import Opaque
from citespan.core.resolve import Rulebook
from citespan.core.schema import UNKNOWN
from citespan.core.uncited import unreadable
from citespan.guard.context import CALL, current_call, current_run, current_step, with_value
from citespan.guard.examine import Judgement
from citespan.guard.failures import failed_by_policy
from citespan.guard.ports import CallSpan, Tool
from citespan.guard.run import Run
from citespan.guard.snapshot import Recorded, is_empty, read_result
from citespan.guard.trouble import report

#: the context of a call that has ended
_OVER: Final = Context()


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
        "_reparsed",
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
        source: object = None,
        reparsed: bool = False,
    ) -> None:
        self._judgement = judgement
        self._reparsed = reparsed
        self._span = span
        self._given = given
        self._done = False
        self._source = source
        self._covered = False
        self._outer = current_call(context)
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

    def covers(self, tool: str, arguments: Mapping[str, Any] | None, server: str | None = None) -> bool:
        """Whether another hook, further in, sees this very call; True once at the most.

        It is the same call if it names the same tool and hands on the very objects that were judged. Equal values are
        enough only where the framework hands arguments on as text (`reparsed`), and a second time is another call: a
        tool may call itself. Nor is it covered if the policy has other rules for the tool of that server.
        """
        if self._done or self._covered or tool != self.tool or arguments is None or not self._handed_on(arguments):
            return False
        if not self._same_rules(server):
            return False
        self._covered = True
        return True

    def uncover(self) -> None:
        """The hook further in that was covered saw the call fail: a framework's next try of it is this very call."""
        self._covered = False

    def _same_rules(self, server: str | None) -> bool:
        judgement = self._judgement
        run, rules = judgement.run, judgement.rules
        if server == judgement.call.server or run is None or rules is None:
            return server == judgement.call.server
        inner = run.rulebook.tool(self.tool, server)
        mine = run.rulebook.tool(self.tool, judgement.call.server)
        return replace(inner, hint_trusted=False) == replace(mine, hint_trusted=False)

    def _handed_on(self, arguments: Mapping[str, Any]) -> bool:
        """Whether these are the objects that the body was given, and still say what was judged."""
        judged, missing = self.arguments, object()
        if (
            not self._reparsed
            and arguments is not judged
            and arguments is not self._source
            and (
                len(arguments) != len(judged)
                or any(judged.get(name, missing) is not value for name, value in arguments.items())
            )
        ):
            return False
        return (not self._reparsed or self._is_plain()) and self.matches(arguments)

    def matches(self, arguments: Mapping[str, Any]) -> bool:
        """Whether arguments have the leaves that were judged, whoever holds them."""
        try:
            found = _values(snapshot(dict(arguments), UNKNOWN).leaves)
        except (TypeError, ValueError):
            return False
        known = _values(self._judgement.call.snapshot.leaves)
        return found.keys() == known.keys() and all(same(found[path], value) for path, value in known.items())

    def is_tried_again(self, tool: Tool, arguments: Mapping[str, Any]) -> bool:
        """Whether a call is this very one by value: by what can be compared, that is, and nothing else."""
        call = self._judgement.call
        return (call.tool, call.server) == (tool.name, tool.server) and self._is_plain() and self.matches(arguments)

    def _is_plain(self) -> bool:
        """Whether all values are JSON: two others that read alike may be anything."""
        return not any(type(leaf.value) is Opaque for leaf in self._judgement.call.snapshot.leaves)

    def mark_nested(self) -> None:
        """A run was opened inside the body: what it returns, and every call around it, is a model's word."""
        ticket: Ticket | None = self
        while ticket is not None and not ticket.nested:
            ticket.nested = True
            ticket = ticket._outer

    def finish(self, result: Any) -> None:
        """The body returned: keep the result as an observation, and end the span. Never raises; only once."""
        if not self._ends():
            return
        note: str | None = None
        try:
            note = self._record(result)
        except Exception as error:
            note = f"result not recorded: {type(error).__name__}"
            report("could not record (so it cannot be cited) a result of", self.tool, error)
        self._span.end(note=note)

    def _ends(self) -> bool:
        """Whether this ends the call; only the first time does.

        Its context holds the call itself: let go, both are freed at once, and not by the garbage collector.
        """
        if self._done:
            return False
        self._done = True
        self.context = _OVER
        return True

    def finish_json(self, data: bytes) -> None:
        """As `finish`, for a result that is JSON bytes already."""
        self.finish(orjson.Fragment(data))

    def fail(self, error: BaseException) -> None:
        """The body raised: a failed call teaches nothing. Never raises; only once."""
        if self._ends():
            self._may_come_again()
            self._span.end(error=error)

    def pause(self, reason: str) -> None:
        """The framework stopped the body, to run it again later: no error, and its next try is this very call."""
        if self._ends():
            self._may_come_again()
            self._span.end(note=reason)

    def _may_come_again(self) -> None:
        judgement = self._judgement
        if judgement.run is not None and type(judgement.call.call_id) is str:
            judgement.run.state.failed(judgement.call.call_id, self)

    def unrecorded(self, reason: str) -> None:
        """The body returned, and what it returned becomes no observation. Only once."""
        if self._ends():
            self._span.end(note=reason)

    def failed(self, reason: str) -> None:
        """The body returned its framework's own error result: a failed call teaches nothing. Only once."""
        if self._ends():
            self._span.end(note=reason, failed=True)

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


def tried_before(
    call_id: str,
    tool: Tool,
    arguments: Mapping[str, Any] | None,
    context: Context,
    step: str | None = None,
    rulebook: Rulebook | None = None,
) -> Judgement | None:
    """The judgement of a call that a framework tries again: same id, step, tool and arguments, and its body raised.

    It is good for one more try, which may fail and be tried again as well. None where anything differs that the verdict
    rests on: the policy, whether the tool is still said to only read, or whether the run was stopped meanwhile. Never
    raises: what cannot be compared is judged anew.
    """
    run = current_run(context)
    try:
        ticket = None if run is None else run.state.take_failed(call_id)
        if run is None or not isinstance(ticket, Ticket) or not ticket.is_tried_again(tool, arguments or {}):
            return None
        before = ticket._judgement
        if not _still_holds(before, tool, run, rulebook, step or current_step(context) or run.current_step or ""):
            return None
        # a copy of its own: the body of the first try may have changed the one that it was given
        fresh = before.call.snapshot._replace(arguments=snapshot(dict(arguments or {}), UNKNOWN).arguments)
    except Exception as error:
        report("could not compare (so it is judged anew) a call of", tool.name, error)
        return None
    call = before.call._replace(snapshot=fresh)
    return Judgement(call, before.decision, run, before.rules, before.moment, before.names)


def _still_holds(before: Judgement, tool: Tool, run: Run, rulebook: Rulebook | None, step: str) -> bool:
    decision, rules = before.decision, before.rules
    if rules is None or decision.deny or decision.step != step:
        return False
    if decision.policy != (rulebook or run.rulebook).digest:
        return False
    if decision.mode == "enforce" and (run.state.budget.stopped or run.state.process != os.getpid()):
        return False
    # a hint that turned stricter is believed
    return decision.mode == rules.mode or run.state.pin(tool).hint is True


def _values(leaves: tuple[Leaf, ...]) -> dict[tuple[str | int, ...], Any]:
    return {leaf.path: leaf.value for leaf in leaves if leaf.role == "value"}
