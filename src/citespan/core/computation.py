"""Declared computations: what a policy may say under `derive` (design section 2, kind `derived`), and what each means.

`COMPUTATIONS` names them all; the policy reader, the documentation and the tests enumerate this table.
"""

from __future__ import annotations

import json
from functools import lru_cache
from string import Formatter
from typing import Any, Final, NamedTuple

from citespan.core.moments import UNIT_NAMES, quantity

#: an operand that is a number that the user said, in place of a field
USER: Final = "user"
MAX_TERMS: Final = 4
MAX_FIELDS: Final = 4
MAX_DIGITS: Final = 12
MAX_TEMPLATE: Final = 256
MAX_CONSTANTS: Final = 64
ROUNDINGS: Final = ("nearest", "down", "up")
PERCENTS: Final = ("of", "more", "less")


class Computation(NamedTuple):
    """One declared computation.

    Args:
        rule: its name. of: fields (or "user") of its operands, in order; empty for whatever the run has cited.
        digits: decimal places of the result, None where it is not rounded. to: in which direction.
        terms: the most terms of a sum without fields. form: what percentage is taken, one of `PERCENTS`.
        by: offsets of a date: quantities ("1 hour") or fields; empty for what the user said. unit: of numbers in `by`.
        template: literal text with placeholders. constants: numbers that the policy supplies to an expression.
        records, less, times: of a total, arguments of the same call: what names the records, what is taken away, and
            what the sum is multiplied by; "" for none.
    """

    rule: str
    of: tuple[str, ...] = ()
    digits: int | None = None
    to: str = "nearest"
    terms: int = 2
    form: str = "of"
    by: tuple[str, ...] = ()
    unit: str = ""
    template: str = ""
    constants: tuple[int | float, ...] = ()
    records: str = ""
    less: str = ""
    times: str = ""

    def __str__(self) -> str:
        """As a policy file writes it."""
        rule = COMPUTATIONS[self.rule]
        said = {"form": self.form, "digits": self.digits, "round": self.digits}
        keys = {key: said.get(key, getattr(self, key, None)) for key in (*rule.keys, rule.short) if key}
        unsaid = {"of": (), "to": "nearest", "terms": 2, "form": "of", "by": (), "unit": "", "constants": ()}
        unsaid |= {"records": "", "less": "", "times": ""}
        keys = {key: value for key, value in keys.items() if value is not None and value != unsaid.get(key)}
        if not keys or (self.rule == "round" and keys == {"digits": 0}):
            return self.rule
        if list(keys) == [rule.short] or (list(keys) == ["of"] and rule.short != "by"):
            return f"{{ {self.rule} = {_toml(next(iter(keys.values())))} }}"
        inner = ", ".join(f"{key} = {_toml(value)}" for key, value in keys.items())
        return f"{{ {self.rule} = {{ {inner} }} }}"


