"""The tables of a policy file as pydantic models: types, bounds, descriptions.

The JSON Schema is generated from these models, and a value that they reject is reported by `problems.py`. The
core policy repeats every key under the same name (`from` is `sources` there); `build.py` relies on that.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema

from citespan.core.computation import (
    COMPUTATIONS,
    MAX_CONSTANTS,
    MAX_DIGITS,
    MAX_FIELDS,
    MAX_TEMPLATE,
    MAX_TERMS,
    PERCENTS,
    ROUNDINGS,
    USER,
    Rule,
)
from citespan.core.decision import Mode, OnViolation
from citespan.core.moments import UNIT_NAMES
from citespan.core.patterns import MAX_PATTERN
from citespan.core.policy import Output, Scan, Weak
from citespan.core.projections import PATTERN_NAME, REGEX
from citespan.policy_file import checks

MAX_INTEGER = 2**63 - 1


_FIELD = r"^([^/?*\[\s][^?*\[]*/)?[^./?\[\s][^./?\[]*(\.[^./\s]+)+$"
_OF = {
    "type": "array",
    "items": {"anyOf": [{"const": USER}, {"type": "string", "pattern": _FIELD}]},
    "minItems": 1,
    "maxItems": MAX_FIELDS,
}
_DIGITS = {"type": "integer", "minimum": -6, "maximum": MAX_DIGITS}
_OFFSET = {"type": "string", "minLength": 3}
_ARGUMENT = {"type": "string", "pattern": r"^[^.]+(\.[^.]+)*$"}
#: each key of a computation's parameter
_KEYS: dict[str, Any] = {
    "of": _OF,
    "digits": _DIGITS,
    "round": _DIGITS,
    "to": {"type": "string", "enum": list(ROUNDINGS)},
    "terms": {"type": "integer", "minimum": 2, "maximum": MAX_TERMS},
    "form": {"type": "string", "enum": list(PERCENTS)},
    "by": {"anyOf": [_OFFSET, {"type": "array", "items": _OFFSET, "minItems": 1}]},
    "unit": {"type": "string", "enum": list(UNIT_NAMES)},
    "template": {"type": "string", "minLength": 3, "maxLength": MAX_TEMPLATE},
    "constants": {"type": "array", "items": {"type": "number"}, "maxItems": MAX_CONSTANTS},
    "records": _ARGUMENT,
    "less": _ARGUMENT,
    "times": {"type": "string", "pattern": r"^[^.*]+(\.[^.*]+)*$"},
}


def _parameter(rule: Rule) -> dict[str, Any]:
    """The JSON Schema of one computation's parameter: its short forms, and its table."""
    forms: list[dict[str, Any]] = [_KEYS[rule.short]] if rule.short else []
    if rule.name == "expression":
        forms.append({"const": True})
    if "of" in rule.keys and rule.short != "by" and not rule.needs:
        forms.append(_OF)
    if rule.keys:
        keys = {key: _KEYS[key] for key in rule.keys}
        needs = {"required": list(rule.needs)} if rule.needs else {}
        forms.append({"type": "object", "properties": keys, "additionalProperties": False, **needs})
    return {"anyOf": forms, "description": rule.brief}


