"""Derived values: whether an argument is the result of a computation that the policy declares (design section 2).

Each rule searches a bounded number of operands for some that yield the argument. Nothing is computed that is not then
compared with it, and nothing is evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice, permutations, product
from math import prod
from typing import Any, Final

from citespan.core.arithmetic import SCALE, UNIT, addends, literals, rounds_to, scaled
from citespan.core.computation import USER, Computation, named, placeholders
from citespan.core.equality import is_weak, same
from citespan.core.images import number_of
from citespan.core.kinds import Derived, Source
from citespan.core.moments import before, moment
from citespan.core.operands import Operand, Operands
from citespan.core.said_dates import in_year
from citespan.core.totals import total

#: combinations of operands that are tried, and the sources that are kept of them
MAX_TRIED: Final = 8_192
MAX_SOURCES: Final = 8
MAX_SPLITS: Final = 64
MAX_STEPS: Final = 1024
MAX_TEXT: Final = 1024

Numbers = list[tuple[int, Operand]]


def derive(value: Any, computations: Iterable[Computation | str], operands: Operands, *, texts: bool) -> Derived | None:
    """The first declared computation that yields a value, one with a strong operand before one without.

    Args:
        texts: whether a text that is a plain decimal number counts as that number (projection `number`).
    """
    weak: Derived | None = None
    for declared in map(named, computations):
        for used, always_weak in _RULES[declared.rule](value, declared, operands, texts):
            sources = tuple(dict.fromkeys(chain.from_iterable(operand.sources for operand in used)))
            # a small number is soon computed of any others, unless the policy names them
            by_chance = always_weak or (not declared.of and is_weak(value))
            if not by_chance and not all(operand.weak for operand in used):
                return Derived(declared.rule, _some(sources), False)
            weak = weak or Derived(declared.rule, _some(sources), True)
    return weak


def _some(sources: tuple[Source, ...]) -> tuple[Source, ...]:
    if len(sources) <= MAX_SOURCES:
        return sources
    half = MAX_SOURCES // 2
    return sources[:half] + sources[-half:]


#: what a rule yields: operands that do it, and whether that is weak whatever they are
Found = Iterator[tuple[Sequence[Operand], bool]]


def _wanted(value: Any, texts: bool) -> int | None:
    return scaled(number_of(value) if type(value) is str and texts else value)


def _exact(operands: Iterable[Operand]) -> Numbers:
    return [(number, operand) for operand in operands if (number := scaled(operand.value)) is not None]


def _round(value: Any, declared: Computation, operands: Operands, texts: bool) -> Found:
    wanted = _wanted(value, texts)
    if wanted is None or declared.digits is None:
        return
    for field in declared.of or (None,):
        for number, operand in _exact(operands.numbers(field)):
            if number != wanted and rounds_to(wanted, number, SCALE, declared.digits, declared.to):
                yield (operand,), False


def _sum(value: Any, declared: Computation, operands: Operands, texts: bool) -> Found:
    wanted = _wanted(value, texts)
    if wanted is None:
        return
    if not declared.of:
        numbers = _exact(operands.numbers())
        strong = [entry for entry in numbers if not entry[1].weak]
        for some in (strong, numbers):
            at = addends(wanted, [number for number, _ in some], declared.terms)
            if at is not None:
                yield [some[position][1] for position in at], len(at) > 2
        if strong != numbers:
            yield from _mixed(wanted, strong, numbers)
        return
    totals: list[Numbers] = [
        [] if field == USER else [(total, operand) for operand in operands.totals(field) if (total := _total(operand))]
        for field in declared.of
    ]
    if len(declared.of) == 1:
        yield from (((operand,), False) for total, operand in totals[0] if total == wanted)
        return
    choices = [some + _exact(operands.numbers(field)) for some, field in zip(totals, declared.of, strict=True)]
    yield from _tried(choices, lambda numbers: sum(numbers) == wanted)


def _mixed(wanted: int, strong: Numbers, numbers: Numbers) -> Found:
    """Two terms of which one is strong: `addends` may have met two weak ones first."""
    where = dict(numbers)
    for number, operand in strong:
        other = where.get(wanted - number)
        if other is not None and other.spot != operand.spot:
            yield (operand, other), False


def _total(operand: Operand) -> int | None:
    numbers = [scaled(value) for value in operand.value]
    return None if None in numbers else sum(number for number in numbers if number is not None)


def _difference(value: Any, declared: Computation, operands: Operands, texts: bool) -> Found:
    wanted = _wanted(value, texts)
    if wanted is not None:
        yield from _tried(_choices(declared, operands), lambda numbers: numbers[0] - sum(numbers[1:]) == wanted)


def _product(value: Any, declared: Computation, operands: Operands, texts: bool) -> Found:
    wanted = _wanted(value, texts)
    if wanted is not None:
        yield from _tried(
            _choices(declared, operands),
            lambda numbers: _equals(wanted, prod(numbers), SCALE * len(numbers), declared.digits),
        )


def _percent(value: Any, declared: Computation, operands: Operands, texts: bool) -> Found:
    wanted = _wanted(value, texts)
    whole = 0 if declared.form == "of" else 100 * UNIT
    sign = -1 if declared.form == "less" else 1
    if wanted is not None:
        yield from _tried(
            _choices(declared, operands),
            lambda numbers: _equals(wanted, numbers[0] * (whole + sign * numbers[1]), 2 * SCALE + 2, declared.digits),
        )


def _equals(wanted: int, exact: int, places: int, digits: int | None) -> bool:
    if digits is None:
        return bool(wanted * 10 ** (places - SCALE) == exact)
    return rounds_to(wanted, exact, places, digits)


def _choices(declared: Computation, operands: Operands) -> list[Numbers]:
    """The candidates of each operand; without fields the same for both of two."""
    if declared.of:
        return [_exact(operands.numbers(field)) for field in declared.of]
    numbers = _exact(operands.numbers())
    return [numbers, numbers]


def _tried(choices: list[Numbers], fits: Callable[[Sequence[int]], bool]) -> Found:
    """Combinations of one candidate each that fit; no place is used twice, and the newest candidates come first."""
    most = max(1, int(MAX_TRIED ** (1 / len(choices))))
    same_twice = len(choices) == 2 and choices[0] is choices[1]
    combinations: Iterable[Sequence[tuple[int, Operand]]] = (
        permutations(choices[0][:most], 2) if same_twice else product(*(some[:most] for some in choices))
    )
    for combination in combinations:
        if fits([number for number, _ in combination]):
            used = [operand for _, operand in combination]
            if len({operand.spot for operand in used}) == len(used):
                yield used, False


def _date_offset(value: Any, declared: Computation, operands: Operands, texts: bool) -> Found:
    when = moment(value) if type(value) is str else None
    if when is None:
        return
    for offset, said in operands.offsets(declared.by, declared.unit):
        start = before(when, offset)
        if start is None or start == when:
            continue
        base = operands.moment(start, declared.of)
        if base is not None:
            yield (base, *(() if said is None else (said,))), False


def _template(value: Any, declared: Computation, operands: Operands, texts: bool) -> Found:
    if type(value) is not str or len(value) > MAX_TEXT:
        return
    parts, names = placeholders(declared.template)
    for pieces in islice(_splits(value, parts), MAX_SPLITS):
        used = []
        for piece, name in zip(pieces, names, strict=True):
            operand = operands.text(piece, name)
            if operand is None:
                break
            used.append(operand)
        else:
            yield used, False


def _splits(value: str, parts: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The ways in which texts between literal parts make up a value; after `MAX_STEPS` steps no more."""
    first, last = parts[0], parts[-1]
    end = len(value) - len(last)
    if not (value.startswith(first) and value.endswith(last) and end > len(first)):
        return
    # what is found so far, where the next piece starts, which literal ends it
    waiting: list[tuple[tuple[str, ...], int, int]] = [((), len(first), 1)]
    for _ in range(MAX_STEPS):
        if not waiting:
            return
        pieces, start, literal = waiting.pop()
        if literal == len(parts) - 1:
            if start < end:
                yield (*pieces, value[start:end])
            continue
        further: list[tuple[tuple[str, ...], int, int]] = []
        at = value.find(parts[literal], start + 1, end)
        while at > 0 and len(further) < MAX_SPLITS:
            further.append(((*pieces, value[start:at]), at + len(parts[literal]), literal + 1))
            at = value.find(parts[literal], at + 1, end)
        waiting.extend(reversed(further))


def _expression(value: Any, declared: Computation, operands: Operands, texts: bool) -> Found:
    numbers = literals(value) if type(value) is str else None
    if numbers is None:
        return
    used = []
    for number in numbers:
        if any(same(number, constant) for constant in declared.constants):
            continue
        operand = operands.number(number)
        if operand is None:
            return
        used.append(operand)
    if used:
        yield used, False


#: a computation that is missing here derives nothing: `derive` raises, and the guard denies
_RULES: Final[dict[str, Callable[[Any, Computation, Operands, bool], Found]]] = {
    "round": _round,
    "sum": _sum,
    "difference": _difference,
    "product": _product,
    "percent": _percent,
    "date_offset": _date_offset,
    "date_in_year": in_year,
    "template": _template,
    "expression": _expression,
    "total": total,
}
