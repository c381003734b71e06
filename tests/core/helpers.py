"""An agent whose tools are scripted, in a run, through the guard: what the tests of the rules drive.

A test says which calls were made and what they returned, then asks what kind a value would have as an argument.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry.context import Context

from citespan.core.decision import Decision, Tag
from citespan.core.kinds import Observed, Provenance, Source
from citespan.core.ledger import Ledger
from citespan.core.places import Place, path_of
from citespan.core.policy import ArgumentRule, Bounds, Policy, ToolRule
from citespan.core.resolve import Rulebook
from citespan.guard.examine import judge
from citespan.guard.guard import begin
from citespan.guard.ports import Tool
from citespan.guard.run import Run
from citespan.guard.ticket import Ticket

TAG = Policy(mode="tag")
#: the tool that a value is tried on; nothing in its schema vouches for anything
USE = Tool("use", schema={"type": "object", "properties": {"value": {}}})


def parameters(*names: str, **described: Any) -> dict[str, Any]:
    """A tool's schema: arguments by name, and some with a schema of their own."""
    return {"type": "object", "properties": {**{name: {} for name in names}, **described}}


def tagging(**rules: ToolRule) -> Policy:
    """A policy that tags only, with rules for some tools."""
    return Policy(mode="tag", tools=rules)


def for_argument(tool: str, argument: str, rule: ArgumentRule, **more: Any) -> Policy:
    """A policy that enforces, with a rule for one argument of one tool."""
    return Policy(tools={tool: ToolRule(arguments={argument: rule}, **more)})


@contextmanager
def attached(context: Context) -> Iterator[None]:
    """Run a block under an OpenTelemetry context."""
    token = otel_context.attach(context)
    try:
        yield
    finally:
        otel_context.detach(token)


class Agent:
    """One run of one agent.

    Args:
        policy: tags only unless told otherwise. inputs: what the run declares.
    """

    def __init__(self, policy: Policy = TAG, **inputs: Any) -> None:
        self.run = Run(inputs=inputs, policy=policy)
        self.context = self.run.attach(Context())
        self._asking = Rulebook(policy.evolve(mode="tag"))

    def start(self, tool: Tool, arguments: Mapping[str, Any] | None = None, *, step: str | None = None) -> Ticket:
        """Begin a call; the test ends it."""
        with attached(self.context):
            return begin(tool, arguments, step=step)

    def call(
        self,
        tool: Tool,
        arguments: Mapping[str, Any] | None = None,
        result: Any = None,
        *,
        step: str | None = None,
        body: Callable[[], Any] | None = None,
    ) -> Decision:
        """A whole call that returns `result`, or what `body` returns under the call's context."""
        ticket = self.start(tool, arguments, step=step)
        if body is not None:
            with attached(ticket.context):
                result = body()
        ticket.finish(result)
        return ticket.decision

    def reads(self, tool: str, arguments: Mapping[str, Any], result: Any, *, step: str | None = None) -> Decision:
        """A call of a tool that is known to change nothing."""
        return self.call(Tool(tool, schema=parameters(*arguments), read_only=True), arguments, result, step=step)

    def writes(self, tool: str, arguments: Mapping[str, Any], result: Any, *, step: str | None = None) -> Decision:
        """A call of a tool that may change something."""
        return self.call(Tool(tool, schema=parameters(*arguments)), arguments, result, step=step)

    def fails(self, tool: str, arguments: Mapping[str, Any], error: BaseException) -> None:
        """A call of a tool that may change something, and raises."""
        self.start(Tool(tool, schema=parameters(*arguments)), arguments).fail(error)

    @contextmanager
    def step(self) -> Iterator[None]:
        """A block whose calls are one step."""
        before = self.context
        with attached(before), self.run.step():
            self.context = otel_context.get_current()
            try:
                yield
            finally:
                self.context = before

    def judge(self, arguments: Mapping[str, Any], tool: Tool = USE, *, step: str | None = None) -> Decision:
        """What would be decided in tag mode, without a call and without cost."""
        with attached(self.context):
            return judge(tool, arguments, step=step, rulebook=self._asking)

    def provenance(self, value: Any, *, step: str | None = None) -> Provenance:
        """Where a value would come from as the argument of `use`; of a value with several leaves, of the last one."""
        return self.judge({"value": value}, step=step).tags[-1].provenance

    def kind(self, value: Any, *, step: str | None = None) -> str:
        """The kind that a value would have as the argument of `use`."""
        return self.provenance(value, step=step).kind

    def why(self, value: Any) -> str:
        """Why a value would be assumed; "" where it is not."""
        found = self.provenance(value)
        return found.why if found.kind == "assumed" else ""

    def sources(self, value: Any) -> tuple[Source, ...]:
        """What a value would cite in the ledger."""
        found = self.provenance(value)
        return found.sources if isinstance(found, Observed) else ()

    def cites(self, value: Any) -> tuple[str, str]:
        """Path and projection of the source that is shown."""
        shown = self.sources(value)[0]
        return shown.path, shown.projection


def kinds(decision: Decision) -> dict[str, str]:
    """Exported path -> kind, of a decision's value leaves."""
    return {path_text(tag): tag.provenance.kind for tag in decision.tags}


def path_text(tag: Tag) -> str:
    """A leaf's path as text, and a mark for the leaf that a key is."""
    path = ".".join(map(str, tag.leaf.path))
    return path if tag.leaf.role == "value" else f"{path} (key)"


def ledger_of(*documents: Any, tool: str = "tool", bounds: Bounds | None = None, **record: Any) -> Ledger:
    """A ledger that holds some results of one tool."""
    ledger = Ledger(json.loads, bounds or Bounds())
    for document in documents:
        ledger.record(tool, json.dumps(document).encode(), **record)
    return ledger


def found(ledger: Ledger, value: Any) -> set[tuple[int, tuple[str | int, ...], str]]:
    """Every (observation, path, projection) that a value follows from."""
    return {spot(place) for place in ledger.view().find(value)}


def spot(place: Place) -> tuple[int, tuple[str | int, ...], str]:
    """A place as plain values."""
    return place.node.owner.ordinal, path_of(place), place.projection
