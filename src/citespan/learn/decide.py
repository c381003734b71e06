"""From evidence to a draft: what is backed by enough distinct tasks, and nothing that names a thing."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from citespan.core.policy import ALLOW
from citespan.learn import totals
from citespan.learn.dated import Dates, by_chance, is_of_dates, needed
from citespan.learn.draft import ArgumentDraft, Key, Line, ToolDraft
from citespan.learn.evidence import Evidence, Explanation, Place, Runs
from citespan.learn.looks import CHOICES, NAMED, NAMING, Look, identifies, is_run, look
from citespan.learn.profiles import Profile
from citespan.learn.tasks import Tasks
from citespan.learn.written import item
from citespan.policy_file import checks

#: the share of an argument's values that may name something, above which it is no commentary
MAX_NAMING: Final = 0.25
#: the share of an argument's values that results vouch for, above which its words are names that can be looked up
MAX_LOOKED_UP: Final = 0.5
#: fields that an argument may be closed to
MAX_SOURCES: Final = 4
#: an argument of such a name never gets a declared value
_SECRET: Final = re.compile(r"pass(?:word|wd|code)?|secret|token|api_?key|pin|cvv|otp", re.IGNORECASE)
#: places that a rounding is extended to
MAX_ROUNDED: Final = 2
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
        self._dates = Dates(evidence, profile, self._count)

    def tools(self) -> list[ToolDraft]:
        """One draft for each tool that something is to be said of, by name."""
        text = self._text()
        names = sorted({*self._by_tool, *self._evidence.read_only, *text})
        return [self._tool(name, text.get(name, [])) for name in names if _is(checks.glob, name)]

    def _tool(self, name: str, text: list[Line]) -> ToolDraft:
        read_only = self._evidence.read_only.get(name, False)
        places = self._by_tool.get(name, {})
        if read_only:
            return ToolDraft(name, True, text, [], {}, [])
        allow: list[Line] = []
        arguments: dict[str, ArgumentDraft] = {}
        left: list[Line] = []
        for argument, place in places.items():
            if not _is(checks.argument, argument):
                continue
            commentary = self._commentary(name, argument, place)
            if commentary is not None:
                allow.append(commentary)
                continue
            if self._is_named_prose(argument, place):
                allow.append(Line(argument, 0, 0, "never uncited here; " + self._named_note(argument)))
                continue
            lines = self._argument(argument, place)
            if lines:
                arguments[argument] = ArgumentDraft(lines)
            if place.unexplained.numbers and "values" not in lines and argument not in ALLOW:
                left.append(Line(argument, self._count(place.uncited), place.uncited.times))
        for argument in sorted(self._evidence.declared.get(name, frozenset()) - set(places)):
            if not _is(checks.argument, argument) or not _SIMPLE_NAME.fullmatch(argument):
                continue
            if self._profile.by_name == "declared" and self._prose_tasks(argument) >= self._profile.commentary:
                allow.append(Line(argument, 0, 0, f"never seen here; {self._named_note(argument)}"))
                continue
            lines = self._of_dates(argument, None)
            if lines:
                arguments[argument] = ArgumentDraft(lines)
        return ToolDraft(name, False, text, allow, arguments, left)

    def _count(self, *seen: Runs) -> int:
        return len({self._tasks.task(number) for runs in seen for number in runs.numbers})

    def _share(self, place: Place, looks: frozenset[Look]) -> float:
        """The share of an argument's tasks in which it looked so."""
        alike = self._count(*(runs for seen, runs in place.looks.items() if seen in looks))
        return alike / max(1, self._count(*place.looks.values()))

    # -- commentary

    def _prose_by_name(self) -> dict[str, dict[str, Runs]]:
        """Argument name -> the tools in which an argument of this name held uncited prose, each with the runs."""
        found: dict[str, dict[str, Runs]] = {}
        for (tool, argument), place in self._evidence.places.items():
            if place.prose.numbers and _SIMPLE_NAME.fullmatch(argument) and self._may_be_commentary(argument, place):
                found.setdefault(argument, {})[tool] = place.prose
        return found

    def _may_be_commentary(self, argument: str, place: Place, most: float = MAX_NAMING) -> bool:
        if place.full or identifies(argument) or is_run(argument):
            return False
        if not place.looks.keys().isdisjoint({"bool", "small"}):
            return False
        return self._share(place, NAMING) <= most

    def _commentary(self, tool: str, argument: str, place: Place) -> Line | None:
        if not _SIMPLE_NAME.fullmatch(argument) or not place.uncited.numbers:
            return None
        own = self._count(place.prose)
        named = self._profile.by_name != "own" and bool(self._prose_named.get(argument, {}).keys() - {tool})
        pooled = self._count(place.prose, *self._prose_named[argument].values()) if named else own
        # where other tools show that the name is one of commentary, half of what this one was given may look otherwise
        most = 2 * MAX_NAMING if named else MAX_NAMING
        if pooled < self._profile.commentary or not self._may_be_commentary(argument, place, most):
            return None
        note = "" if own >= self._profile.commentary else self._named_note(argument)
        return Line(argument, self._count(place.uncited), place.uncited.times, note)

    def _is_named_prose(self, argument: str, place: Place) -> bool:
        """Whether an argument that was always cited here holds prose elsewhere, by its name."""
        return (
            self._profile.by_name != "own"
            and not place.uncited.numbers
            and self._prose_tasks(argument) >= self._profile.commentary
            and self._may_be_commentary(argument, place)
        )

    def _prose_tasks(self, argument: str) -> int:
        return self._count(*self._prose_named.get(argument, {}).values())

    def _named_note(self, argument: str) -> str:
        return f"prose in arguments of this name: {self._prose_tasks(argument)} tasks"

    # -- arguments

    def _argument(self, argument: str, place: Place) -> dict[Key, list[Line]]:
        named = identifies(argument)
        dates = self._of_dates(argument, place)
        derive = [] if named else _finer(self._explained(place, "derive", self._profile.derive))
        derive = totals.as_well(place, derive)
        computed, fractions = totals.runs_of(place, derive), _runs_of(place, derive)
        plain = [] if named or _SECRET.search(argument) else self._values(place, computed, fractions)
        found: dict[Key, list[Line]] = {
            "from": self._sources(place),
            "projections": self._explained(place, "argument", self._profile.argument),
            "derive": derive + dates.get("derive", []),
            "values": [] if named or _SECRET.search(argument) else plain + dates.get("values", []),
        }
        return {key: lines for key, lines in found.items() if lines}

    def _of_dates(self, argument: str, place: Place | None) -> dict[Key, list[Line]]:
        """What computes an argument's dates; where nothing does, the dates that it was given all the same."""
        computed = [] if identifies(argument) else self._dates.computed(argument, place)
        constants = [] if computed or _SECRET.search(argument) else self._dates.constants(argument, place)
        return {"derive": computed} if computed else {"values": constants} if constants else {}

    def _values(self, place: Place, computed: set[int], fractions: set[int]) -> list[Line]:
        """Declared values: few choices, each seen in enough tasks; nothing that names a thing, or was `computed`."""
        if place.full:
            return []
        kinds: dict[str, dict[Any, Runs]] = {"bool": {}, "small": {}, "text": {}}
        for (_, value), runs in place.values.items():
            seen = look(value)
            if seen == "small" and runs.numbers <= computed:
                continue
            if type(value) is float and not value.is_integer() and runs.numbers <= fractions:
                continue  # an amount that the policy computes anyway is no choice
            if seen in {"bool", "small"}:
                kinds[seen][value] = runs
            elif seen in CHOICES or value == "":
                kinds["text"][value] = runs
        return [
            *self._truth_values(kinds["bool"]),
            *self._numbers(place, kinds["small"]),
            *([] if self._looked_up(place) else self._words(kinds["text"])),
        ]

    def _truth_values(self, choices: dict[Any, Runs]) -> list[Line]:
        if not choices or self._count(*choices.values()) < self._profile.constants:
            return []
        lines = [Line(value, self._count(runs), runs.times) for value, runs in choices.items()]
        return lines + [Line(value, 0, 0, "the other one") for value in (True, False) if value not in choices]

    def _numbers(self, place: Place, choices: dict[Any, Runs]) -> list[Line]:
        """Small numbers prove little wherever they come from, so seeing one once may do."""
        if not choices:
            return []
        lines = []
        if self._count(place.uncited) >= self._profile.constants:
            lines = self._seen_enough(choices, self._profile.numbers)
        if place.scale is not None and self._profile.numbers == 1 and self._count(place.runs) > self._profile.constants:
            low, high = min(1, place.scale[0]), place.scale[1]
            known = {line.value: line for line in lines}
            plain = f"a scale from {low} to {high}, the argument was seen in {self._count(place.runs)} tasks"
            lines = [known.get(value) or Line(value, 0, 0, plain) for value in range(low, high + 1)]
        return lines

    def _words(self, choices: dict[Any, Runs]) -> list[Line]:
        empty = [Line("", self._count(runs), runs.times) for value, runs in choices.items() if value == ""]
        empty = [line for line in empty if line.tasks >= self._profile.numbers]
        choices = {value: runs for value, runs in choices.items() if value != ""}
        return empty + self._closed_set(choices)

    def _closed_set(self, choices: dict[Any, Runs]) -> list[Line]:
        counts = {value: self._count(runs) for value, runs in choices.items()}
        sightings = sum(counts.values())
        once = sum(number for number in counts.values() if number == 1)
        if not sightings or once > self._profile.unseen * sightings:
            return []  # as many new ones as known ones: no closed set
        return self._seen_enough(choices, self._profile.constants)

    def _seen_enough(self, choices: dict[Any, Runs], needed: int) -> list[Line]:
        lines = [Line(value, self._count(runs), runs.times) for value, runs in choices.items()]
        lines = [line for line in lines if line.tasks >= needed]
        lines.sort(key=lambda line: (-line.tasks, str(line.value)))
        return lines[: self._profile.vocabulary]

    @staticmethod
    def _looked_up(place: Place) -> bool:
        return place.kinds.get("observed", 0) > MAX_LOOKED_UP * sum(place.kinds.values())

    def _explained(self, place: Place, means: str, least: int) -> list[Line]:
        together: dict[str, list[Explanation]] = {}
        for explanation in place.explained:
            if explanation.means == means and not is_of_dates(explanation.what):
                together.setdefault(explanation.what, []).append(explanation)
        backed: list[tuple[Line, set[int]]] = []
        for what, explanations in together.items():
            runs = [place.explained[explanation] for explanation in explanations]
            hits = sum(place.chance[explanation][0] for explanation in explanations)
            tries = sum(place.chance[explanation][1] for explanation in explanations)
            if self._count(*runs) >= least and by_chance(hits, tries) <= self._profile.chance:
                note = f"explains {hits} of {tries} made-up values as well" if tries else ""
                line = Line(item(what), self._count(*runs), sum(one.times for one in runs), note)
                backed.append((line, set().union(*(one.numbers for one in runs))))
        return [line for line, _ in needed(backed)]

    def _sources(self, place: Place) -> list[Line]:
        """Fields that all cited values come from, where they are few and each was seen in several tasks."""
        if place.full or not place.fields or self._profile.sources is None or self._share(place, NAMED) < 0.5:
            return []
        found: dict[tuple[str, ...], list[Runs]] = {fields: [runs] for fields, runs in place.fields.items()}
        for explanation, seen in place.explained.items():
            if explanation.means == "from":
                found.setdefault((explanation.subject,), []).append(seen)
        if any(self._count(*several) < 2 for several in found.values()):
            return []  # values still turn up in new places
        single: dict[str, list[Runs]] = {}
        for fields, several in found.items():
            for field in fields:
                single.setdefault(field, []).extend(several)
        left = list(found)
        chosen: list[Line] = []
        for field in sorted(single, key=lambda field: (-self._count(*single[field]), field)):
            if any(field in fields for fields in left):
                left = [fields for fields in left if field not in fields]
                chosen.append(Line(field, self._count(*single[field]), sum(one.times for one in single[field])))
        spread = self._count(*(one for several in found.values() for one in several))
        good = (
            spread >= self._profile.sources
            and len(chosen) <= MAX_SOURCES
            and all(_is(checks.field, line.value) and line.value not in self._evidence.prose_fields for line in chosen)
        )
        return chosen if good else []

    # -- outputs

    def _text(self) -> dict[str, list[Line]]:
        """Text projections of outputs that needed them, where the output reads as a listing."""
        needed: dict[tuple[str, str], list[Runs]] = {}
        for place in self._evidence.places.values():
            for explanation, seen in place.explained.items():
                if explanation.means == "text":
                    needed.setdefault((explanation.subject, explanation.what), []).append(seen)
        found: dict[str, list[Line]] = {}
        for (tool, projection), runs in needed.items():
            lines, prose = self._evidence.lines.get(tool, (0, 0))
            # of a trace no text is known, but the policy of that time has admitted the projection
            listing = tool not in self._evidence.lines or (lines > 0 and prose <= self._profile.prose * lines)
            if listing and self._count(*runs) >= self._profile.text:
                note = f"{prose} of {lines} lines of its output read as prose"
                line = Line(projection, self._count(*runs), sum(one.times for one in runs), note)
                found.setdefault(tool, []).append(line)
        return found


def _finer(lines: list[Line]) -> list[Line]:
    """Where a number may be rounded to so many places it may keep more of them: fewer values follow from that."""
    digits = [0 if line.value == "round" else line.value["round"] for line in lines if _is_rounding(line.value)]
    if not digits:
        return lines
    more = range(min(digits), MAX_ROUNDED + 1)
    finer = [Line({"round": places}, 0, 0, "finer than what was seen") for places in more if places not in digits]
    return lines + finer


def _is_rounding(value: Any) -> bool:
    return bool(value == "round" or (isinstance(value, dict) and "round" in value))


def _is(check: Callable[[str], str], text: str) -> bool:
    """Whether a policy file can say it: names of a recording may hold anything."""
    try:
        check(text)
    except ValueError:
        return False
    return True


def _runs_of(place: Place, lines: list[Line]) -> set[int]:
    """The runs in which a computation of the policy yields the argument."""
    declared = [line.value for line in lines]
    found = (runs.numbers for by, runs in place.explained.items() if by.means == "derive" and item(by.what) in declared)
    return set().union(*found)
