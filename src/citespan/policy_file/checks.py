"""What a single string of a policy must look like. Standard library and core only.

Each check returns its argument, or raises ValueError with what would be right. That a string is one is
checked before.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable
from typing import Any, Final

from citespan.core.computation import COMPUTATIONS, USER, Computation, computation, placeholders
from citespan.core.kinds import KINDS
from citespan.core.leaves import field_step
from citespan.core.moments import quantity
from citespan.core.patterns import linear
from citespan.core.projections import PATTERN_NAME, PROJECTIONS, REGEX, Stage

#: kinds that a policy may accept: all but the one that means "none of these"
ACCEPTABLE: Final[tuple[str, ...]] = tuple(kind for kind in KINDS if kind != "assumed")

#: what `normalize` may name (see `citespan.core.policy.ArgumentRule`)
NORMALIZERS: Final[tuple[str, ...]] = ("posix_path", "casefold", "number")

#: computations -> whether this version judges them
DERIVATIONS: Final[dict[str, bool]] = dict.fromkeys(COMPUTATIONS, True)

MAX_SHOWN: Final = 60


def shown(text: str) -> str:
    """A short quotation of something from the file, on one line."""
    cut = text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."
    return '"' + "".join(c if c.isprintable() else repr(c)[1:-1] for c in cut) + '"'


def alternatives(names: Iterable[str]) -> str:
    """`"a", "b" or "c"`.

    Example:
        >>> alternatives(["a", "b", "c"])
        '"a", "b" or "c"'
    """
    *most, last = (f'"{name}"' for name in names)
    return f"{', '.join(most)} or {last}" if most else last


def nearest(text: str, known: Iterable[str]) -> str | None:
    """The known name that `text` was probably meant to be, None where nothing is close."""
    found = difflib.get_close_matches(text[:MAX_SHOWN].strip().lower(), list(known), n=1, cutoff=0.6)
    return found[0] if found else None


def one_of(text: str, known: Iterable[str], what: str) -> str:
    """Require a known name.

    Raises:
        ValueError: with the nearest known name, or all of them.
    """
    names = list(known)
    if text in names:
        return text
    guess = nearest(text, names)
    hint = f'did you mean "{guess}"?' if guess else f"use {alternatives(names)}"
    raise ValueError(f"{shown(text)} is no {what}; {hint}")


def version(number: int) -> int:
    """The one version of the format there is."""
    if number != 1:
        raise ValueError(f"{number} is a version that is not known: this citespan reads version 1")
    return number


def kind(text: str) -> str:
    """A kind that may be accepted."""
    if text == "assumed":
        raise ValueError(
            '"assumed" cannot be accepted: it means that nothing vouches for the value. '
            'Allow a number of such leaves with max_assumed, or only record them with mode = "tag"'
        )
    return one_of(text, ACCEPTABLE, "kind")


def text_projection(item: Any) -> str:
    """A projection that a tool's text output may declare: its name, or a named pattern, as the core writes it.

    Example:
        >>> text_projection({"regex": "#([0-9]+)", "name": "issue"})
        'regex:issue=#([0-9]+)'
    """
    if isinstance(item, dict):
        return _pattern(item)
    if not isinstance(item, str):
        raise ValueError("must be a projection's name, or { regex = '...', name = \"...\" }")
    text = item
    if text == REGEX or text.startswith(f"{REGEX}:"):
        raise ValueError("a pattern is declared as { regex = '...', name = \"...\" }")
    row = PROJECTIONS.get(text)
    if row is not None and row.stage == "default":
        raise ValueError(f"{shown(text)} is always admitted and need not be declared")
    if row is not None and row.stage == "argument":
        raise ValueError(f"{shown(text)} is declared for an argument (projections), not for a tool's text")
    one_of(text, (name for name, one in PROJECTIONS.items() if one.stage == "text"), "text projection")
    return _ready(text)


def _pattern(item: dict[str, Any]) -> str:
    """A table `{ regex = '...', name = "..." }`."""
    if unknown := next((key for key in item if key not in {REGEX, "name"}), None):
        raise ValueError(f"a pattern has no key {shown(unknown)}: write {{ regex = '...', name = \"...\" }}")
    pattern, name = item.get(REGEX), item.get("name")
    if not isinstance(pattern, str):
        raise ValueError("a pattern needs regex, a text")
    if not isinstance(name, str) or not PATTERN_NAME.fullmatch(name):
        raise ValueError("a pattern needs a name of letters, digits, _ and -, by which spans show it")
    try:
        linear(pattern)
    except ValueError as error:
        raise ValueError(f"{shown(pattern)}: {error}") from error
    return f"{REGEX}:{name}={pattern}"


def argument_projection(text: str) -> str:
    """A projection that an argument may declare; those that are always admitted may be named too."""
    row = PROJECTIONS.get(text)
    if row is not None and row.stage == "text":
        raise ValueError(f"{shown(text)} is declared for a tool's output (text), not for an argument")
    one_of(text, (name for name, one in PROJECTIONS.items() if one.stage != "text"), "argument projection")
    return _ready(text)


def normalizer(text: str) -> str:
    """A projection that `normalize` may name."""
    return _ready(one_of(text, NORMALIZERS, "normalization"))


def ready(*stages: Stage) -> list[str]:
    """Names of the projections of these stages that this version implements, in the table's order."""
    return [name for name, row in PROJECTIONS.items() if row.stage in stages and row.ready]


def _ready(name: str) -> str:
    if not PROJECTIONS[name].ready:
        raise ValueError(f"{shown(name)} is not implemented in this version of citespan")
    return name


