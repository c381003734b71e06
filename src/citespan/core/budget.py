"""The budget of a run, taken atomically: concurrent calls cannot share one free slot (design section 5)."""

from __future__ import annotations

from citespan.core import locks


class RunBudget:
    """How many uncited leaves a run may still let through, and how many calls it has refused.

    Example:
        >>> budget = RunBudget(max_assumed=1, max_refused=20)
        >>> budget.take(1), budget.take(1)
        (True, False)
    """

    __slots__ = ("_free", "_lock", "_max_refused", "_over", "refused")

    def __init__(self, max_assumed: int, max_refused: int) -> None:
        self._free = max_assumed
        self._max_refused = max_refused
        self._lock = locks.lock()
        self._over = False
        self.refused = 0

    @property
    def stopped(self) -> bool:
        """Whether the run is over: a refusal aborted it, or there were more refusals than it may have."""
        return self._over or self.refused > self._max_refused

    def stop(self) -> None:
        """End the run: in enforce mode nothing runs any more."""
        self._over = True

    def take(self, leaves: int) -> bool:
        """Take `leaves` at once, or none of them."""
        with self._lock:
            if leaves > self._free:
                return False
            self._free -= leaves
            return True

    def give_back(self, leaves: int) -> None:
        """Return what a call took that was refused after all."""
        with self._lock:
            self._free += leaves

    def forgive(self) -> None:
        """Take back one refusal: a person approved the call after all."""
        with self._lock:
            self.refused = max(0, self.refused - 1)

    def refuse(self) -> bool:
        """Count one refused call; True when the run has now had too many and must stop."""
        with self._lock:
            self.refused += 1
            return self.refused > self._max_refused
