"""Recording a result, and the first decision after it, against reading the same JSON (groups 3 and 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import orjson

from benchmarks.data import Maker, Sample
from benchmarks.measure import Row, Scale, Side, Work, always, at_least, at_most, medians, row
from benchmarks.setting import DIGEST_KEY, PATIENT, inside, registered
from benchmarks.straightforward import Straightforward
from citespan.core.decision import Decision
from citespan.core.kinds import Observed
from citespan.guard.examine import judge
from citespan.guard.guard import begin
from citespan.guard.ports import Tool
from citespan.guard.run import Run

GROUP = "3. a result of 20,000 leaves, against orjson.loads"
PLAIN_GROUP = "4. the same rules written plainly"
LEAVES = 20_000
FIRST_DECISION = {"records": 5, "prose": 5, "paths": 20}

FETCH = Tool("fetch")
USE = Tool("use", schema={"type": "object", "properties": {"value": {"type": "string"}}})


def _recording(name: str, result: Any, value: str | None = None) -> Side:
    """Keep a result in a new run; with a value, decide about a call that passes it on."""

    @contextmanager
    def opened() -> Iterator[Work]:
        run = Run(policy=PATIENT, kept=True)
        with registered(), inside(run) as context:
            ticket = begin(FETCH, {})

            def work() -> Decision | None:
                ticket.finish(result)
                return None if value is None else judge(USE, {"value": value}, context=context)

            yield work

    return Side(name, opened)


def _plainly(name: str, result: Any, value: str) -> Side:
    @contextmanager
    def opened() -> Iterator[Work]:
        ledger = Straightforward(DIGEST_KEY)

        def work() -> Any:
            ledger.record("fetch", result)
            return ledger.cite(value)

        yield work

    return Side(name, opened)


def _check(sample: Sample) -> None:
    """Both ways must give one answer, or they are not the same rules."""
    for value in (sample.hit, sample.miss):
        with _recording("", sample.result, value).opened() as work:
            decision: Any = work()
        with _plainly("", sample.result, value).opened() as work:
            entry: Any = work()
        provenance = decision.tags[0].provenance
        source = provenance.sources[0] if type(provenance) is Observed else None
        ours = None if source is None else (source.field, source.path, source.projection)
        plain = None if entry is None else (entry.field, entry.path, entry.projection)
        if ours != plain or (source is not None) != (value == sample.hit):
            raise RuntimeError(f"{sample.name}: {value!r} is {ours} for citespan and {plain} otherwise")
        if source is not None and source.projection != sample.projection:
            raise RuntimeError(f"{sample.name}: cited by {source.projection}, not by {sample.projection}")


def rows(scale: Scale) -> Iterator[Row]:
    """Measure group 3."""
    for sample in Maker().samples(scale.of(LEAVES)):
        _check(sample)
        data = orjson.dumps(sample.result)
        sides = [
            _recording("record", sample.result),
            Side("orjson.loads", always(_loads(data))),
            _recording("record + hit", sample.result, sample.hit),
            _recording("record + miss", sample.result, sample.miss),
        ]
        taken = medians(sides, scale.rounds)
        recorded, loads, hit, miss = zip([side.name for side in sides], taken, strict=True)
        size = f"{sample.name}, {len(data) / 1e6:.2f} MB"
        first = at_most(FIRST_DECISION[sample.name])
        yield row(GROUP, f"{size}: recording", recorded, loads, at_most(2))
        yield row(GROUP, f"{size}: with the first decision, a hit", hit, loads, first)
        yield row(GROUP, f"{size}: with the first decision, a miss", miss, loads, first)


def _loads(data: bytes) -> Callable[[], Any]:
    return lambda: orjson.loads(data)


def plain_rows(scale: Scale) -> Iterator[Row]:
    """Measure group 4."""
    for sample in Maker().samples(scale.of(LEAVES)):
        sides = [
            _recording("citespan", sample.result, sample.hit),
            _plainly("written plainly", sample.result, sample.hit),
        ]
        ours, plain = zip([side.name for side in sides], medians(sides, scale.few), strict=True)
        yield row(PLAIN_GROUP, f"{sample.name}: recording and the first decision", plain, ours, at_least(5))