Version = Annotated[int, AfterValidator(checks.version), WithJsonSchema({"type": "integer", "const": 1})]
Count = Annotated[int, Field(ge=0, le=MAX_INTEGER)]
Size = Annotated[int, Field(ge=1, le=MAX_INTEGER)]
KindName = Annotated[
    str, AfterValidator(checks.kind), WithJsonSchema({"type": "string", "enum": list(checks.ACCEPTABLE)})
]
TextProjection = Annotated[
    Any,
    AfterValidator(checks.text_projection),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "enum": [name for name in checks.ready("text") if name != REGEX]},
                {
                    "type": "object",
                    "properties": {
                        REGEX: {"type": "string", "minLength": 1, "maxLength": MAX_PATTERN},
                        "name": {"type": "string", "pattern": f"^{PATTERN_NAME.pattern}$"},
                    },
                    "required": [REGEX, "name"],
                    "additionalProperties": False,
                },
            ]
        }
    ),
]
ArgumentProjection = Annotated[
    str,
    AfterValidator(checks.argument_projection),
    WithJsonSchema({"type": "string", "enum": checks.ready("default", "argument")}),
]
Normalizer = Annotated[
    str,
    AfterValidator(checks.normalizer),
    WithJsonSchema(
        {
            "type": "string",
            "enum": [name for name in checks.NORMALIZERS if name in checks.ready("default", "argument")],
        }
    ),
]
FieldPattern = Annotated[
    str,
    AfterValidator(checks.field),
    WithJsonSchema({"type": "string", "pattern": _FIELD}),
]
ResultField = Annotated[
    str,
    AfterValidator(checks.result_field),
    WithJsonSchema({"type": "string", "pattern": r"^[^.\s]+(\.[^.\s]+)*$"}),
]
Failure = Annotated[str, AfterValidator(checks.failure), WithJsonSchema({"type": "string", "minLength": 1})]
Allowed = Annotated[
    str,
    AfterValidator(checks.allowed),
    WithJsonSchema({"type": "string", "pattern": r"^[^.*?]+(\.[^.*?]+)*$"}),
]
OwnArgument = Annotated[
    str,
    AfterValidator(checks.own_argument),
    WithJsonSchema({"type": "string", "pattern": r"^[^.*?]+$"}),
]
Declared = Annotated[Any, AfterValidator(checks.scalar), WithJsonSchema({"type": ["string", "number", "boolean"]})]
Computation = Annotated[
    Any,
    AfterValidator(checks.derivation),
    WithJsonSchema(
        {
            "anyOf": [
                {
                    "type": "string",
                    "enum": [name for name, rule in COMPUTATIONS.items() if name != "template" and not rule.needs],
                },
                {
                    "type": "object",
                    "properties": {name: _parameter(rule) for name, rule in COMPUTATIONS.items()},
                    "additionalProperties": False,
                    "minProperties": 1,
                    "maxProperties": 1,
                },
            ]
        }
    ),
]
ToolGlob = Annotated[
    str,
    AfterValidator(checks.glob),
    WithJsonSchema({"type": "string", "pattern": r"^[^/\s]([^\n]*[^/\s])?$"}),
]
ArgumentName = Annotated[
    str,
    AfterValidator(checks.argument),
    WithJsonSchema({"type": "string", "pattern": r"^[^.]+(\.[^.]+)*$"}),
]
ServerName = Annotated[str, Field(min_length=1)]

_ACCEPT = "Kinds that are no violation. `assumed` cannot be one of them."
_WEAK = (
    "How a weak citation (a boolean, a small number, two characters, an enum choice) counts: `count` as any "
    "other, `ignore` not at all, `same_name` only from a field named like the argument."
)
_MODE = "`enforce` refuses a call that is over its budget, `tag` only records it, `off` does neither."
_ON_VIOLATION = "What a refusal does: `tell` gives the model the reason, `abort` stops the run, `ask` asks a reviewer."
_MAX_ASSUMED = "Leaves per call whose kind is not accepted, whatever that kind is."
_SCAN = (
    "Uncited URLs, e-mail addresses, hosts, paths, account numbers and ids in allowed text: `report` them, let the "
    "argument `count` like one that is not allowed, or do not look (`off`)."
)
_ALLOW = "Whole top-level arguments (`argument` or `tool.argument`) that are tagged but never counted."


class Table(BaseModel):
    """What all tables share: no unknown key, and no conversion of one type into another."""

    model_config = ConfigDict(extra="forbid", strict=True)


class DefaultsTable(Table):
    """What holds for every tool that no `[tools]` table says otherwise of."""

    mode: Mode | None = Field(default=None, description=_MODE)
    on_violation: OnViolation | None = Field(default=None, description=_ON_VIOLATION)
    max_assumed: Count | None = Field(default=None, description=_MAX_ASSUMED)
    accept: list[KindName] | None = Field(default=None, description=_ACCEPT)
    weak: Weak | None = Field(default=None, description=_WEAK)
    scan: Scan | None = Field(default=None, description=_SCAN)
    allow: list[Allowed] | None = Field(default=None, description=_ALLOW)
    events: Literal["span", "log", "both"] | None = Field(
        default=None,
        description="Where an uncited leaf is reported: as a span event, as a log record, or as both.",
    )
    previews: bool | None = Field(
        default=None,
        description="Put cut and redacted previews of argument values on spans: values leave the process.",
    )