def derivation(item: Any) -> Computation:
    """A declared computation: its name, or `{ name = parameter }`."""
    if isinstance(item, str) or (isinstance(item, dict) and len(item) == 1):
        one_of(item if isinstance(item, str) else next(iter(item)), COMPUTATIONS, "computation")
    made = computation(item)
    named = placeholders(made.template)[1] if made.template else []
    for operand in (*made.of, *(name for name in named if "." in name), *(by for by in made.by if not quantity(by))):
        if operand != USER:
            field(operand)
    for name in filter(None, (made.records, made.less, made.times)):
        argument(name)
    return made


def scalar(value: Any) -> Any:
    """A value that the policy declares: a leaf, and one that JSON can write."""
    if not isinstance(value, str | int | float):
        raise ValueError("a declared value is a string, a number or a boolean (write a date as a string)")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("nan and inf have no JSON form, so no argument can equal them")
    return value


def glob(text: str) -> str:
    """A tool's name, `server/tool`, or a glob of either."""
    if not text.strip():
        raise ValueError("a tool's name or glob cannot be empty")
    if text != text.strip() or not text.isprintable():
        raise ValueError("outer blanks and control characters match no tool")
    if text.startswith("/") or text.endswith("/"):
        raise ValueError('a server and its tool are both named: "server/tool", or "server/*" for all of its tools')
    _brackets(text)
    return text


def _brackets(text: str) -> None:
    """`[abc]` is a choice; a bracket that does not close one is a slip (a literal one is written `[[]`)."""
    at = 0
    while (start := text.find("[", at)) != -1:
        # as in fnmatch: a "]" that comes first belongs to the choice
        first = start + 2 if text[start + 1 : start + 2] == "!" else start + 1
        end = text.find("]", first + 1)
        if end == -1:
            raise ValueError('"[" opens a choice of characters that no "]" closes; a literal one is written "[[]"')
        at = end + 1


def same_glob(text: str) -> str:
    """A normal form: globs with one form match the same tools, so that they always tie."""
    return re.sub(r"\*+", "*", text)


def field(text: str) -> str:
    """`tool.path` or `server/tool.path`, with `*` for indexes and data-like keys.

    `*` matches within one step, as `citespan.core.classify.field_matches` reads it; no server name has one.

    Example:
        >>> field("list_files.files.*")
        'list_files.files.*'
    """
    _plain(text, "a field")
    # a server's name may have dots; a tool's name and a field have no slash
    server, slash, rest = text.rpartition("/")
    tool, dot, path = rest.partition(".")
    if not tool or (slash and not server):
        raise ValueError(f"{shown(text)} does not start with a tool's name: write tool.path or server/tool.path")
    if "*" in server or any(mark in f"{server}{tool}" for mark in "?["):
        raise ValueError(f"{shown(text)}: a field has * in place of a tool's name or of a step, and no other glob")
    if not dot:
        raise ValueError(
            f"{shown(text)} names a tool but no field of its result: write {shown(text + '.path')}, "
            f"{shown(text + '.*')} for the items of a list, {shown(text + '.result')} for a bare value"
        )
    _steps(text, path)
    return text


def result_field(text: str) -> str:
    """A field of the tool's own result, without the tool: `id`, `items.*.id`; `result` for a bare value."""
    _plain(text, "a result field")
    _steps(text, text)
    return text


def _plain(text: str, what: str) -> None:
    if not text.strip():
        raise ValueError(f"{what} cannot be empty")
    if text != text.strip() or not text.isprintable():
        raise ValueError(f"{shown(text)} has outer blanks or control characters, which match nothing")


def _steps(text: str, path: str) -> None:
    for step in path.split("."):
        if not step:
            raise ValueError(f"{shown(text)} has an empty step: write one name or * between two dots")
        if step == "*" or field_step(step) == step:
            continue
        if "*" in step or "?" in step:
            raise ValueError(f"{shown(text)}: * stands for a whole step, not for a part of one ({shown(step)})")
        why = "an index" if step.isdecimal() else "a key that is data"
        raise ValueError(f"{shown(text)}: {shown(step)} is {why}, which a field writes as *")


def argument(text: str) -> str:
    """An argument's name, or the dotted pattern of a leaf inside it (`files.*.path`)."""
    _plain(text, "an argument's name")
    steps = text.split(".")
    if "" in steps:
        raise ValueError(f"{shown(text)} has an empty step: write one name or * between two dots")
    if any(step.isdecimal() for step in steps[1:]):
        raise ValueError(f"{shown(text)}: a rule holds for every index, which is written *")
    return text


def allowed(text: str) -> str:
    """A whole top-level argument: `argument` or `tool.argument`."""
    _plain(text, "an allowed argument")
    if "" in text.split("."):
        raise ValueError(f'{shown(text)} is neither "argument" nor "tool.argument"')
    if "*" in text or "?" in text:
        raise ValueError(f"{shown(text)} names no argument: globs are not read here, each argument is named")
    return text


def own_argument(text: str) -> str:
    """A whole top-level argument, in the table of its own tool."""
    allowed(text)
    if "." in text:
        raise ValueError(f"{shown(text)}: in a tool's own table the argument alone is named")
    return text


def failure(text: str) -> str:
    """How a tool reports an error as success: `path`, `path=value`, or `^prefix` of a text."""
    if text.startswith("^"):
        if not text[1:].strip():
            raise ValueError('"^" needs the text that an error starts with: "^Error:"')
        if text[1].isspace():
            raise ValueError(f"{shown(text)}: leading blanks of a result are not looked at, so leave them out")
        return text
    path = text.partition("=")[0]
    _plain(path, "the path of a failure mark")
    if "" in path.split("."):
        raise ValueError(f"{shown(text)} has an empty step: write path, path=value, or ^prefix")
    return text
