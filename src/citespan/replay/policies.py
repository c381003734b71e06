"""Which policy judges a trajectory: the named one, else the recording's own, else the environment's."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import Final

from citespan.core.policy import Output, Policy
from citespan.core.resolve import Resolved, Rulebook
from citespan.errors import PolicyError, TraceFileError
from citespan.policy_file import loads
from citespan.trajectories import Trajectory

#: recordings share few policies; each that is kept has its rules resolved already
MAX_KEPT: Final = 64


class AsRecorded(Rulebook):
    """A policy that believes every read-only hint: those of a recording are trusted as given (design section 7).

    Such tools run in tag mode. A table that says `read_only = false` still wins.
    """

    __slots__ = ()

    def tool(
        self,
        tool: str,
        server: str | None,
        output: Output | None = None,
        read_only: bool | None = None,
        confirms: tuple[str, ...] = (),
    ) -> Resolved:
        """See `Rulebook.tool`."""
        found = super().tool(tool, server, output, read_only, confirms)
        return found if found.hint_trusted else replace(found, hint_trusted=True)


class Policies:
    """Finds and keeps the policies of a replay.

    Args:
        named: judges every trajectory, whatever it brings along; None where none was named.
        fallback: judges trajectories that bring no policy.

    Example:
        `Policies(None, Policy()).of(trajectory)`
    """

    def __init__(self, named: Policy | None, fallback: Policy) -> None:
        self._named = None if named is None else AsRecorded(named)
        self._fallback = AsRecorded(fallback)
        self._kept: OrderedDict[str, AsRecorded] = OrderedDict()

    def of(self, trajectory: Trajectory) -> AsRecorded:
        """The rules for a trajectory, known to hold for every tool that it calls.

        Raises:
            TraceFileError: its own policy has mistakes, or two rules tie for a tool that it calls.
        """
        if self._named is not None:
            book = self._named
        elif trajectory.policy is None:
            book = self._fallback
        else:
            book = self._own(trajectory.policy, trajectory.place)
        try:
            for name, server in dict.fromkeys((call.name, call.server) for call in trajectory.calls):
                book.tool(name, server)
        except PolicyError as error:
            raise TraceFileError(f"{trajectory.place}: {error}") from error
        return book

    def _own(self, text: str, place: str) -> AsRecorded:
        book = self._kept.get(text)
        if book is None:
            try:
                book = AsRecorded(loads(text, f"{place}: policy"))
            except PolicyError as error:
                raise TraceFileError(str(error)) from error
            self._kept[text] = book
            if len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(text)
        return book
