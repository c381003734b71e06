"""`--citespan-report DIR`: a trace file for each watched test, a page for each that fails, a summary at the end.

Each process writes the files of the tests that it runs, under names of their own, and says in the test's report where
they are; pytest-xdist carries that to the one process that has the terminal.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, TypedDict

import pytest

from citespan.calls.words import number
from citespan.errors import UsageError
from citespan.files.whole import write_whole
from citespan.report import page
from citespan.testing.run import CitespanRun

#: characters of a test's id that are kept in the name of its files
MOST_CHARACTERS: Final = 100
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_.]+")


class Written(TypedDict):
    """What a report carries: names of files in the folder, "" for none, and why they could not be written."""

    trace: str
    page: str
    error: str


def prepare(config: pytest.Config, option: str) -> None:
    """Make the folder, and make its path absolute, so that every process means the same.

    Raises:
        pytest.UsageError: it cannot be made.
    """
    folder = config.invocation_params.dir / config.getoption(option)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise pytest.UsageError(f"--citespan-report {folder}: {error.strerror}") from error
    setattr(config.option, option, str(folder))


def name_of(nodeid: str) -> str:
    """The name of a test's files, without suffix: safe everywhere, and of no other test.

    Example:
        >>> name_of("tests/test_agent.py::test_paths[a/b]")
        'tests-test_agent.py-test_paths-a-b-5df68327bd78'
    """
    digest = blake2b(nodeid.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    readable = _UNSAFE.sub("-", nodeid)[-MOST_CHARACTERS:].strip("-.")
    return f"{readable or 'test'}-{digest}"


def write(run: CitespanRun, nodeid: str, folder: str, failed: bool) -> Written:
    """Write the files of one test, each whole or not at all; a page of an earlier run goes when the test passes.

    Returns:
        What there is. Never raises: neither a full disk nor a page that cannot be made fails a test.
    """
    name = name_of(nodeid)
    trace, html = f"{name}.jsonl", f"{name}.html"
    try:
        run.save(Path(folder, trace))
        if failed:
            write_whole(str(Path(folder, html)), page(run.calls, title=nodeid))
        else:
            Path(folder, html).unlink(missing_ok=True)
    except UsageError as error:  # a page that cannot be written
        return Written(trace="", page="", error=str(error))
    except Exception as error:
        return Written(trace="", page="", error=getattr(error, "strerror", None) or type(error).__name__)
    return Written(trace=trace, page=html if failed else "", error="")


def summarise(reporter: Any, folder: str, key: str) -> None:
    """Say which failed tests have a page, and where.

    Args:
        reporter: pytest's terminal reporter. key: the attribute of a report that holds `Written`.
    """
    written: dict[str, Written] = {}
    for report in (report for reports in reporter.stats.values() for report in reports):
        found: Written | None = getattr(report, key, None)
        if found is not None and (found["page"] or report.nodeid not in written):
            written[report.nodeid] = found
    reporter.section("citespan")
    pages = {nodeid: one for nodeid, one in written.items() if one["page"]}
    for nodeid, one in pages.items():
        reporter.line(f"{nodeid}: {Path(folder, one['page'])}")
    for error in sorted({one["error"] for one in written.values()} - {""}):
        reporter.line(f"not written: {error}", red=True)
    if not written:
        reporter.line(
            "no test was watched: mark one with @pytest.mark.citespan, or let it use citespan_run", yellow=True
        )
    traces = sum(bool(one["trace"]) for one in written.values())
    reporter.line(f"{number(traces, 'trace file')} and {number(len(pages), 'page')} of failed tests in {folder}")
