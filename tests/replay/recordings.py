"""Recorded runs in few words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from citespan.core.policy import Policy
from citespan.replay import Judged, Policies, replay
from citespan.trajectories import Trajectory
from citespan.trajectories.parse import parse

#: what a refusal says that a guard of another make wrote
REFUSED = "refused: the path is in no result"


def call(tool: str, *, turn: int = 0, step: Any = None, error: Any = None, result: Any = None, **arguments: Any) -> Any:
    """One recorded call; keywords that are not its own are the call's arguments."""
    return {"tool": tool, "arguments": arguments, "result": result, "error": error, "turn": turn, "step": step}


def run(*calls: Any, said: tuple[str, ...] = (), hints: Mapping[str, bool] | None = None, **keys: Any) -> Trajectory:
    """A run of these calls. Each tool's schema names the arguments that it is called with."""
    tools: dict[str, Any] = {}
    for one in calls:
        schema = tools.setdefault(one["tool"], {"parameters": {"type": "object", "properties": {}}})
        schema["parameters"]["properties"].update({name: {} for name in one["arguments"]})
    for tool, hint in (hints or {}).items():
        tools[tool]["annotations"] = {"readOnlyHint": hint}
    record = {"id": "r1", "user_messages": said, "tools": tools, "calls": calls, **keys}
    return parse(json.dumps(record).encode(), "runs.jsonl:1")


def judged(trajectory: Trajectory, policy: Policy | None = None) -> list[Judged]:
    """Every call of a run, judged by a policy, by default the defaults."""
    return list(replay(trajectory, Policies(policy, Policy()).of(trajectory)))


def statuses(trajectory: Trajectory, policy: Policy | None = None) -> list[str]:
    return [one.decision.status for one in judged(trajectory, policy)]


def kinds(trajectory: Trajectory, policy: Policy | None = None) -> list[str]:
    """Kinds of the leaves of the last call."""
    return [tag.provenance.kind for tag in judged(trajectory, policy)[-1].decision.tags]
