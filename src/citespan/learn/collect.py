"""From one recorded run to facts: each leaf's kind under the bare rule, and what would have made it citable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from citespan.core.decision import Tag
from citespan.core.leaves import shown, wildcard
from citespan.core.policy import Policy
from citespan.core.shapes import is_document, is_prose
from citespan.learn.evidence import Explained, Fact, Output
from citespan.learn.looks import look
from citespan.learn.probe import Probes
from citespan.learn.recorded import moments
from citespan.replay import AsRecorded, Judged, replay
from citespan.trajectories import RecordedCall, Trajectory

#: the bare rule, which never stops a run
_BARE: Final = Policy(mode="tag", run_max_refused=2**31, run_max_assumed=2**31)
MAX_TEXTS: Final = 200


class Seen(NamedTuple):
    """What one run showed. Apart from the learning, so that it can be made once and learned from many times."""

    facts: tuple[Fact, ...]
    outputs: tuple[Output, ...]
    #: tool -> its top-level text arguments; and whether the recording says that it only reads
    declared: dict[str, frozenset[str]]
    read_only: dict[str, bool]


class Collector:
    """Judges recorded runs.

    Example:
        `Collector().see(trajectory).facts`
    """

    def __init__(self) -> None:
        self._bare = AsRecorded(_BARE)
        self._probes = Probes(_BARE)

    def see(self, trajectory: Trajectory) -> Seen:
        """All facts of a run. Calls that failed or were refused teach nothing."""
        judged = [one for one in replay(trajectory, self._bare) if not one.call.failed]
        uncited = {
            (one.position, index): tag
            for one in judged
            for index, tag in enumerate(one.decision.tags)
            if tag.provenance.kind == "assumed" and _teaches(tag)
        }
        found = self._explain(trajectory, uncited) if uncited else {}
        facts = [
            _fact(one, tag, found.get((one.position, index), ()))
            for one in judged
            for index, tag in enumerate(one.decision.tags)
            if _teaches(tag)
        ]
        return Seen(
            tuple(facts),
            tuple(_output(call) for call in trajectory.calls if not call.failed),
            {name: _text_arguments(tool.parameters) for name, tool in trajectory.tools.items()},
            {name: tool.read_only_hint is True for name, tool in trajectory.tools.items()},
        )

    def _explain(
        self, trajectory: Trajectory, uncited: dict[tuple[int, int], Tag]
    ) -> dict[tuple[int, int], tuple[Explained, ...]]:
        found: dict[tuple[int, int], tuple[Explained, ...]] = {}
        positions = {position for position, _ in uncited}
        for moment in moments(trajectory, self._probes.cite):
            if moment.position not in positions:
                continue
            for index, tag in enumerate(moment.decision.tags):
                bare = uncited.get((moment.position, index))
                if bare is not None:
                    unlike = bare.provenance.kind == "assumed" and bare.provenance.why == "field"
                    explained = self._probes.explain(moment, index, tag, unlike=unlike)
                    found[moment.position, index] = tuple(Explained(*one) for one in explained)
        return found


def _teaches(tag: Tag) -> bool:
    """Not what is exempt by default, nor a key that the model wrote, which no policy admits."""
    return not tag.allowed and tag.leaf.role == "value"


def _fact(one: Judged, tag: Tag, explained: tuple[Explained, ...]) -> Fact:
    provenance = tag.provenance
    fields: tuple[str, ...] = ()
    if provenance.kind == "observed":
        fields = tuple(dict.fromkeys(source.field for source in provenance.sources))
    return Fact(
        one.call.tool,
        wildcard(tag.leaf.path),
        one.decision.mutating,
        True,
        tag.leaf.value,
        look(tag.leaf.value),
        provenance.kind,
        provenance.weak,
        fields,
        explained,
    )


def _text_arguments(parameters: Any) -> frozenset[str]:
    properties = parameters.get("properties") if isinstance(parameters, dict) else None
    if not isinstance(properties, dict):
        return frozenset()
    return frozenset(name for name, entry in properties.items() if isinstance(entry, dict) and _is_text(entry))


def _is_text(entry: dict[str, Any]) -> bool:
    """Whether a schema is that of a text, or of a text or null."""
    kind, choices = entry.get("type"), entry.get("anyOf")
    if isinstance(choices, list):
        return any(isinstance(one, dict) and one.get("type") == "string" for one in choices)
    return bool(kind == "string" or (isinstance(kind, list) and "string" in kind))


def _output(call: RecordedCall) -> Output:
    """How many lines the texts of a result have, and how many of them read as prose."""
    lines = prose = 0
    fields: dict[str, None] = {}
    for path, text in _texts(call.result):
        if is_document(text):
            continue
        if is_prose(text):
            fields[f"{call.name}.{shown(path) if path else 'result'}"] = None
        for line in text.splitlines():
            if line.strip():
                lines += 1
                prose += _reads_as_prose(line)
    return Output(call.tool, lines, prose, tuple(fields))


def _reads_as_prose(line: str) -> bool:
    return len(line.split()) >= 6


def _texts(result: Any) -> Iterator[tuple[tuple[Any, ...], str]]:
    waiting: list[tuple[tuple[Any, ...], Any]] = [((), result)]
    seen = 0
    while waiting and seen < MAX_TEXTS:
        path, at = waiting.pop()
        if type(at) is str:
            seen += 1
            yield path, at
        elif type(at) is dict:
            waiting.extend(((*path, key), member) for key, member in at.items())
        elif type(at) is list:
            waiting.extend(((*path, "*"), member) for member in at[:MAX_TEXTS])
