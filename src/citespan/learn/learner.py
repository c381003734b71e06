"""The learner: recorded runs in, one at a time; a draft of a policy out."""

from __future__ import annotations

from citespan.learn.collect import Collector, Seen
from citespan.learn.decide import Decider
from citespan.learn.draft import Draft
from citespan.learn.evidence import Evidence
from citespan.learn.profiles import PROFILES, ProfileName
from citespan.learn.tasks import Tasks
from citespan.trajectories import Trajectory


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

    def add(self, trajectory: Trajectory) -> None:
        """Learn from one recorded run."""
        self.take(self._collector.see(trajectory), self.tasks.add(trajectory))

    def take(self, seen: Seen, run: int) -> None:
        """Learn from what a run showed."""
        self._runs += 1
        evidence = self._evidence
        for name, arguments in seen.declared.items():
            evidence.declared[name] = evidence.declared.get(name, frozenset()) | arguments
        for name, read_only in seen.read_only.items():
            evidence.read_only[name] = read_only and evidence.read_only.get(name, True)
        for fact in seen.facts:
            evidence.add(fact, run)
        for output in seen.outputs:
            evidence.output(output)

    def draft(self, profile: ProfileName) -> Draft:
        """What the policy would say."""
        decider = Decider(self._evidence, self.tasks, PROFILES[profile])
        full = self._evidence.full or any(place.full for place in self._evidence.places.values())
        return Draft(profile, self._runs, len(self.tasks), decider.tools(), full=full)
