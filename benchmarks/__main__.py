"""`python -m benchmarks`: measure everything, print a table or JSON."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from benchmarks import calls, decisions, memory, recording, scaling, show
from benchmarks.frameworks import added
from benchmarks.measure import FULL, QUICK, Row, Scale
from benchmarks.report import as_json, markdown, surroundings, table
from benchmarks.setting import isolate

GROUPS: dict[str, Callable[[Scale], Iterator[Row]]] = {
    "calls": calls.rows,
    "decisions": decisions.rows,
    "recording": recording.rows,
    "plain": recording.plain_rows,
    "memory": memory.rows,
    "scaling": scaling.rows,
    "frameworks": added.rows,
    "show": show.rows,
}
#: one framework of the last group alone
FRAMEWORKS: dict[str, Callable[[Scale], Iterator[Row]]] = {
    name: partial(added.rows_of, name) for name in added.FRAMEWORKS
}


def measured(chosen: Sequence[str], scale: Scale) -> list[Row]:
    """All rows of the chosen groups; says on a terminal how far it is."""
    rows: list[Row] = []
    shows = sys.stderr.isatty()
    for number, name in enumerate(chosen, 1):
        if shows:
            _tell(f"[{number}/{len(chosen)}] {name}")
        for taken in {**GROUPS, **FRAMEWORKS}[name](scale):
            rows.append(taken)
            if shows:
                _tell(f"[{number}/{len(chosen)}] {name}: {taken.name}")
    if shows:
        _tell("")
    return sorted(rows, key=lambda entry: entry.group)


def _tell(progress: str) -> None:
    """Replace the line on the terminal."""
    print(f"\r\x1b[K{progress}", end="", file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 only under `--check`, when a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"only these: {', '.join((*GROUPS, *FRAMEWORKS))}")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--json", dest="render", action="store_const", const=as_json, help="print one JSON document")
    shape.add_argument("--markdown", dest="render", action="store_const", const=markdown, help="print a Markdown table")
    parser.add_argument("--quick", action="store_true", help="a hundredth of everything: shows that it runs, no more")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a target is missed")
    options = parser.parse_args(arguments)
    known = (*GROUPS, *FRAMEWORKS)
    unknown = [name for name in options.groups if name not in known]
    if unknown:
        parser.error(f"no group {', '.join(unknown)}; there are: {', '.join(known)}")
    missing = [name for name in options.groups if name in FRAMEWORKS and not added.is_installed(name)]
    if missing:
        parser.error(f"not installed in this environment: {', '.join(missing)}")
    isolate(os.environ)
    around = surroundings()
    rows = measured(options.groups or list(GROUPS), QUICK if options.quick else FULL)
    print((options.render or table)(rows, around))
    return int(options.check and any(entry.met is False for entry in rows))


if __name__ == "__main__":
    sys.exit(main())
