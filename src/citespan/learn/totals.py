"""Which totals of cited records would yield an uncited number (`derive`, `total`)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice, product
from typing import Any, Final, NamedTuple, TypeAlias

from citespan.core import totals
from citespan.core.arithmetic import UNIT, scaled
from citespan.core.decision import Tag
from citespan.core.leaves import wildcard
from citespan.core.ledger import Ledger
from citespan.core.places import Place
from citespan.core.records import alike, every_number
from citespan.learn.draft import Line
from citespan.learn.evidence import Place as Seen
from citespan.learn.recorded import Moment
from citespan.learn.written import item
from citespan.policy_file.checks import derivation

#: arguments of one pattern, keys below a record, and choices that are looked at
MAX_NAMED: Final = 16
MAX_DEPTH: Final = 2
MAX_TRIED: Final = 256
#: different numbers that the records of one argument may hold: one that names records tells them apart
MAX_CHOICES: Final = 2
#: candidates for one leaf; each is then judged, and so are made-up values in its place
MAX_FOUND: Final = 12

#: (field of a member, its keys from the record down) -> what it may be, scaled
_Members: TypeAlias = dict[tuple[str, tuple[str, ...]], set[int]]


class _Factor(NamedTuple):
    """What a sum may be multiplied by: a list's length, or a number; `name` is "" for nothing."""

    name: str
    scaled: int


def candidates(moment: Moment, tag: Tag) -> Iterator[str]:
    """Totals that yield a leaf, as `total {table}`: the plainest first, and of each the field as such before its `*`.

    Args:
        moment: of a run in which everything is tagged. tag: of an uncited number.
    """
    own, wanted = wildcard(tag.leaf.path), scaled(tag.leaf.value)
    if wanted is None:
        return
    cited: dict[str, list[Tag]] = {}
    for other in moment.decision.tags:
        if other.leaf.role == "value" and other.leaf.path != tag.leaf.path:
            cited.setdefault(wildcard(other.leaf.path), []).append(other)
    rest = _sum_of(cited.pop(own, []))
    if rest is None:
        return
    found = filter(_can_be_written, _tables(moment, own, (wanted + rest) * UNIT, cited))
    for table in islice(found, MAX_FOUND):
        yield f"total {json.dumps(table)}"


def _can_be_written(table: dict[str, Any]) -> bool:
    """Whether a policy file can say it: names of a recording may hold anything."""
    try:
        derivation({"total": table})
    except ValueError:
        return False
    return True


def _tables(moment: Moment, own: str, goal: int, cited: dict[str, list[Tag]]) -> Iterator[dict[str, Any]]:
    less = {"less": own} if "*" in own else {}
    for name, tags in cited.items():
        records = _records(moment.run.state.ledger, tags)
        for factor in _factors(moment.call.arguments, cited, {own.partition(".")[0], name.partition(".")[0]}):
            times = {"times": factor.name} if factor.name else {}
            for field in _fields(records, goal, factor.scaled):
                yield {"of": [field], "records": name} | less | times


def _sum_of(tags: Iterable[Tag]) -> int | None:
    """The sum of numbers that are all cited; None where they are not."""
    total = 0
    for tag in tags:
        number = scaled(tag.leaf.value)
        if number is None or tag.provenance.kind not in {"observed", "user"}:
            return None
        total += number
    return total


def _factors(arguments: dict[str, Any], cited: dict[str, list[Tag]], taken: set[str]) -> list[_Factor]:
    """One, and whatever else of the call a sum may be multiplied by: what takes no part in it otherwise."""
    lists = [
        _Factor(name, len(held) * UNIT)
        for name, held in arguments.items()
        if type(held) is list and held and name not in taken
    ]
    numbers = [
        _Factor(name, number)
        for name, tags in cited.items()
        if "*" not in name and name not in taken and (number := _sum_of(tags)) is not None and number
    ]
    return [_Factor("", UNIT), *lists, *numbers]


def _records(ledger: Ledger, tags: list[Tag]) -> list[_Members]:
    """What stands in the records of each of some arguments; nothing where one has none."""
    if len(tags) > MAX_NAMED or any(tag.provenance.kind != "observed" for tag in tags):
        return []
    view = ledger.view()
    places = [view.find(tag.leaf.value) for tag in tags]
    found: list[_Members] = ledger.ask(lambda _: [_members(some) for some in places])
    return found


def _members(places: list[Place]) -> _Members:
    found: _Members = {}
    # of a tool with such a name nothing can be said: its field would be one of every tool's
    named = (place for place in reversed(places) if "*" not in place.node.owner.tool)
    records = (one for place in named for one in alike(place))
    for record in islice(records, totals.MAX_RECORDS):
        for keys, field, held in every_number(record, MAX_DEPTH):
            number = scaled(held)
            if number is not None:
                found.setdefault((field, keys), set()).add(number)
    return {member: numbers for member, numbers in found.items() if len(numbers) <= MAX_CHOICES}


def _fields(records: list[_Members], goal: int, factor: int) -> Iterator[str]:
    """The fields whose members, one of each record, add up to a goal."""
    for field, keys in records[0] if records else ():
        choices = [one[field, keys] for one in records if (field, keys) in one]
        if len(choices) < len(records):
            continue
        if any(sum(numbers) * factor == goal for numbers in islice(product(*choices), MAX_TRIED)):
            yield field
            above = field.rpartition(".")[0]
            if len(keys) > 1 and sum(other.rpartition(".")[0] == above for other, _ in records[0]) > 1:
                yield f"{above}.*"


def as_well(place: Seen, lines: list[Line]) -> list[Line]:
    """Lines of `derive`, with what nobody can tell from a total of them: times a list that always had one member.

    Both yield one value of one call, and all that was seen backs both.
    """
    by_table = {json.dumps(item(by.what)): runs for by, runs in place.explained.items() if by.what.startswith("total ")}
    more: list[Line] = []
    for line in lines:
        seen = by_table.get(json.dumps(line.value))
        for text, runs in by_table.items() if seen is not None and "times" not in line.value["total"] else ():
            table = json.loads(text)["total"]
            name = table.pop("times", None)
            if name is not None and table == line.value["total"] and seen is not None and runs.numbers == seen.numbers:
                note = f"the same total wherever it was seen: {name} always made one"
                more.append(Line({"total": table | {"times": name}}, 0, 0, note))
    return lines + more


def runs_of(place: Seen, lines: list[Line]) -> set[int]:
    """The runs in which a total of the policy yields the argument: it says where a number is from, a constant not."""
    declared = [line.value for line in lines if isinstance(line.value, dict) and "total" in line.value]
    found = (runs.numbers for by, runs in place.explained.items() if by.means == "derive" and item(by.what) in declared)
    return set().union(*found)
