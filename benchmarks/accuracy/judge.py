"""What of a recorded call is refused."""

from __future__ import annotations

from citespan.core.decision import Decision, Tag
from citespan.learn.recorded import Moment, moments, put

__all__ = ["Moment", "moments", "put", "refused"]


def refused(decision: Decision, *, bare: bool = False) -> list[Tag]:
    """The leaves for which a call is refused where it is enforced; [] for one that passes.

    Args:
        bare: only a leaf that equals an observed one passes.
    """
    if not bare:
        return list(decision.counted)
    return [tag for tag in decision.tags if not _exact(tag)]


def _exact(tag: Tag) -> bool:
    found = tag.provenance
    return found.kind == "observed" and any(source.projection == "exact" for source in found.sources)
