"""The `citespan` command: options in, exit code out. The work is done in the packages below; here is the I/O.

Exit codes (design section 7): 0 clean, 1 violations, 2 incomplete, 64 usage, 65 bad input, 78 required guard
not installed. Standard output belongs to results, standard error to everything else.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Final, cast

import typer

from citespan.cli import approve, audit, demo, diff, doctor, policy, replay, report, run, serve, show, suggest
from citespan.errors import EXIT_OK, EXIT_USAGE, CitespanError
from citespan.files.texts import plain

EXIT_INTERRUPTED: Final = 130
EXIT_CLOSED_PIPE: Final = 141

#: what typer's reader of options puts before its reason
_PYDANTIC: Final = "Value error, "
#: what typer raises for a command line that it does not understand; it has no public name of its own
UsageMistake: Final = cast("type[Exception]", typer.BadParameter.__base__)

app = typer.Typer(
    name="citespan",
    no_args_is_help=True,
    rich_markup_mode="markdown",  # a paragraph flows, and indented examples stay as they are
    pretty_exceptions_enable=False,
    help="A tool call must cite its sources, or it does not run.",
)
app.command(name="approve")(approve.command)
app.command(name="audit")(audit.command)
app.command(name="demo")(demo.command)
app.command(name="diff")(diff.command)
app.command(name="doctor")(doctor.command)
app.command(name="replay")(replay.command)
app.command(name="report")(report.command)
app.command(name="run", context_settings={"allow_interspersed_args": False})(run.command)
app.command(name="serve")(serve.command)
app.command(name="show")(show.command)
app.command(name="suggest")(suggest.command)
app.add_typer(policy.app, name="policy")


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib import metadata

        typer.echo(f"citespan {metadata.version('citespan')}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", metavar="", is_eager=True, callback=_print_version, help="Print the version and stop."
        ),
    ] = False,
) -> None:
    """A tool call must cite its sources, or it does not run."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code; the console script ends with it.

    Args:
        arguments: without the program's name; the process's own by default.

    Example:
        >>> main(["--help"])  # doctest: +SKIP
        0
    """
    try:
        code = app(args=list(sys.argv[1:] if arguments is None else arguments), standalone_mode=False)
        sys.stdout.flush()
    except CitespanError as error:
        # a name in it may be anybody's: of a file, or out of one
        typer.echo("\n".join(map(plain, f"citespan: {error}".splitlines())), err=True)
        return error.exit_code
    except UsageMistake as mistake:
        shown = cast("typer.BadParameter", mistake)
        shown.message = shown.message.removeprefix(_PYDANTIC)
        shown.show()
        return EXIT_USAGE
    except (KeyboardInterrupt, typer.Abort):
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader has gone, as in `citespan replay --format jsonl - | head`; Python would complain again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_CLOSED_PIPE
    return code if isinstance(code, int) else EXIT_OK
