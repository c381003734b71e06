"""From one recorded run to facts: each leaf's kind under the bare rule, and what would have made it citable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from citespan.core.decision import Tag
from citespan.core.leaves import shown, wildcard
from citespan.core.policy import Policy
from citespan.core.shapes import is_document, is_prose
from citespan.learn.evidence import Explanation, Fact, Output
from citespan.learn.looks import look
from citespan.learn.probe import CITE, COMPUTE, DERIVE, NAME, TEXT, Probe, is_argument_projection, is_text_projection
from citespan.learn.templates import template
from citespan.replay import AsRecorded, Judged, replay
from citespan.trajectories import RecordedCall, Trajectory

#: the bare rule, which never stops a run
_BARE: Final = Policy(mode="tag", run_max_refused=2**31, run_max_assumed=2**31)
MAX_TEXTS: Final = 200
#: made-up numbers, as differences from the recorded one, that a computation must not explain
_DECOYS: Final = (1, -1, 3, 7, 13, 29)
_DECOY_MINUTES: Final = (17, 60, 300, 1440, 4320, -45)


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
        self._cite = Probe(_BARE, CITE, TEXT)
        self._name = Probe(_BARE, NAME)
        self._compute = Probe(_BARE, COMPUTE, TEXT)

    def see(self, trajectory: Trajectory) -> Seen:
        """All facts of a run. Calls that failed or were refused teach nothing."""
        judged = list(replay(trajectory, self._bare))
        uncited = {
            (at, index)
            for at, one in enumerate(judged)
            for index, tag in enumerate(one.decision.tags)
            if tag.provenance.kind == "assumed" and tag.leaf.role == "value" and not tag.allowed
            if not one.call.failed
        }
        found = self._explain(trajectory, judged, uncited) if uncited else {}
        facts = []
        for at, one in enumerate(judged):
            if one.call.failed:
                continue
            for index, tag in enumerate(one.decision.tags):
                if tag.allowed or tag.leaf.role == "key":
                    continue  # exempt by default, or a key that the model wrote and no policy admits
                explained, chance = found.get((at, index), (None, (0, 0)))
                facts.append(_fact(one, tag, explained, chance))
        return Seen(
            tuple(facts),
            tuple(_output(call) for call in trajectory.calls if not call.failed),
            {name: _text_arguments(tool.parameters) for name, tool in trajectory.tools.items()},
            {name: tool.read_only_hint is True for name, tool in trajectory.tools.items()},
        )

    def _explain(
        self, trajectory: Trajectory, judged: Sequence[Judged], uncited: set[tuple[int, int]]
    ) -> dict[tuple[int, int], tuple[Explanation, tuple[int, int]]]:
        found: dict[tuple[int, int], tuple[Explanation, tuple[int, int]]] = {}
        unlike = {(at, index) for at, index in uncited if _why(judged[at].decision.tags[index]) == "field"}
        if unlike:
            self._take(trajectory, self._name, unlike, found)
        self._take(trajectory, self._cite, uncited, found)
        left = [(at, index) for at, index in sorted(uncited) if (at, index) not in found]
        computable = [key for key in left if _computable(judged[key[0]].decision.tags[key[1]].leaf.value)]
        if DERIVE and computable:
            self._take(trajectory, self._compute, set(computable), found)
        for at, index in left:
            if (at, index) not in found:
                made = template(judged[at].decision.tags[index].leaf.value, trajectory, at)
                if made is not None:
                    found[at, index] = (Explanation("derive", "template", made), (0, 1))
        return found

    @staticmethod
    def _take(
        trajectory: Trajectory,
        probe: Probe,
        wanted: set[tuple[int, int]],
        found: dict[tuple[int, int], tuple[Explanation, tuple[int, int]]],
    ) -> None:
        for at, one in enumerate(replay(trajectory, probe)):
            tags = one.decision.tags
            for index, tag in enumerate(tags):
                if (at, index) in wanted and (at, index) not in found:
                    explained = _explained(tag)
                    if explained is not None:
                        found[at, index] = (explained, (0, 0))


def _explained(tag: Tag) -> Explanation | None:
    provenance = tag.provenance
    if provenance.kind == "observed":
        source = provenance.sources[0]
        if is_text_projection(source.projection):
            return Explanation("text", source.tool, source.projection)
        if is_argument_projection(source.projection):
            return Explanation("argument", source.field, source.projection)
        return Explanation("from", source.field, source.projection)
    if provenance.kind == "derived":
        return Explanation("derive", "", provenance.rule)
    if provenance.kind == "user" and is_argument_projection(provenance.projection):
        return Explanation("argument", "", provenance.projection)
    return None


def _fact(one: Judged, tag: Tag, explained: Explanation | None, chance: tuple[int, int]) -> Fact:
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
        _why(tag),  # type: ignore[arg-type]
        provenance.weak,
        fields,
        explained,
        chance,
    )


def _why(tag: Tag) -> str | None:
    return tag.provenance.why if tag.provenance.kind == "assumed" else None


def _computable(value: Any) -> bool:
    kind = type(value)
    if kind is int or kind is float:
        return True
    return kind is str and look(value) in {"date", "number"}


def _text_arguments(parameters: Any) -> frozenset[str]:
    properties = parameters.get("properties") if isinstance(parameters, dict) else None
    if not isinstance(properties, dict):
        return frozenset()
    return frozenset(
        name for name, entry in properties.items() if isinstance(entry, dict) and entry.get("type") == "string"
    )


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
