"""The guard's own failures: what they decide, and how they are logged (design section 5.5)."""

from __future__ import annotations

import logging
import traceback
from pathlib import Path

from citespan.core.decision import Decision, Violation

logger = logging.getLogger("citespan")


def report(what: str, tool: str, error: BaseException) -> None:
    """Log a failure of our own by type and place; its text may hold an argument's value, and logs are exported."""
    place = "unknown place"
    if error.__traceback__ is not None:
        frame = traceback.extract_tb(error.__traceback__, limit=-1)[-1]
        place = f"{Path(frame.filename).name}:{frame.lineno}"
    logger.error("citespan %s %s: %s at %s", what, tool, type(error).__qualname__, place)


def broken(decision: Decision, why: str) -> Decision:
    """The guard's own failure: denies in enforce mode, is tagged `error` in tag mode (design section 5.5)."""
    deny = decision.mode == "enforce"
    return decision._replace(
        deny=deny,
        status="blocked" if deny else "error",
        violations=(*decision.violations, Violation("guard", (), f"guard={why}")),
    )
