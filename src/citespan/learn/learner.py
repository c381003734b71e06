"""The learner: recorded runs in, one at a time; a draft of a policy out."""

from __future__ import annotations

from typing import Final

from citespan.calls import Call
from citespan.learn import traced
from citespan.learn.collect import Collector, Seen
from citespan.learn.decide import Decider
from citespan.learn.draft import Draft
from citespan.learn.evidence import Evidence
from citespan.learn.profiles import PROFILES, ProfileName
from citespan.learn.tasks import Tasks
from citespan.trajectories import Trajectory

#: traces that are told apart; spans of further ones are left out
MAX_TRACES: Final = 1_000_000


class Learner:
    """Learns from runs as they come, in bounded memory. `tasks` says which of them are near-copies.

    Example:
        `learner.add(trajectory)` ... `learner.draft("balanced")`
    """

    def __init__(self) -> None:
        self._collector = Collector()
        self._evidence = Evidence()
        self.tasks = Tasks()
        self._runs = 0
        self._traces: dict[str, int] = {}
        #: run of a trace -> its calls with the digests of their arguments, in any order
        self._calls: dict[int, int] = {}

    def add(self, trajectory: Trajectory) -> None:
        """Learn from one recorded run."""
        self.take(self._collector.see(trajectory), self.tasks.add(trajectory))

    def take(self, seen: Seen, run: int) -> None:
        """Learn from what a run showed."""
        self._runs += 1
        self.offer(seen)
        for fact in seen.facts:
            self._evidence.add(fact, run)
        for output in seen.outputs:
            self._evidence.output(output)

    def offer(self, seen: Seen) -> None:
        """Learn which tools there are from what a run showed, and nothing of what they were called with."""
        evidence = self._evidence
        for name, arguments in seen.declared.items():
            evidence.declared[name] = evidence.declared.get(name, frozenset()) | arguments
        for name, read_only in seen.read_only.items():
            evidence.read_only[name] = read_only and evidence.read_only.get(name, True)

    def add_call(self, call: Call) -> None:
        """Learn from one call of a trace; those that citespan did not judge say nothing."""
        if not traced.is_judged(call):
            return
        run = self._traces.get(call.trace_id)
        if run is None:
            if len(self._traces) >= MAX_TRACES:
                self._evidence.full = True
                return
            run = self._traces[call.trace_id] = self.tasks.join(())
            self._runs += 1
        self._calls[run] = self._calls.get(run, 0) + traced.key(call)
        if call.mutating is not None:
            self._evidence.read_only[call.tool] = not call.mutating and self._evidence.read_only.get(call.tool, True)
        for fact in traced.facts(call):
            self._evidence.add(fact, run)

    def draft(self, profile: ProfileName) -> Draft:
        """What the policy would say."""
        self._join_traces()
        decider = Decider(self._evidence, self.tasks, PROFILES[profile])
        full = self._evidence.full or any(place.full for place in self._evidence.places.values())
        return Draft(profile, self._runs, len(self.tasks), decider.tools(), bool(self._traces), full)

    def _join_traces(self) -> None:
        """Traces with the same calls and digests are near-copies."""
        first: dict[int, int] = {}
        for run, calls in self._calls.items():
            self.tasks.same(run, first.setdefault(calls, run))
