"""What the calls of one run share: its ledger, inputs, messages, marks, budget, and its tools as first seen."""

from __future__ import annotations

import itertools
import json
import os
from collections import OrderedDict
from typing import Any, Final

import orjson

from citespan.core import locks
from citespan.core import schema as schemas
from citespan.core.budget import RunBudget
from citespan.core.classify import Scope
from citespan.core.fields import Catalogue
from citespan.core.ledger import Ledger
from citespan.core.policy import Bounds, Policy
from citespan.core.proposals import Approvals
from citespan.core.schema import Schema
from citespan.core.uncited import Marks
from citespan.core.user import UserText
from citespan.guard.ports import Tool

_MAX_STEPS: Final = 1024
_MAX_TOOLS: Final = 4096
#: calls whose bodies raised, and which their framework may try again
_MAX_FAILED: Final = 256
_INPUT_BOUNDS: Final = Bounds(bytes=8 * 1024 * 1024, leaves=200_000)


class Pinned:
    """A tool as first seen in a run: a schema member added later, or a hint flipped later, loosens nothing."""

    __slots__ = ("declared", "hint", "schema")

    def __init__(self, tool: Tool) -> None:
        frozen = None if tool.schema is None else _frozen(dict(tool.schema))
        self.schema: Schema = schemas.read(frozen)
        self.declared = self.schema.declared()
        self.hint = tool.hint


def _frozen(schema: dict[str, Any]) -> Any:
    try:
        return orjson.loads(orjson.dumps(schema))
    except TypeError:  # integers over 64 bits
        return json.loads(json.dumps(schema))


class RunState:
    """Everything that calls of one run share. Made by the outermost run, lent to nested ones."""

    def __init__(self, policy: Policy) -> None:
        self.ledger = Ledger(orjson.loads, policy.bounds)
        self.given = Ledger(orjson.loads, _INPUT_BOUNDS)
        self.said = UserText()
        self.marks = Marks()
        #: what the ledger's fields are, for the advice after a refusal
        self.catalogue = Catalogue(self.marks)
        self.approvals = Approvals()
        self.budget = RunBudget(policy.run_max_assumed, policy.run_max_refused)
        self._pinned: dict[tuple[str | None, str], Pinned] = {}
        self._steps: OrderedDict[str, int] = OrderedDict()
        self._failed: OrderedDict[str, object] = OrderedDict()
        self._lock = locks.lock()
        self.step_numbers = itertools.count()
        #: the outermost run is over: nobody joins it any more
        self.closed = False
        self.process = os.getpid()

    def pin(self, tool: Tool) -> Pinned:
        """The tool as first seen; one whose schema nobody knew yet is looked at again."""
        key = (tool.server, tool.name)
        pinned = self._pinned.get(key)
        if pinned is not None and tool.hint is False:
            pinned.hint = False  # a hint that turns stricter is believed
        if pinned is None or (not pinned.schema.charted and tool.schema is not None):
            hint = tool.hint if pinned is None else pinned.hint
            pinned = Pinned(tool._replace(hint=hint))
            if len(self._pinned) < _MAX_TOOLS:
                self._pinned[key] = pinned
        return pinned

    def moment(self, step: str | None) -> int:
        """The ledger's moment that calls of a step see: the one at which its first call started."""
        if step is None:
            return self.ledger.moment()
        with self._lock:
            moment = self._steps.get(step)
            if moment is None:
                moment = self._steps[step] = self.ledger.moment()
                if len(self._steps) > _MAX_STEPS:
                    self._steps.popitem(last=False)
            return moment

    def failed(self, call_id: str, ticket: object) -> None:
        """Keep a call whose body raised, for the framework's next try of it; the oldest is forgotten beyond a bound."""
        with self._lock:
            self._failed[call_id] = ticket
            if len(self._failed) > _MAX_FAILED:
                self._failed.popitem(last=False)

    def take_failed(self, call_id: str) -> object | None:
        """The call of this id whose body raised, once."""
        with self._lock:
            return self._failed.pop(call_id, None)

    def scope(self, step: str | None, moment: int | None = None) -> Scope:
        """What a call of this step may cite; without a step one that started at `moment`, by default now."""
        return Scope(
            self.ledger.view(self.moment(step) if moment is None else moment),
            self.given.view(),
            self.said,
            self.marks,
            self.approvals,
            True,
        )


def no_run_scope() -> Scope:
    """What a call outside any run may cite: nothing but its schema (design section 2: no ledger, no citation)."""
    empty = Ledger(orjson.loads, Bounds())
    return Scope(empty.view(), empty.view(), UserText(), Marks(), Approvals(), False)
