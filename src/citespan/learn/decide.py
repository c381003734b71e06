"""From evidence to a draft: what is backed by enough distinct tasks, and nothing that names a thing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from citespan.learn.draft import ArgumentDraft, Key, Line, ToolDraft
from citespan.learn.evidence import Evidence, Explanation, Place, Runs
from citespan.learn.looks import CHOICES, NAMING, look
from citespan.learn.profiles import Profile
from citespan.learn.tasks import Tasks
from citespan.policy_file import checks

#: the share of an argument's values that may name something, above which it is no commentary
MAX_NAMING: Final = 0.25
#: the share of an argument's values that results vouch for, above which its words are names that can be looked up
MAX_LOOKED_UP: Final = 0.5
#: fields that an argument may be closed to
MAX_SOURCES: Final = 4
#: an argument of such a name never gets a declared value
_SECRET: Final = re.compile(r"pass(?:word|wd|code)?|secret|token|api_?key|pin|cvv|otp", re.IGNORECASE)
_SIMPLE_NAME: Final = re.compile(r"[^.*?\s]+")


class Decider:
    """Turns what was seen of each tool into lines of a policy.

    Args:
        evidence: of all runs. tasks: which runs are near-copies. profile: the thresholds.
    """

    def __init__(self, evidence: Evidence, tasks: Tasks, profile: Profile) -> None:
        self._evidence = evidence
        self._tasks = tasks
        self._profile = profile
        self._by_tool: dict[str, dict[str, Place]] = {}
        for (tool, argument), place in evidence.places.items():
            self._by_tool.setdefault(tool, {})[argument] = place
        self._prose_named = self._prose_by_name()

    def tools(self) -> list[ToolDraft]:
        """One draft for each tool that something is to be said of, by name."""
        names = sorted({*self._by_tool, *self._evidence.read_only})
        text = self._text()
        drafts = [self._tool(name, text.get(name, [])) for name in names]
        return [draft for draft in drafts if draft is not None]

    def _tool(self, name: str, text: list[Line]) -> ToolDraft | None:
        read_only = self._evidence.read_only.get(name, False)
        places = self._by_tool.get(name, {})
        if read_only:
            return ToolDraft(name, True, text, [], {}, [])
        allow: list[Line] = []
        arguments: dict[str, ArgumentDraft] = {}
        left: list[Line] = []
        for argument, place in places.items():
            commentary = self._commentary(name, argument, place)
            if commentary is not None:
                allow.append(commentary)
                continue
            lines = self._argument(argument, place)
            if lines:
                arguments[argument] = ArgumentDraft(lines)
            if place.unexplained.numbers and "values" not in lines:
                left.append(Line(argument, self._count(place.uncited), place.uncited.times))
        if self._profile.by_name == "declared":
            allow.extend(self._declared_commentary(name, places))
        return ToolDraft(name, False, text, allow, arguments, left)

    def _count(self, *seen: Runs) -> int:
        return len({self._tasks.task(number) for runs in seen for number in runs.numbers})

    # -- commentary

    def _prose_by_name(self) -> dict[str, list[Runs]]:
        """Argument name -> the runs of every tool in which an argument of this name held uncited prose."""
        found: dict[str, list[Runs]] = {}
        for (_, argument), place in self._evidence.places.items():
            if place.prose.numbers and _SIMPLE_NAME.fullmatch(argument) and self._may_be_commentary(place):
                found.setdefault(argument, []).append(place.prose)
        return found

    def _may_be_commentary(self, place: Place) -> bool:
        total = sum(place.looks.values())
        naming = sum(number for seen, number in place.looks.items() if seen in NAMING)
        numbers = sum(place.looks.get(seen, 0) for seen in ("bool", "small"))
        return not place.full and not numbers and naming <= MAX_NAMING * total

    def _commentary(self, tool: str, argument: str, place: Place) -> Line | None:
        if not _SIMPLE_NAME.fullmatch(argument) or not self._may_be_commentary(place):
            return None
        own = self._count(place.prose)
        pooled = own if self._profile.by_name == "own" else self._count(*self._prose_named.get(argument, []))
        if not place.uncited.numbers or pooled < self._profile.commentary:
            return None
        if not own and not any(look(value) == "token" for _, value in place.values):
            return None
        note = "" if own >= self._profile.commentary else f"arguments of this name in other tools: {pooled} tasks"
        return Line(argument, own, place.uncited.times, note)

    def _declared_commentary(self, tool: str, places: dict[str, Place]) -> Iterable[Line]:
        for argument in sorted(self._evidence.declared.get(tool, frozenset()) - set(places)):
            pooled = self._count(*self._prose_named.get(argument, []))
            if pooled >= self._profile.commentary and _SIMPLE_NAME.fullmatch(argument):
                yield Line(argument, 0, 0, f"never seen here; arguments of this name in other tools: {pooled} tasks")

    # -- arguments

    def _argument(self, argument: str, place: Place) -> dict[Key, list[Line]]:
        found: dict[Key, list[Line]] = {
            "from": self._sources(place),
            "projections": self._explained(place, "argument", self._profile.argument),
            "derive": self._explained(place, "derive", self._profile.derive),
            "values": [] if _SECRET.search(argument) else self._values(place),
        }
        return {key: lines for key, lines in found.items() if lines}

    def _values(self, place: Place) -> list[Line]:
        """Declared values: few choices, each seen in enough tasks; nothing that names a thing."""
        choices = {
            value: runs
            for (kind, value), runs in place.values.items()
            if (look(value) in CHOICES or value == "") and (kind is not str or not self._looked_up(place))
        }
        if set(map(type, choices)) == {bool} and self._count(*choices.values()) >= self._profile.constants:
            return [Line(value, self._count(runs), runs.times) for value, runs in choices.items()] + [
                Line(value, 0, 0, "the other truth value") for value in (True, False) if value not in choices
            ]
        counts = {value: self._count(runs) for value, runs in choices.items()}
        sightings = sum(counts.values())
        if place.full or not sightings or len(choices) > 4 * self._profile.vocabulary:
            return []
        unseen = sum(number for number in counts.values() if number == 1) / sightings
        if unseen > self._profile.unseen:
            return []
        lines = [
            Line(value, number, choices[value].times)
            for value, number in counts.items()
            if number >= self._profile.constants
        ]
        lines.sort(key=lambda line: (-line.tasks, str(line.value)))
        return lines[: self._profile.vocabulary]

    @staticmethod
    def _looked_up(place: Place) -> bool:
        return place.kinds.get("observed", 0) > MAX_LOOKED_UP * sum(place.kinds.values())

    def _explained(self, place: Place, means: str, needed: int) -> list[Line]:
        together: dict[str, list[Explanation]] = {}
        for explanation in place.explained:
            if explanation.means == means:
                together.setdefault(explanation.what, []).append(explanation)
        lines = []
        for what, explanations in together.items():
            runs = [place.explained[explanation] for explanation in explanations]
            hits = sum(place.chance[explanation][0] for explanation in explanations)
            tries = sum(place.chance[explanation][1] for explanation in explanations)
            if self._count(*runs) >= needed and (not tries or hits <= self._profile.chance * tries):
                note = f"explains {hits} of {tries} made-up values as well" if tries else ""
                lines.append(Line(_declared(what), self._count(*runs), sum(one.times for one in runs), note))
        return lines

    def _sources(self, place: Place) -> list[Line]:
        """Fields that all cited values come from, where they are few and each was seen in several tasks."""
        if place.full or not place.fields:
            return []
        single: dict[str, list[Runs]] = {}
        for fields, runs in place.fields.items():
            for field in fields:
                single.setdefault(field, []).append(runs)
        unlike = [one for one in place.explained if one.means == "from"]
        for explanation in unlike:
            single.setdefault(explanation.subject, []).append(place.explained[explanation])
        left = [*place.fields, *((one.subject,) for one in unlike)]
        chosen: list[Line] = []
        ranked = sorted(single, key=lambda field: (-self._count(*single[field]), field))
        for field in ranked:
            if any(field in fields for fields in left):
                left = [fields for fields in left if field not in fields]
                chosen.append(Line(field, self._count(*single[field]), sum(runs.times for runs in single[field])))
        spread = self._count(*(runs for seen in single.values() for runs in seen))
        good = (
            spread >= self._profile.sources
            and len(chosen) <= MAX_SOURCES
            and all(line.tasks > 1 and _is_field(line.value) for line in chosen)
            and not any(line.value in self._evidence.prose_fields for line in chosen)
        )
        return chosen if good else []

    # -- outputs

    def _text(self) -> dict[str, list[Line]]:
        """Text projections of outputs that needed them, where the output reads as a listing."""
        needed: dict[tuple[str, str], list[Runs]] = {}
        for place in self._evidence.places.values():
            for explanation, runs in place.explained.items():
                if explanation.means == "text":
                    needed.setdefault((explanation.subject, explanation.what), []).append(runs)
        found: dict[str, list[Line]] = {}
        for (tool, projection), runs in needed.items():
            lines, prose = self._evidence.lines.get(tool, (0, 0))
            listing = lines > 0 and prose <= self._profile.prose * lines
            if listing and self._count(*runs) >= self._profile.text:
                note = f"{prose} of {lines} lines of its output read as prose"
                line = Line(projection, self._count(*runs), sum(one.times for one in runs), note)
                found.setdefault(tool, []).append(line)
        return found


def _declared(what: str) -> Any:
    """A computation as the policy file writes it: `sum`, or `{ template = "..." }`."""
    name, colon, parameter = what.partition(":")
    return {name: parameter} if colon else name


def _is_field(text: str) -> bool:
    try:
        checks.field(text)
    except ValueError:
        return False
    return True
