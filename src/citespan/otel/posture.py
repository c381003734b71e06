"""Telemetry never raises: the one place where that is written down (design section 5).

A failure is logged once per kind through the logger `citespan`, then the caller gets the fallback. The text
carries the class of the failure and no message: a message may hold an argument's value.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

logger: Final = logging.getLogger("citespan")


@functools.lru_cache(maxsize=256)
def _log_once(where: str, failure: str) -> None:
    logger.warning("%s failed (%s); the tool call is not affected. Logged once.", where, failure)


def report(where: str, error: BaseException) -> None:
    """Log a failure of telemetry once per place and class."""
    _log_once(where, type(error).__qualname__)


def forget_reports() -> None:
    """Let every kind of failure be logged again (for tests)."""
    _log_once.cache_clear()


def never_raises(fallback: Callable[[], R]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function of the telemetry so that it cannot fail its caller.

    `KeyboardInterrupt`, `SystemExit` and cancellation still pass: they are not failures of telemetry.

    Args:
        fallback: makes what the caller gets instead of a result.

    Example:
        >>> @never_raises(lambda: 0)
        ... def size(text: str) -> int:
        ...     return len(text)
        >>> size("ab")
        2
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        where = function.__qualname__

        @functools.wraps(function)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except Exception as error:
                report(where, error)
                return fallback()

        return guarded

    return decorate


def nothing() -> None:
    """The fallback of a function without a result."""
