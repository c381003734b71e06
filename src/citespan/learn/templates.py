"""Templates: an uncited text that is a cited one between constant ends (`image_{id}.jpg`, `{date} 00:00`)."""

from __future__ import annotations

from typing import Any

from citespan.trajectories import Trajectory


def template(value: Any, trajectory: Trajectory, call: int) -> str | None:
    """The template by which a text follows from what earlier calls returned; None where there is none."""
    return None