class RunTable(Table):
    """Bounds of a whole run."""

    max_assumed: Count | None = Field(
        default=None,
        description="Leaves let through in enforce mode over the run; tagged and refused calls cost nothing.",
    )
    max_refused: Count | None = Field(
        default=None,
        description="Refused calls that a run may have; the next one aborts it.",
    )


class LedgerTable(Table):
    """Bounds of a run's ledger. What does not fit is dropped, oldest first; what cites it is `assumed`."""

    max_bytes: Size | None = Field(default=None, description="JSON bytes of all kept results.")
    max_leaves: Size | None = Field(default=None, description="Leaves of all kept results.")


class ServerTable(Table):
    """One MCP server, by name."""

    trust_hints: bool | None = Field(
        default=None,
        description="Believe its readOnlyHint, pinned as first seen: such tools run in tag mode.",
    )


class ArgumentTable(Table):
    """One argument of a tool, or a quoted pattern of leaves inside it (`"files.*.path"`)."""

    accept: list[KindName] | None = Field(default=None, description=_ACCEPT)
    sources: list[FieldPattern] | None = Field(
        default=None,
        alias="from",
        description="The only fields that may be cited: `tool.path` or `server/tool.path`, `*` for an index "
        "or a data-like key. Not met, the call is denied whatever the budget. An empty list takes back what a less "
        "specific table says.",
    )
    normalize: Normalizer | None = Field(
        default=None, description="Projection applied to the argument before it is looked up."
    )
    projections: list[ArgumentProjection] | None = Field(
        default=None, description="Further projections admitted for this argument."
    )
    values: list[Declared] | None = Field(
        default=None,
        description="Values that the policy supplies; an argument that equals one is of kind `schema`.",
    )
    derive: list[Computation] | None = Field(
        default=None,
        description="Computations whose result is of kind `derived`, which is then accepted, if all that goes into it "
        "is cited.",
    )
    propose_against: FieldPattern | None = Field(
        default=None,
        description="The listing that must not contain a proposed new value: complete, unfiltered and cited.",
    )
    weak: Weak | None = Field(default=None, description=_WEAK)


class ToolTable(Table):
    """One tool, or all tools that a glob matches; `server/tool` binds the MCP server too."""

    mode: Mode | None = Field(default=None, description=_MODE)
    on_violation: OnViolation | None = Field(default=None, description=_ON_VIOLATION)
    max_assumed: Count | None = Field(default=None, description=_MAX_ASSUMED)
    accept: list[KindName] | None = Field(default=None, description=_ACCEPT)
    weak: Weak | None = Field(default=None, description=_WEAK)
    scan: Scan | None = Field(default=None, description=_SCAN)
    allow: list[OwnArgument] | None = Field(
        default=None, description="Whole top-level arguments of this tool that are tagged but never counted."
    )
    text: list[TextProjection] | None = Field(
        default=None,
        description="Projections that read citable pieces out of this tool's text output. An empty list takes back "
        "what a less specific table says.",
    )
    output: Output | None = Field(
        default=None,
        description="`data`; `computed`, a source only if all arguments were cited (shell, interpreter); "
        "`model`, never a source (an agent's answer).",
    )
    confirms: list[ResultField] | None = Field(
        default=None, description="Fields of this tool's result that make an uncited value citable again."
    )
    failed_when: list[Failure] | None = Field(
        default=None,
        description="How this tool reports an error as success: `path`, `path=value`, or `^prefix` of a "
        "text. Such a result teaches nothing.",
    )
    read_only: bool | None = Field(
        default=None,
        description="Whether this tool changes nothing. You vouch for it; a server's hint is not needed.",
    )
    arguments: dict[ArgumentName, ArgumentTable] = Field(
        default_factory=dict, description="What each argument of the tool may be, by name."
    )


class PolicyTable(Table):
    """A citespan policy: what each argument of each tool call may come from."""

    version: Version = Field(description="Version of this format: 1.")
    defaults: DefaultsTable = DefaultsTable()
    run: RunTable = RunTable()
    ledger: LedgerTable = LedgerTable()
    servers: dict[ServerName, ServerTable] = Field(
        default_factory=dict, description="MCP servers, by the name that the host gives them."
    )
    tools: dict[ToolGlob, ToolTable] = Field(
        default_factory=dict,
        description="Rules by tool name or glob. The most literal characters win, a tie is an error, keys "
        "merge one by one.",
    )
