"""A draft as a commented policy file: first what a person must review, then one table for each tool."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from typing import Any, Final

import orjson

from citespan.core.policy import ToolRule
from citespan.learn.dated import is_day
from citespan.learn.draft import ArgumentDraft, Draft, Key, Line, ToolDraft

WIDTH: Final = 118
#: whether uncited addresses and ids inside exempt text can be made to count
SCAN: Final = "scan" in ToolRule.__dataclass_fields__
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_SPECIAL: Final = re.compile(r"[*?\[]")
_ORDER: Final[tuple[Key, ...]] = ("from", "projections", "derive", "values")

#: what each key gives away; the same words stand in the documentation
RISKS: Final[dict[Key, str]] = {
    "text": "whoever can write a line into this output can then supply arguments",
    "allow": "nothing vouches for what it says; addresses and ids inside it are scanned for",
    "values": "the agent may choose among them whatever it was told, and so may an attacker",
    "projections": "a value that differs from the observed one in this way passes",
    "derive": "a wrong result of the right numbers passes",
    "from": "tightens: only these fields may be cited. It also cites values that look unlike the rest of their field",
}


#: what a declared date gives away beside that
DATES_RISK: Final = (
    "whoever steers the agent may choose this day, and it is soon out of date; hand today's date in as an input of the "
    "run instead where that is what it was"
)


def render(draft: Draft) -> str:
    """The whole file as text; `citespan policy check` accepts it."""
    blocks = [*_header(draft), "version = 1\n"]
    blocks.extend(_tool(tool) for tool in draft.tools if _says_something(tool))
    left = [(tool.name, line) for tool in draft.tools for line in tool.left]
    if left:
        blocks.append(_left(left))
    return "\n".join(blocks)


def _says_something(tool: ToolDraft) -> bool:
    return bool(tool.read_only or tool.text or tool.allow or tool.arguments)


def _comment(text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent="# ", subsequent_indent="#   ", break_long_words=False) + "\n"


def _header(draft: Draft) -> Iterator[str]:
    lines = [
        f"A policy that `citespan suggest --profile {draft.profile}` learned from "
        f"{_number(draft.runs, 'recorded run')} of {_number(draft.tasks, 'distinct task')} (near-copies count once).",
        "It is a suggestion. What it does not say is refused: an argument must be observed, said by the user, or "
        "supplied by the tool's schema.",
    ]
    if draft.full:
        lines.append("Some arguments had more different values than are kept; nothing was declared for those.")
    if draft.valueless:
        lines.append(
            "Traces hold no values: what only a value shows (values, allow, derive) was not learned from them."
        )
    text = "".join(_comment(line) for line in lines)
    review = list(_review(draft))
    if review:
        text += "#\n# Review before you enforce it:\n"
        text += "".join(
            textwrap.fill(line, WIDTH, initial_indent="#  [ ] ", subsequent_indent="#      ", break_long_words=False)
            + "\n"
            for line in review
        )
    yield text


def _review(draft: Draft) -> Iterator[str]:
    readers = [tool.name for tool in draft.tools if tool.read_only]
    if readers:
        tagged, which = ("it is", "It") if len(readers) == 1 else ("they are", "Each")
        yield (
            f"{_number(len(readers), 'tool')} said to only read: {tagged} tagged, not enforced. {which} must change "
            "nothing, and send nothing away: a fetch of any address is no reading."
        )
    dates = list(_dates(draft))
    if dates:
        yield f"fixed dates: {_printable(', '.join(dates))}. Risk: {DATES_RISK}."
    for key in ("text", "allow", "values", "projections", "derive", "from"):
        places = list(_places(draft, key))
        if places:
            yield f"{key}: {_printable(', '.join(places))}. Risk: {RISKS[key]}."


def _dates(draft: Draft) -> Iterator[str]:
    for tool in draft.tools:
        for name, one in tool.arguments.items():
            for line in one.lines.get("values", []):
                if is_day(line.value):
                    yield f"{tool.name}.{name} = {line.value}"


def _places(draft: Draft, key: Key) -> Iterator[str]:
    for tool in draft.tools:
        if key == "text" and tool.text:
            yield tool.name
        elif key == "allow":
            yield from (f"{tool.name}.{line.value}" for line in tool.allow)
        else:
            yield from (f"{tool.name}.{name}" for name, one in tool.arguments.items() if key in one.lines)


def _tool(tool: ToolDraft) -> str:
    text = f"[tools.{_glob(tool.name)}]\n"
    if tool.read_only:
        text += "# said to only read (readOnlyHint); by these two lines you vouch for it\n"
        text += 'mode = "tag"\nread_only = true\n'
    if tool.text:
        text += _lines("text", tool.text)
    if tool.allow:
        text += _lines("allow", tool.allow)
        if SCAN:
            text += 'scan = "count"\n'
    for name, argument in tool.arguments.items():
        text += "\n" + _argument(tool.name, name, argument)
    return text


def _argument(tool: str, name: str, argument: ArgumentDraft) -> str:
    text = f"[tools.{_glob(tool)}.arguments.{_key(name)}]\n"
    for key in _ORDER:
        if key in argument.lines:
            text += _lines(key, argument.lines[key])
    if "derive" in argument.lines or ("from" in argument.lines and not argument.closed):
        text += 'accept = ["observed", "user", "schema", "invented"'
        text += ', "derived"]\n' if "derive" in argument.lines else "]\n"
    return text


def _lines(key: Key, lines: list[Line]) -> str:
    text = f"# {RISKS[key]}\n{key} = [\n"
    for line in lines:
        seen = f"seen {_number(line.times, 'time')} in {_number(line.tasks, 'task')}" if line.times else ""
        note = "; ".join(part for part in (seen, line.note) if part)
        text += f"    {_value(line.value)}, # {_printable(note)}\n"
    return text + "]\n"


def _left(left: list[tuple[str, Line]]) -> str:
    text = "# Uncited in the recording, and still refused; cite them, or decide by hand:\n"
    left.sort(key=lambda entry: (-entry[1].tasks, entry[0]))
    for tool, line in left:
        where = _printable(f"{tool}.{line.value}")
        text += f"#   {where}: {_number(line.times, 'time')} in {_number(line.tasks, 'task')}\n"
    return text


def _number(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _glob(name: str) -> str:
    """A tool's name as a glob that matches it alone."""
    return _key(_SPECIAL.sub(r"[\g<0>]", name))


def _value(value: Any) -> str:
    if type(value) is str:
        return _text(value)
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is dict:
        return "{ " + ", ".join(f"{_key(name)} = {_value(inner)}" for name, inner in value.items()) + " }"
    if type(value) is list:
        return "[" + ", ".join(map(_value, value)) + "]"
    return repr(value)


def _text(text: str) -> str:
    """A basic string of TOML: JSON's escapes are TOML's, but for DEL, which JSON leaves alone."""
    return orjson.dumps(text).decode().replace("\x7f", "\\u007f")


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)
