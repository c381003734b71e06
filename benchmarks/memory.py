"""What a ledger holds, as tracemalloc and sys.getsizeof count it (group 5)."""

from __future__ import annotations

import gc
import random
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import orjson

from benchmarks.data import Maker, Sample
from benchmarks.measure import Row, Scale, Target, at_most, row
from benchmarks.setting import PATIENT, registered
from citespan.core.ledger import Ledger
from citespan.core.policy import Bounds, Policy, ToolRule
from citespan.guard.examine import judge
from citespan.guard.guard import begin
from citespan.guard.ports import Tool
from citespan.guard.run import Run
from citespan.guard.snapshot import Recorded, read_result

GROUP = "5. memory that a ledger holds, against the JSON's size"
LEAVES = 20_000
SMALL_RESULTS = 1_000
USE = Tool("use", schema={"type": "object", "properties": {"value": {"type": "string"}}})
TEXT = Policy(tools={"fetch": ToolRule(text=("lines", "paths", "tokens"))})


def _held(make: Callable[[], Any]) -> int:
    """Bytes that what `make` returns keeps allocated."""
    gc.collect()
    tracemalloc.start()
    try:
        kept = make()
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
        del kept
    finally:
        tracemalloc.stop()
    return held


def _recorded(result: Any, value: Any = None, policy: Policy = PATIENT) -> Run:
    with registered():
        run = Run(policy=policy, kept=True)
        with run:
            begin(Tool("fetch"), {}).finish(result)
            if value is not None:
                judge(USE, {"value": value})
    return run


def _row(name: str, held: int, size: int, target: Target | None) -> Row:
    return row(GROUP, name, ("held", held), ("JSON", size), target, "bytes")


def rows(scale: Scale) -> Iterator[Row]:
    """Measure group 5."""
    _recorded({"warm": ["up", "a/b.py"]}, "up")
    for sample in Maker().samples(scale.of(LEAVES)):
        yield from _of(sample)
    text = Maker().log(scale.of(1_000_000))
    size = len(orjson.dumps({"text": text}))
    line = text.splitlines()[10]
    yield _row(
        "log text with lines, paths, tokens: after the first decision",
        _held(lambda: _recorded({"text": text}, line, TEXT)),
        size,
        None,
    )
    yield from _small(scale)


def _of(sample: Sample) -> Iterator[Row]:
    result, data = sample.result, orjson.dumps(sample.result)
    name, size = sample.name, len(data)
    yield _row(f"{name}: recorded", _held(lambda: _recorded(result)), size, at_most(5))
    yield _row(f"{name}: after the first decision", _held(lambda: _recorded(result, sample.hit)), size, at_most(5))
    yield _row(f"{name}: orjson.loads alone", _held(lambda: orjson.loads(data)), size, None)


def _small(scale: Scale) -> Iterator[Row]:
    """Results of 30 to 200 bytes that nobody has asked for: their bytes must be exactly their JSON."""
    pick, maker = random.Random(13), Maker()
    count = scale.of(SMALL_RESULTS)
    results = [{"id": number, "note": maker.sentence(9, 13)[: pick.randint(5, 170)]} for number in range(count)]
    size = sum(len(orjson.dumps(result)) for result in results)

    def kept() -> tuple[Ledger, list[bytes]]:
        ledger = Ledger(orjson.loads, Bounds())
        blobs: list[bytes] = []
        for result in results:
            reading = read_result(result)
            assert isinstance(reading, Recorded)
            observation = ledger.record("fetch", reading.data)
            if observation is not None and observation.data is not None:
                blobs.append(observation.data)
        return ledger, blobs

    _, blobs = kept()
    held = sum(sys.getsizeof(data) - sys.getsizeof(b"") for data in blobs)
    yield _row(f"{count:,} small results: their data objects", held, size, at_most(1))
    yield _row(f"{count:,} small results: the whole ledger", _held(kept), size, None)
