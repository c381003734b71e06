"""One run of the scripted agent: guarded, traced to a file, with the repository before and after it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_ON

from citespan.core.decision import Decision
from citespan.core.policy import Policy
from citespan.demo.agent import BRANCH, Answer, Script, play
from citespan.demo.repository import SECRET, State, git, state
from citespan.errors import CitespanError
from citespan.guard.ports import CallSpan, RunSpan, Telemetry, ToolCall
from citespan.guard.run import Run
from citespan.otel.telemetry import OtelTelemetry
from citespan.traces.file_exporter import OtlpJsonFileExporter

SERVICE: Final = "citespan-demo"
SECONDS: Final = 60.0


class Rehearsal(NamedTuple):
    """What came of one run.

    Args:
        name: the run's name. trace: its OTLP/JSON lines file.
        decisions: of every call, in order. answers: what the agent was told by every call.
        before: the repository when the run started; after: when it had ended.
    """

    name: str
    trace: Path
    decisions: tuple[Decision, ...]
    answers: tuple[Answer, ...]
    before: State
    after: State


class Recorder:
    """Telemetry that also keeps the decisions: the table shows what the spans say, and the values."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        self.decisions: list[Decision] = []

    def start_call(self, call: ToolCall, decision: Decision, context: Context, *, guard_seconds: float) -> CallSpan:
        """Keep the decision, and trace the call."""
        self.decisions.append(decision)
        return self._telemetry.start_call(call, decision, context, guard_seconds=guard_seconds)

    def start_run(self, name: str | None, run_id: str | None, context: Context) -> RunSpan:
        """Trace the run."""
        return self._telemetry.start_run(name, run_id, context)


def rehearse(
    name: str,
    script: Script,
    root: Path,
    *,
    policy: Policy,
    trace: Path,
    processors: Sequence[SpanProcessor] = (),
) -> Rehearsal:
    """Let a script work on a repository, in a run of its own, with a tracer provider of its own.

    Args:
        name: the run's name. root: the repository. trace: the file to write.
        processors: where the spans go besides.

    Raises:
        CitespanError: the MCP server did not answer in time.
    """
    provider = TracerProvider(sampler=ALWAYS_ON, resource=Resource.create({"service.name": SERVICE}))
    provider.add_span_processor(SimpleSpanProcessor(OtlpJsonFileExporter(trace)))
    for processor in processors:
        provider.add_span_processor(processor)
    recorder = Recorder(OtelTelemetry(provider))
    before = state(root)
    try:
        with Run(name, {"repo_path": str(root), "branch": BRANCH}, policy, telemetry=recorder):
            answers = asyncio.run(asyncio.wait_for(play(script, root), SECONDS))
    except TimeoutError:
        raise CitespanError(f"mcp-server-git did not answer within {SECONDS:.0f} s") from None
    finally:
        provider.shutdown()
    return Rehearsal(name, trace, tuple(recorder.decisions), tuple(answers), before, state(root))


def surprises(good: Rehearsal, bad: Rehearsal, root: Path) -> list[str]:
    """Everything that did not go as the demo is designed; nothing where it all did."""
    found: list[str] = []
    if [decision.status for decision in good.decisions] != ["ok"] * 5:
        found.append(f"{good.name}: every call should have been let through")
    if any(answer.is_error for answer in good.answers):
        found.append(f"{good.name}: a call failed")
    committed = git(root, "show", "--name-only", "--format=", good.after.head).split()
    if good.after.head == good.before.head or committed != ["CHANGELOG.md", "src/app.py"]:
        found.append(f"{good.name}: the two named files should have been committed")
    if [decision.status for decision in bad.decisions] != ["ok", "blocked", "blocked", "blocked"]:
        found.append(f"{bad.name}: the first call should have been let through, the others blocked")
    if bad.after != bad.before or SECRET in bad.after.entries:
        found.append(f"{bad.name}: the repository should not have changed")
    return found
