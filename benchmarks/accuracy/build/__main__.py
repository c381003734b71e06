"""`python -m benchmarks.accuracy.build FOLDER`: make the recordings that `benchmarks.accuracy` judges.

Exit codes: 0, 64 (usage), 65 (a package is not what was expected), 78 (a package cannot be installed). A source that
fails does not stop the others; the files that were there before it stay.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import NoReturn

from benchmarks.accuracy.build import environments
from benchmarks.accuracy.build.common import BAD_INPUT, NOT_INSTALLED, USAGE, BuildError
from benchmarks.accuracy.build.sources import SOURCES, Source


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(USAGE, f"error: {message}\n")


def main(arguments: list[str] | None = None) -> int:
    """Make an environment for each package, run each builder in its own; returns the first failure's exit code."""
    options = _options(arguments)
    folder: Path = options.folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        print(f"error: {folder} is not a folder, and cannot be made one: {error}", file=sys.stderr)
        return USAGE
    cache = options.cache.absolute()  # a builder runs in another working directory
    codes = [_made(source, cache, folder) for source in SOURCES if source.name in (options.only or _NAMES)]
    failed = [code for code in codes if code]
    if not failed:
        print(f"next: python -m benchmarks.accuracy {folder}", file=sys.stderr)
    return failed[0] if failed else 0


_NAMES = tuple(source.name for source in SOURCES)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = _Parser(
        prog="python -m benchmarks.accuracy.build",
        description="Make the recordings from public packages, each in an environment of its own.",
    )
    parser.add_argument("folder", type=Path, help="where the .jsonl files go")
    parser.add_argument("--only", action="append", choices=_NAMES, help="this source alone; may be repeated")
    parser.add_argument(
        "--cache",
        type=Path,
        default=environments.cache_folder(os.environ),
        help="where the environments are kept (%(default)s)",
    )
    return parser.parse_args(arguments)


def _made(source: Source, cache: Path, folder: Path) -> int:
    try:
        python = environments.make(source, cache, lambda text: print(text, file=sys.stderr))
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.code
    print(f"{source.name}: running its tasks", file=sys.stderr)
    code = environments.build(source, python, folder)
    if code in (0, BAD_INPUT, NOT_INSTALLED):
        return code
    print(f"error: {source.name}: its builder ended with {code}; the text above says why", file=sys.stderr)
    return BAD_INPUT


if __name__ == "__main__":
    sys.exit(main())