def _toml(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


class Rule(NamedTuple):
    """One row of the table.

    Args:
        brief, risk: what it yields, and how a value that nobody meant may follow; for the documentation.
        keys: keys of its table form. short: the key that { name = parameter } stands for, "" where there is none.
        needs: keys that its table form must have; a computation that has some has no other form.
    """

    name: str
    brief: str
    risk: str
    keys: tuple[str, ...] = ()
    short: str = ""
    needs: tuple[str, ...] = ()

    @property
    def stands_alone(self) -> bool:
        """Whether its bare name is a computation."""
        return not self.needs and self.short != "template"


_ROWS: Final = (
    Rule(
        "round",
        "The rounding of a cited number to so many decimal places (none without a number). A tie may go either way; "
        '`to = "down"` or `"up"` takes the floor or the ceiling instead.',
        "Few digits, many values: rounded to whole numbers, a ledger of small numbers yields most small numbers.",
        ("digits", "to", "of"),
        "digits",
    ),
    Rule(
        "sum",
        "The sum of two cited numbers; `{ sum = 3 }` or `4` admits more terms. With fields: one value of each field, "
        "or all values of a field in one result.",
        "Without fields, 64 numbers have some 2,000 sums of two and 700,000 of four, so four small ones yield nearly "
        "any small number: more than two terms are always weak. Name the fields.",
        ("of", "terms"),
        "terms",
    ),
    Rule(
        "difference",
        "The first cited number less the second; with fields, less all others.",
        "As `sum` of two; with 64 numbers some 4,000 differences.",
        ("of",),
    ),
    Rule(
        "product",
        "The product of two cited numbers, or of one value of each field.",
        "Small factors yield most small numbers; large products are seldom hit by chance.",
        ("of", "round"),
    ),
    Rule(
        "percent",
        'So many percent of a cited number: the first is the base, the second the rate. `"more"` adds it to the base, '
        '`"less"` takes it away.',
        "Every cited number below 100 is a rate. Name the fields.",
        ("of", "form", "round"),
        "form",
    ),
    Rule(
        "date_offset",
        "A cited date, time or date-time, later by a quantity of time that the user said (`5 hours`, `the day after`), "
        "or that the policy declares (`1 hour`, `-1 day`), or by that of a field. The argument keeps its own ISO "
        "format.",
        "Any quantity that the user said moves any date that the run has seen. Name the fields where it sees many.",
        ("of", "by", "unit"),
        "by",
    ),
    Rule(
        "date_in_year",
        "A date whose day and month the user said without a year (`May 20`), in the year of a cited date. A time in it "
        "was said in the same message.",
        "In a run that has seen dates of several years, a date of birth among them, each of these years passes. Name "
        "the fields.",
        ("of",),
    ),
    Rule(
        "template",
        "Literal text of the policy with placeholders: `{id}` is a value from a field of that name, or one that the "
        "user said; `{get_user.id}` is one from that field.",
        "As that of the placeholders alone: a short one is weak, and is found in many fields.",
        (),
        "template",
    ),
    Rule(
        "expression",
        "An arithmetic text (`1100 + 100`): numbers, `+ - * /` and brackets, every number cited, or supplied by the "
        "policy.",
        "The numbers are cited, what is done with them is the model's choice.",
        ("constants",),
        "constants",
    ),
    Rule(
        "total",
        "The sum of one member of each record that the call itself cites: `records` are the arguments that name them, "
        "`of` the member's field, with `*` for one key, the same in every record. `less` are other arguments that are "
        "taken away, `times` is a list whose length it is multiplied by, or a number.",
        "The right sum of the wrong records: of whatever the call cites, and of any member that a `*` admits.",
        ("of", "records", "less", "times"),
        "",
        ("of", "records"),
    ),
)
COMPUTATIONS: Final[dict[str, Rule]] = {row.name: row for row in _ROWS}


def computation(item: Any) -> Computation:
    """Read one entry of `derive`: a name, or `{ name = parameter }`.

    Raises:
        ValueError: it is no computation; the text says what would be right.

    Example:
        >>> computation({"round": 2}).digits, computation({"sum": ["get_rent.amount", "user"]}).of
        (2, ('get_rent.amount', 'user'))
    """
    if isinstance(item, dict) and len(item) != 1:
        raise ValueError("a computation is its name, or a table of exactly one: { round = 2 }")
    if not isinstance(item, str | dict):
        raise ValueError('a computation is its name ("sum") or a table of one name and its parameter ({ round = 2 })')
    name, parameter = (item, {}) if isinstance(item, str) else next(iter(item.items()))
    rule = COMPUTATIONS.get(name)
    if rule is None:
        raise ValueError(f"{name!r} is no computation; use one of {', '.join(COMPUTATIONS)}")
    if not isinstance(parameter, dict):
        parameter = _short(rule, parameter)
    for key in parameter:
        if key not in rule.keys and key != rule.short:
            raise ValueError(f"{name} has no {key!r}; it reads {', '.join(rule.keys) or 'a text'}")
    made: dict[str, Any] = {"digits": 0} if name == "round" else {}
    for key, value in parameter.items():
        made["digits" if key == "round" else key] = _READERS[key](value)
    return _whole(Computation(name, **made))


def _short(rule: Rule, parameter: Any) -> dict[str, Any]:
    """The table form of a short parameter: a list of fields, or what stands for the rule's one parameter."""
    if rule.name == "expression" and parameter is True:
        return {}
    if isinstance(parameter, list | tuple) and "of" in rule.keys and rule.short != "by":
        return {"of": parameter}
    if not rule.short:
        raise ValueError(f"{rule.name} takes a list of fields, or a table")
    return {rule.short: parameter}


def _whole(made: Computation) -> Computation:
    """Check what can be wrong only of the whole."""
    needs = COMPUTATIONS[made.rule].needs
    if not all(getattr(made, key) for key in needs):
        raise ValueError(f"{made.rule} is a table with {' and '.join(needs)}")
    if made.rule == "total" and USER in made.of:
        raise ValueError("a total adds up members of results; take what the user said away with less")
    if made.rule == "template":
        _check_template(made.template)
    if made.rule in {"difference", "product"} and len(made.of) == 1:
        raise ValueError(f"{made.rule} needs two fields or more, or none")
    if made.rule == "percent" and len(made.of) not in {0, 2}:
        raise ValueError("percent needs two fields, the base and the rate, or none")
    if made.rule == "sum" and made.of == (USER,):
        raise ValueError('a sum needs a field, or two operands: ["get_rent.amount", "user"]')
    if made.rule == "date_in_year" and USER in made.of:
        raise ValueError('the year is that of a field: ["get_order.date"]; the day is what the user said')
    if made.rule == "date_offset" and made.unit and not any("." in by for by in made.by):
        raise ValueError('a unit is for numbers of a field: { by = "get_slot.minutes", unit = "minutes" }')
    return made


@lru_cache(maxsize=64)
def named(declared: Computation | str) -> Computation:
    """A declared computation; a bare name, as code may write it, stands for its plain form.

    Raises:
        ValueError: there is none of this name, or it needs a parameter.
    """
    return declared if isinstance(declared, Computation) else computation(declared)


def placeholders(template: str) -> tuple[list[str], list[str]]:
    """The literal texts and the placeholders of a template, in order; there is one literal more than placeholders.

    Raises:
        ValueError: the braces do not match, or a placeholder has more than a name.
    """
    literals, names = [""], []
    for literal, name, spec, conversion in Formatter().parse(template):
        literals[-1] += literal
        if name is not None:
            if spec or conversion or not name.strip():
                raise ValueError("a placeholder is {name} or {tool.path}, and no more")
            names.append(name)
            literals.append("")
    return literals, names


def _check_template(template: str) -> None:
    if not template or len(template) > MAX_TEMPLATE:
        raise ValueError(
            f'a template is a text of up to {MAX_TEMPLATE} characters: {{ template = "image_{{id}}.jpg" }}'
        )
    literals, names = placeholders(template)
    if not names:
        raise ValueError("a template needs a placeholder; a fixed text is declared with values")
    if not "".join(literals).strip():
        raise ValueError("a template needs literal text: a value as it is needs no template")
    if "" in literals[1:-1]:
        raise ValueError("two placeholders need literal text between them")


def _of(value: Any) -> tuple[str, ...]:
    fields = (value,) if isinstance(value, str) else value
    if not isinstance(fields, list | tuple) or not fields or not all(isinstance(field, str) for field in fields):
        raise ValueError('fields are a list: ["get_rent.amount", "user"]')
    if len(fields) > MAX_FIELDS:
        raise ValueError(f"a computation has at most {MAX_FIELDS} fields")
    return tuple(fields)


def _whole_number(least: int, most: int) -> Any:
    def read(value: Any) -> int:
        if type(value) is not int or not least <= value <= most:
            raise ValueError(f"must be a whole number from {least} to {most}")
        return value

    return read


def _choice(names: tuple[str, ...]) -> Any:
    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in names:
            raise ValueError(f"must be one of {', '.join(names)}")
        return value

    return read


def _by(value: Any) -> tuple[str, ...]:
    offsets = (value,) if isinstance(value, str) else value
    if not isinstance(offsets, list | tuple) or not offsets or not all(isinstance(by, str) for by in offsets):
        raise ValueError('an offset is a text: "1 hour", "-1 day", or a field')
    for by in offsets:
        if quantity(by) is None and "." not in by:
            raise ValueError(
                f'{by!r} is no quantity of time; write "1 hour", "30 minutes" or "-1 day", or name a field'
            )
    return tuple(offsets)


def _argument(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError('an argument of the call is a text: "items.*.item_id"')
    return value


def _list(value: Any) -> str:
    if "*" in _argument(value):
        raise ValueError('a list is named itself, not by its members: times = "passengers"')
    return str(value)


def _template(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError('a template is a text: { template = "image_{id}.jpg" }')
    return value


def _constants(value: Any) -> tuple[int | float, ...]:
    if not isinstance(value, list | tuple) or not all(type(one) is int or type(one) is float for one in value):
        raise ValueError("the policy's numbers are a list: { expression = [1, 100] }")
    if len(value) > MAX_CONSTANTS:
        raise ValueError(f"a policy supplies at most {MAX_CONSTANTS} numbers")
    return tuple(value)


_READERS: Final[dict[str, Any]] = {
    "of": _of,
    "digits": _whole_number(-6, MAX_DIGITS),
    "round": _whole_number(-6, MAX_DIGITS),
    "to": _choice(ROUNDINGS),
    "terms": _whole_number(2, MAX_TERMS),
    "form": _choice(PERCENTS),
    "by": _by,
    "unit": _choice(UNIT_NAMES),
    "template": _template,
    "constants": _constants,
    "records": _argument,
    "less": _argument,
    "times": _list,
}
