"""`python -m benchmarks.accuracy [FOLDER] [--write]`: learn on some tasks, judge the others, print the tables."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.accuracy import report
from benchmarks.accuracy.data import ENVIRONMENT_VARIABLE, SUITES, folder
from benchmarks.accuracy.measure import measure

PAGE = Path(__file__).resolve().parents[2] / "docs" / "accuracy.md"


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; 78 where there are no recordings."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    parser.add_argument("folder", nargs="?", help=f"with {SUITES[0].file}.jsonl and so on; else {ENVIRONMENT_VARIABLE}")
    parser.add_argument("--write", nargs="?", type=Path, const=PAGE, help="write the page (docs/accuracy.md) as well")
    options = parser.parse_args(arguments)
    where = folder(options.folder)
    if where is None or not any((where / f"{suite.file}.jsonl").is_file() for suite in SUITES):
        print(
            f"no recordings: name a folder of trajectory files, or set {ENVIRONMENT_VARIABLE}; "
            "`python -m benchmarks.accuracy.build FOLDER` makes them",
            file=sys.stderr,
        )
        return 78
    page = report.page(*measure(where, lambda text: print(text, file=sys.stderr)))
    print(page)
    if options.write is not None:
        options.write.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
