"""`citespan show` on a large trace file, against a process that parses each of its lines with orjson (group 9).

Whole processes, start-up included: a person waits for that too. Their CPU time is taken in turn, as everywhere here.
"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from benchmarks.measure import Row, Scale, at_most, row
from citespan import semconv

GROUP: Final = "9. citespan show on a 200 MB trace file, against orjson"
SIZE: Final = 200_000_000
ROUNDS: Final = 5
PARSE: Final = "import orjson, sys\nfor line in open(sys.argv[1], 'rb'): orjson.loads(line)"
_START: Final = 1_796_144_130_000_000_000
_FOUND: Final = 1


class Shape(NamedTuple):
    """A trace file.

    Args:
        runs: how many traces its spans are of, in turn at random. blocked: the share of refused calls.
        batch: spans on a line. text: characters of a tool's description.
    """

    name: str
    runs: int
    blocked: float
    batch: int
    text: int


SHAPES: Final = (
    Shape("50 runs, 3 % blocked", 50, 0.03, 1, 300),
    Shape("50 runs, 3 % blocked, short spans", 50, 0.03, 1, 0),
    Shape("50 runs, 3 % blocked, 64 spans a line", 50, 0.03, 64, 300),
    Shape("one run, 3 % blocked", 1, 0.03, 1, 300),
    Shape("50 runs, every call blocked", 50, 1, 1, 300),
    Shape("one run, every call blocked", 1, 1, 1, 300),
    Shape("50 runs, none blocked", 50, 0, 1, 300),
)


def rows(scale: Scale) -> Iterator[Row]:
    """Measure the group."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.jsonl"
        for shape in SHAPES:
            newest = _write(file, shape, scale.of(SIZE))
            shown, parsed = _medians(file, min(scale.few, ROUNDS), newest)
            yield row(GROUP, shape.name, ("citespan show", shown), ("orjson.loads", parsed), at_most(1.5))


def _medians(file: Path, rounds: int, newest: str) -> tuple[float, float]:
    """The median CPU seconds of both processes. newest: the span that must be shown, "" for none."""
    samples: tuple[list[float], list[float]] = ([], [])
    show = [sys.executable, "-m", "citespan", "show", str(file)]
    for _ in range(rounds):
        seconds, done = _timed(show)
        if done.returncode != (_FOUND if newest else 0) or newest.encode() not in done.stdout:
            raise RuntimeError(f"not {newest or 'nothing'}, but exit code {done.returncode}: {done.stdout!r}")
        samples[0].append(seconds)
        seconds, done = _timed([sys.executable, "-c", PARSE, str(file)])
        samples[1].append(seconds)
    return statistics.median(samples[0]), statistics.median(samples[1])


def _timed(command: Sequence[str]) -> tuple[float, subprocess.CompletedProcess[bytes]]:
    before = os.times()
    done = subprocess.run(command, capture_output=True, check=False)
    after = os.times()
    taken = after.children_user - before.children_user + after.children_system - before.children_system
    return max(taken, 1e-3), done


def _write(file: Path, shape: Shape, size: int) -> str:
    """Write a trace file of about a size; the id of the last blocked span, "" for none."""
    rng = random.Random(9)
    runs = [f"{rng.getrandbits(128):032x}" for _ in range(shape.runs)]
    before = dict.fromkeys(runs, "00f067aa0ba902b7")
    newest, start, written = "", _START, 0
    with file.open("wb") as output:
        while written < size:
            spans = []
            for _ in range(shape.batch):
                start += rng.randrange(1_000_000, 1_000_000_000)
                run, span_id = rng.choice(runs), f"{rng.getrandbits(64):016x}"
                blocked = rng.random() < shape.blocked
                spans.append(_span(rng, run, span_id, start, before[run], blocked, shape.text))
                newest = span_id if blocked else newest
                before[run] = span_id
            written += output.write(_line(spans))
    return newest


def _line(spans: list[dict[str, Any]]) -> bytes:
    resource = {"telemetry.sdk.language": "python", "telemetry.sdk.name": "opentelemetry", "service.name": "agent"}
    scoped = {"scope": {"name": semconv.SCOPE, "version": "0.1.0"}, "spans": spans, "schemaUrl": semconv.SCHEMA_URL}
    group = {"resource": {"attributes": _attributes(resource)}, "scopeSpans": [scoped]}
    return orjson.dumps({"resourceSpans": [group]}, option=orjson.OPT_APPEND_NEWLINE)


def _span(
    rng: random.Random, run: str, span_id: str, start: int, source: str, blocked: bool, text: int
) -> dict[str, Any]:
    """The span of a call, as citespan writes it: one argument with a source or without, and one that is exempt."""
    tool = rng.choice(["patch_file", "list_files", "run_tests"])
    said: dict[str, Any] = {semconv.KIND + "path": "assumed" if blocked else "observed"}
    if not blocked:
        said[semconv.SOURCE_TOOL + "path"] = "list_files"
        said[semconv.SOURCE_FIELD + "path"] = "files.*"
        said[semconv.SOURCE_SPAN + "path"] = source
        said[semconv.DIGEST + "path"] = f"{rng.getrandbits(64):016x}"
    said |= {semconv.KIND + "comment": "assumed", semconv.AGENT_NAME: "coder", semconv.COUNT + "assumed": 1}
    if blocked:
        said |= {semconv.ASSUMED_FIELDS: ["path"], semconv.VIOLATIONS: ["assumed_fields=[path]"]}
        said[semconv.NEAREST + "path"] = ["list_files.files.*"]
    said |= {semconv.BUDGET: 0, semconv.POLICY: "5df9ede83b2a1977", semconv.MODE: "enforce"}
    said |= {semconv.STATUS: "blocked" if blocked else "ok", semconv.OPERATION: semconv.EXECUTE_TOOL}
    said |= {semconv.TOOL_DESCRIPTION: "Change a file. " + "x" * text} if text else {}
    said[semconv.TOOL_NAME] = tool
    made: dict[str, Any] = {
        "traceId": run,
        "spanId": span_id,
        "parentSpanId": "c1cd9803b42b3f0a",
        "flags": 256,
        "name": f"execute_tool {tool}",
        "kind": 1,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + 500_000),
        "attributes": _attributes(said),
    }
    if blocked:
        event = {semconv.ARGUMENT_NAME: "path", semconv.ARGUMENT_PATH: "path", semconv.TOOL_MUTATING: True}
        made["events"] = [{"timeUnixNano": str(start), "name": semconv.EVENT_UNCITED, "attributes": _attributes(event)}]
        return made | {"status": {"message": "denied", "code": 2}}
    link = _attributes({semconv.LINK_ARGUMENTS: ["path"], semconv.LINK_SOURCE_TOOL: "list_files"})
    made["links"] = [{"traceId": run, "spanId": source, "attributes": link, "flags": 256}]
    return made | {"status": {}}


def _attributes(said: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(each)} for key, each in said.items()]


def _value(said: Any) -> dict[str, Any]:
    if isinstance(said, bool):
        return {"boolValue": said}
    if isinstance(said, int):
        return {"intValue": str(said)}
    if isinstance(said, list):
        return {"arrayValue": {"values": [_value(each) for each in said]}}
    return {"stringValue": said}
