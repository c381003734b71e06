"""Trajectory files: recorded runs of agents as JSON lines (design section 7), read one at a time and checked whole."""

from citespan.trajectories.model import RecordedCall, RecordedTool, Trajectory
from citespan.trajectories.reader import MAX_LINE, STANDARD_INPUT, read_trajectories

__all__ = ["MAX_LINE", "STANDARD_INPUT", "RecordedCall", "RecordedTool", "Trajectory", "read_trajectories"]
