"""`citespan policy`: look a policy file over, and ask it which rule decides about an argument."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import orjson
import typer

from citespan.errors import EXIT_OK, PolicyError
from citespan.files import STANDARD_INPUT, name_of

if TYPE_CHECKING:
    from citespan.core.policy import Policy

app = typer.Typer(no_args_is_help=True, help="Check a policy file, or explain what it says of an argument.")

File = Annotated[
    str,
    typer.Argument(metavar="FILE", help=r"A policy, or a pyproject.toml with \[tool.citespan]; - is standard input."),
]
Json = Annotated[bool, typer.Option("--json", metavar="", help="Print JSON.")]


@app.command()
def check(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...", help=r"Policies, or pyproject.toml files with \[tool.citespan]; - is standard input."
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", metavar="", help="Print JSON, one object for each file.")] = False,
) -> None:
    """Print every problem of policy files with its line and key, or "ok" with the policy's digest.

    The digest is the `provenance.policy` of every span that the policy decided about.

    Exit code 0: they can be used. 65: one has problems. 78: one is not there.

    Examples:

        citespan policy check citespan.toml

        citespan policy check --json citespan.toml pyproject.toml
    """
    code = max(_check(file, as_json) for file in files)
    if code:
        raise typer.Exit(code)


def _check(file: str, as_json: bool) -> int:
    """Check one file, print what is to be said of it, and return its exit code."""
    from citespan.core.resolve import digest

    try:
        policy, _ = read(file)
    except PolicyError as error:
        if as_json:
            problems = [problem._asdict() for problem in error.problems]
            _print_json({"file": error.source, "ok": False, "digest": None, "problems": problems})
        else:
            typer.echo(str(error))
        return error.exit_code
    if as_json:
        _print_json({"file": name_of(file), "ok": True, "digest": digest(policy), "problems": []})
    else:
        typer.echo(f"{name_of(file)}: ok, digest {digest(policy)}")
    return EXIT_OK


@app.command()
def explain(
    file: File,
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="A tool's name, or server/tool.")],
    argument: Annotated[
        str, typer.Argument(metavar="ARGUMENT", help="An argument, or a leaf inside it: path, files.*.path.")
    ],
    as_json: Json = False,
) -> None:
    """Say which rule of a policy decides about an argument of a tool, and why.

    Lists the tables that match the tool, the most literal last, and each key as it stands after they were merged, with
    the table and line that it comes from.

    Exit code 0: explained. 65: the policy has problems, or two of its tables tie for this tool. 78: it is not there.

    Examples:

        citespan policy explain citespan.toml patch_file path
    """
    from citespan.cli import policy_explain

    policy, lines = read(file)
    explanation = policy_explain.explain(policy, lines, tool, argument, name_of(file))
    if as_json:
        _print_json(policy_explain.as_json(explanation))
    else:
        typer.echo(policy_explain.render(explanation), nl=False)


def read(file: str) -> tuple[Policy, dict[tuple[str | int, ...], int]]:
    """A policy, and the line of each of its keys.

    Raises:
        PolicyNotFound: it cannot be read. PolicyError: it has problems.
    """
    from citespan.policy_file import MAX_BYTES, loads
    from citespan.policy_file.lines import key_lines
    from citespan.policy_file.loader import read_file, read_text

    table: tuple[str | int, ...] = ()
    if file == STANDARD_INPUT:
        text = read_text(sys.stdin.buffer.read(MAX_BYTES + 1), name_of(file))
    else:
        text, table = read_file(Path(file), file)
    policy = loads(text, name_of(file), table=table)
    lines = key_lines(text.removeprefix("\ufeff"))
    return policy, {key[len(table) :]: line for key, line in lines.items() if key[: len(table)] == table}


def _print_json(value: object) -> None:
    sys.stdout.buffer.write(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
