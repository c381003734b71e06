"""Questions about traces and their answers: the store, the audits that are made when asked for, and their states.

No answer is `clean` unless the spans that came make a closed run, all of them are here, and none came just now.
Audits run in threads, each within its time; the store is only touched in the event loop.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, Literal, NamedTuple, TypeAlias, TypeVar

from citespan import report
from citespan.core.policy import Policy
from citespan.errors import EXIT_VIOLATIONS
from citespan.serve.bodies import Encoding, unzip
from citespan.serve.judge import Judgement, TooSlow, calls_of, judge
from citespan.serve.limits import Limits
from citespan.serve.packed import Batch
from citespan.serve.receive import Received, receive
from citespan.serve.store import Dropped, Reason, Store, Trace

_log = logging.getLogger("citespan")

T = TypeVar("T")
Standing: TypeAlias = Literal["clean", "violations", "incomplete", "dropped"]

_LOST: Final[dict[Reason, str]] = {
    "memory": "spans that came earlier were dropped: the memory for traces was full",
    "traces": "spans that came earlier were dropped: there were too many traces",
    "age": "spans that came earlier were dropped: nothing had come for the trace in a long time",
}


class State(NamedTuple):
    """How a trace stands.

    Args:
        status: `incomplete` whenever something that is not here could change the verdict.
        reasons: why it is incomplete; empty otherwise.
        judged: the verdict on what is here; None where it could not be judged.
    """

    status: Standing
    reasons: tuple[str, ...]
    judged: Judgement | None


class Desk:
    """Takes spans and answers questions.

    Args:
        limits: of everything. policy: what calls are held against besides. clock: seconds that only go forward.
    """

    def __init__(self, limits: Limits, policy: Policy | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits = limits
        self.store = Store(limits)
        self._policy = policy
        self._clock = clock
        self._answers = _Answers(limits.answers)
        self._decoding = ThreadPoolExecutor(1, "decoding")
        self._judging = ThreadPoolExecutor(2, "judging")
        self._drawing = ThreadPoolExecutor(1, "drawing")  # a page takes many times the bytes of its trace

    def close(self) -> None:
        """Start nothing more; what runs ends within its time."""
        self._decoding.shutdown(cancel_futures=True)
        self._judging.shutdown(cancel_futures=True)
        self._drawing.shutdown(cancel_futures=True)

    async def take(self, body: bytes, encoding: Encoding, *, zipped: bool) -> Received:
        """Take in the spans of a body; what went over a limit of its trace counts as rejected.

        Raises:
            Undecodable, TooLarge: see `receive`.
        """
        loop = asyncio.get_running_loop()
        limit = self.limits.body
        found = await loop.run_in_executor(
            self._decoding, lambda: receive(unzip(body, limit) if zipped else body, encoding, self.limits)
        )
        refused = self.store.add(found.batches, lacking=found.lacking, now=self._clock(), time=time.time())
        if not refused:
            return found
        why = found.why or "the trace is over its limit of spans or bytes; it stays incomplete"
        return found._replace(rejected=found.rejected + refused, why=why)

    def find(self, trace_id: str) -> Trace | Dropped | None:
        """The trace, or that it was dropped; None for one that is unknown."""
        return self.store.find(trace_id, now=self._clock())

    def newest(self) -> Iterator[Trace]:
        """All traces, the one that was touched last first."""
        return self.store.newest(now=self._clock())

    def deadline(self) -> float:
        """When a question that is asked now has to be answered, on `time.monotonic`."""
        return time.monotonic() + self.limits.audit

    async def state(self, trace: Trace, deadline: float) -> State:
        """How a trace stands, judged anew where spans have come; `incomplete` where that takes too long."""
        judged = trace.judged
        if judged is not None and judged.key == self._key(trace):
            return self._state(trace, judged)
        return (await self.audit(trace, deadline))[0]

    async def audit(self, trace: Trace, deadline: float) -> tuple[State, bytes]:
        """The same, and the audit as `citespan audit --format json` writes it, `{}` where there is none."""
        key = self._key(trace)
        body = self._answers.get(trace.trace_id, key)
        if body is not None and trace.judged is not None and trace.judged.key == key:
            return self._state(trace, trace.judged), body
        try:
            judged, body = await self._judge(trace, key, deadline)
        except TooSlow:
            return self._state(trace, None, f"the audit did not end within {self.limits.audit:g} s: ask again"), b"{}"
        except Exception as error:  # hostile spans, a full disk: what cannot be judged is not clean
            _log.error("a trace could not be audited: %s", type(error).__name__)
            return self._state(trace, None, f"it could not be audited: {type(error).__name__}"), b"{}"
        trace.judged = judged
        self._answers.put(trace.trace_id, key, body)
        return self._state(trace, judged), body

    async def page(self, trace: Trace, deadline: float) -> str:
        """The report page of a trace.

        Raises:
            TooSlow: the deadline passed.
        """
        batches = tuple(trace.batches)
        title = f"trace {trace.trace_id}"
        work = partial(_drawn, batches, title, deadline)
        return await self._in_time(self._drawing, work, deadline)

    async def _judge(self, trace: Trace, key: tuple[int, ...], deadline: float) -> tuple[Judgement, bytes]:
        batches = tuple(trace.batches)
        cited = tuple(batch for each in self.store.cited(trace) for batch in each.batches)
        work = partial(judge, batches, cited, self._policy, key, deadline)
        return await self._in_time(self._judging, work, deadline)

    @staticmethod
    async def _in_time(pool: ThreadPoolExecutor, work: Callable[[], T], deadline: float) -> T:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TooSlow
        running = asyncio.get_running_loop().run_in_executor(pool, work)
        try:
            return await asyncio.wait_for(running, left)
        except TimeoutError:
            raise TooSlow from None

    def _key(self, trace: Trace) -> tuple[int, ...]:
        """What a verdict on a trace rests on: which spans of it are here, and of the traces that it cites."""
        cited = ((each.serial, each.spans) for each in self.store.cited(trace))
        return trace.serial, trace.spans, *(number for pair in cited for number in pair)

    def _state(self, trace: Trace, judged: Judgement | None, *unjudged: str) -> State:
        quiet = self._clock() - trace.touched
        reasons = list(unjudged)
        if trace.lost is not None:
            reasons.append(_LOST[trace.lost])
        if trace.refused:
            reasons.append(f"{trace.refused} spans were refused: the trace is over its limit of spans or bytes")
        if trace.unusable:
            reasons.append(f"{trace.unusable} spans came that cannot be used")
        if judged is not None and judged.incomplete:
            waiting = quiet < self.limits.close
            reasons.append(
                "the run has not closed, or spans are missing"
                if waiting
                else f"the run did not close, or spans stayed away, within {self.limits.close:g} s of the last span"
            )
        if quiet < self.limits.settle:
            reasons.append(f"its last span came less than {self.limits.settle:g} s ago: others may be under way")
        if reasons:
            return State("incomplete", tuple(reasons), judged)
        return State("violations" if judged is None or judged.exit_code == EXIT_VIOLATIONS else "clean", (), judged)


def _drawn(batches: Sequence[Batch], title: str, deadline: float) -> str:
    return report.page(calls_of(batches, deadline), title=title)


class _Answers:
    """Rendered audits, the least recently used dropped first."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._kept: OrderedDict[str, tuple[tuple[int, ...], bytes]] = OrderedDict()

    def get(self, trace_id: str, key: tuple[int, ...]) -> bytes | None:
        """The one that was rendered for this key."""
        found = self._kept.get(trace_id)
        if found is None or found[0] != key:
            return None
        self._kept.move_to_end(trace_id)
        return found[1]

    def put(self, trace_id: str, key: tuple[int, ...], body: bytes) -> None:
        """Keep one in place of an older one of its trace."""
        before = self._kept.pop(trace_id, None)
        self._room += 0 if before is None else self._cost(before[1])
        self._kept[trace_id] = (key, body)
        self._room -= self._cost(body)
        while self._room < 0:
            self._room += self._cost(self._kept.popitem(last=False)[1][1])

    @staticmethod
    def _cost(body: bytes) -> int:
        return len(body) + 400
