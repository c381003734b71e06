"""Every error that citespan raises on purpose, each with the exit code of design section 7.

`ProvenanceDenied` carries a decision and therefore lives in `citespan.core.decision`.
"""

from __future__ import annotations

from typing import NamedTuple

EXIT_OK = 0
EXIT_VIOLATIONS = 1
EXIT_INCOMPLETE = 2
EXIT_USAGE = 64
EXIT_BAD_INPUT = 65
EXIT_NOT_GUARDED = 78


class CitespanError(Exception):
    """Base of all deliberate errors; `exit_code` is what a command ends with (sysexits numbering)."""

    exit_code: int = EXIT_BAD_INPUT


class Problem(NamedTuple):
    """One mistake in an input file.

    Args:
        key: dotted key or column that is wrong, `""` for the whole file.
        message: what is wrong and what would be right; never a secret value.
        line: 1-based line, or None where no line can be named.
    """

    key: str
    message: str
    line: int | None = None

    def render(self, source: str) -> str:
        """`source:line: key: message`, the form that editors and CI logs link."""
        place = source if self.line is None else f"{source}:{self.line}"
        return f"{place}: {self.key}: {self.message}" if self.key else f"{place}: {self.message}"


class PolicyError(CitespanError):
    """A policy that cannot be used. All of its problems at once (design section 3)."""

    def __init__(self, source: str, problems: tuple[Problem, ...]) -> None:
        self.source = source
        self.problems = problems
        super().__init__("\n".join(problem.render(source) for problem in problems))

    def __reduce__(self) -> tuple[type[PolicyError], tuple[str, tuple[Problem, ...]]]:
        return type(self), (self.source, self.problems)


class PolicyNotFound(PolicyError):
    """A policy was named but is not there: running without it would be running unguarded (exit 78)."""

    exit_code = EXIT_NOT_GUARDED


class TraceFileError(CitespanError):
    """A trace, evidence or trajectory file that cannot be read; file, line and reason are in the text."""


class Incomplete(CitespanError):
    """A file that can be read holds nothing to answer from; that is no success (exit 2)."""

    exit_code = EXIT_INCOMPLETE


class UnknownTool(CitespanError, LookupError):
    """The called tool does not exist; the message lists those that do."""

    exit_code = EXIT_USAGE


class UsageError(CitespanError, ValueError):
    """The library was called in a way that cannot mean anything."""

    exit_code = EXIT_USAGE


class ArgumentsTooLarge(CitespanError, ValueError):
    """A call's arguments are over the bounds within which the guard can judge them, so it denies."""


class NotGuarded(CitespanError):
    """A guard that was asked for could not be installed (exit 78)."""

    exit_code = EXIT_NOT_GUARDED
