"""Replay: the recorded calls of a trajectory, judged as if they were live (design section 7)."""

from citespan.replay.judge import Judged, judge_recorded, replay
from citespan.replay.policies import AsRecorded, Policies
from citespan.replay.render import call_line
from citespan.replay.summary import Tally, render

__all__ = ["AsRecorded", "Judged", "Policies", "Tally", "call_line", "judge_recorded", "render", "replay"]
