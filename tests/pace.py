"""A measure of this machine's pace, so that a bound on time is a ratio of two things done in one run."""

from __future__ import annotations

import time


def pace() -> float:
    """CPU seconds of a fixed piece of plain Python work: the median of three."""
    taken = []
    for _ in range(3):
        started = time.process_time()
        total = 0
        for number in range(500_000):
            total += number
        taken.append(time.process_time() - started)
    return sorted(taken)[1]
