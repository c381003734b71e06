"""What a guarded process says when it ends: a refusal that a framework told the model alone is seen by nobody else."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Mapping

from citespan.guard.registry import Tally, registry


def say_at_end() -> None:
    """Say on standard error, when this process ends, how many calls were refused or flagged; nothing where none was."""
    process = os.getpid()

    def say() -> None:
        # a forked child that ends this way would say its parent's figures again
        if os.getpid() == process and (text := farewell(registry.tally, str(registry.evidence or ""))):
            sys.stderr.write(text)

    atexit.register(say)


def farewell(tally: Tally, evidence: str) -> str:
    """The lines to say.

    Example:
        >>> counted = Tally()
        >>> counted.refused["patch_file"] = 2
        >>> farewell(counted, "evidence.jsonl")
        'citespan: 2 calls were refused (patch_file); see evidence.jsonl\\n'
    """
    where = f"; see {evidence}" if evidence else ""
    lines = [
        f"citespan: {_counted(counts, passive)}{where}\n"
        for counts, passive in (
            (tally.refused, ("was refused", "were refused")),
            (
                tally.flagged,
                ("ran and would be refused where enforced", "ran and would be refused where enforced"),
            ),
        )
        if counts
    ]
    return "".join(lines)


def _counted(counts: Mapping[str, int], passive: tuple[str, str]) -> str:
    number = sum(counts.values())
    noun, verb = ("call", passive[0]) if number == 1 else ("calls", passive[1])
    return f"{number} {noun} {verb} ({', '.join(counts)})"
