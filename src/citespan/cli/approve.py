"""`citespan approve`: a person records that a value may be used although nothing vouches for it."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any, Final, NoReturn

import typer

from citespan.core.opaque import is_scalar
from citespan.errors import CitespanError, UsageError

MAX_BYTES: Final = 1024 * 1024
_HOW: Final = 'standard input must be one JSON value: a text has quotes, as in "docs/guide.md"'


class ValueInput(CitespanError):
    """Standard input holds no value that can be approved; what it holds is not repeated (exit 65)."""


def command(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="The file to append to; made, for its owner alone, if missing."),
    ],
    tool: Annotated[str, typer.Option("--tool", help="A tool's name; server/tool for one of an MCP server's.")],
    argument: Annotated[str, typer.Option("--argument", help="The leaf that has the value: path, files.0.name.")],
    reason: Annotated[str, typer.Option("--reason", help="Why, for whoever reads the file.")] = "",
    by: Annotated[str | None, typer.Option("--by", metavar="NAME", help="Who approves.")] = None,
) -> None:
    """Approve a value for one argument of one tool, and append that to FILE.

    The value is read from standard input as JSON, so that no list of processes shows it. FILE gets a digest of it,
    made with the key in CITESPAN_DIGEST_KEY, else with the user's own. A refusal logs the digest that it looked for.

    Each line is good for one call in each process that reads FILE.

    To use FILE: a policy with on_violation = "ask", and CITESPAN_APPROVALS=FILE.

    Exit code 0: recorded. 64: usage. 65: no value, or FILE cannot be used.

    Examples:

        echo '"docs/setup.md"' | citespan approve approvals.jsonl --tool create_file --argument path --by rosa
    """
    import citespan

    if file == "-":
        raise UsageError("FILE must be a file: standard input has the value")
    if sys.stdin.isatty():
        typer.echo(f"The value of {tool}.{argument} as JSON, then end of input:", err=True)
    recorded = citespan.record_approval(file, citespan.Proposal(tool, argument, _value(), reason), approved_by=by)
    typer.echo(f"{tool}.{argument}: approved for one call, digest {recorded.digest} (key {recorded.digest_key})")


def _value() -> Any:
    """The leaf on standard input.

    Raises:
        ValueInput: there is none.
    """
    data = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueInput(f"standard input is larger than {MAX_BYTES} bytes")
    try:
        value = json.loads(data.decode(), parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise ValueInput(_HOW) from None
    if isinstance(value, list | dict) and value:
        raise ValueInput("an approval covers one leaf, a scalar or an empty container: approve each leaf by itself")
    if not is_scalar(value):
        raise ValueInput(_HOW)
    return value


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
