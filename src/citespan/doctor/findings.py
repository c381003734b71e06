"""What `citespan doctor` finds, as values."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

Area: TypeAlias = Literal["versions", "policy", "evidence", "telemetry", "context"]
State: TypeAlias = Literal["ok", "note", "problem"]
FrameworkState: TypeAlias = Literal["guarded", "supported", "unsupported", "absent", "broken"]


class Finding(NamedTuple):
    """One thing that was looked at.

    Args:
        area: the heading that it stands under. name: what was looked at. state: "problem" makes the exit code 1.
        text: what was found; no argument value and no secret. advice: what to do about it, "" where nothing.
    """

    area: Area
    name: str
    state: State
    text: str
    advice: str = ""


class Framework(NamedTuple):
    """What holds for the tool calls of one framework.

    Args:
        state: "guarded": its wrappers were put in place, and taken away again, when it was tried; "supported": its
            version is, nothing was tried; "unsupported"; "absent"; "broken": it was tried and failed.
        version: installed, None where it is not. supported: which versions are. reason: why it is not guarded.
        mode, policy: what judges its calls where the Python API is used.
        note: what holds instead of the two where no policy is named, or it cannot be used; else "".
        wraps: what is replaced. scopes: whose spans are taken for guarded.
        covers, misses, run, step, tell, abort: see `citespan.instrument._patch.Adapter`.
    """

    name: str
    title: str
    distribution: str
    state: FrameworkState
    version: str | None
    supported: str
    reason: str
    mode: str
    policy: str
    note: str
    wraps: tuple[str, ...]
    scopes: tuple[str, ...]
    covers: str
    misses: str
    run: str
    step: str
    tell: str
    abort: str


class Health(NamedTuple):
    """Everything that was found."""

    frameworks: tuple[Framework, ...]
    findings: tuple[Finding, ...]

    @property
    def healthy(self) -> bool:
        """Whether nothing that was asked for is missing."""
        broken = any(framework.state in {"unsupported", "broken"} for framework in self.frameworks)
        return not broken and all(finding.state != "problem" for finding in self.findings)
