"""The pytest plugin (entry point `pytest11`): hooks only, and nothing is imported before a test asks for citespan.

A test asks with the marker `citespan` or the fixture `citespan_run`; every other one passes through untouched.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from citespan.testing.run import CitespanRun

MARKER: Final = "citespan"
FIXTURE: Final = "citespan_run"
OPTION: Final = "citespan_report"
#: what a report of a test carries: where its files are, see `citespan.testing.reports`
WRITTEN: Final = "citespan_written"
HELP: Final = (
    "citespan(policy=None, max_assumed=None, mode='enforce', inputs=None): run the test inside citespan.run(...), and "
    "fail it when a tool call was refused or unguarded, even where the agent swallowed the refusal. policy: a file, "
    "relative to the test's folder or the root folder, or a citespan.Policy. max_assumed: how many uncited leaves the "
    "calls of the test may have altogether. mode: 'tag' refuses nothing and counts at the end. inputs: declared inputs."
)

#: imported by the first watched test
_USED: Final = "citespan.testing.run"
_RUN: Final = pytest.StashKey["CitespanRun"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--citespan-report`."""
    parser.getgroup("citespan", "citespan: tool calls cite their sources").addoption(
        "--citespan-report",
        metavar="DIR",
        help="write a trace file for each test that citespan watches, and an HTML page for each that fails, into DIR",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Document the marker, and make the folder of the reports."""
    config.addinivalue_line("markers", HELP)
    if config.getoption(OPTION) is not None:
        from citespan.testing import reports

        reports.prepare(config, OPTION)


@pytest.fixture
def citespan_run(request: pytest.FixtureRequest) -> CitespanRun:
    """The run of citespan that the test runs in.

    `user(text)` and `observe(name, value)` say what a human said and what the host vouches for. `calls` and `spans` are
    what happened so far, `save(path)` writes it as a trace file. `expect_blocked(tool, argument)` is a context manager
    for a refusal that the test wants.
    """
    run: CitespanRun | None = request.node.stash.get(_RUN, None)
    if run is None:
        pytest.fail(f"{FIXTURE} must be an argument of the test or of its fixtures, or the test marked", pytrace=False)
    return run


def _is_watched(item: pytest.Item) -> bool:
    return item.get_closest_marker(MARKER) is not None or FIXTURE in getattr(item, "fixturenames", ())


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Open the run of a test that asks for one, before its fixtures are set up."""
    if _is_watched(item):
        from citespan.testing import phases

        item.stash[_RUN] = phases.opened(item, MARKER)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Run the test inside its run, and fail it for what its tools did."""
    run = item.stash.get(_RUN, None)
    if run is None:
        return (yield)
    from citespan.testing import phases

    return (yield from phases.called(item, run))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    """Close the run; what was refused after the test's body is an error here."""
    run = item.stash.get(_RUN, None)
    if run is None:
        result = yield
        if _USED in sys.modules:
            sys.modules[_USED].sweep()
        return result
    from citespan.testing import phases

    return (yield from phases.torn_down(run))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Write the files of a test that is over, and note where they are."""
    report = yield
    run = item.stash.get(_RUN, None)
    if run is None:
        return report
    folder = item.config.getoption(OPTION)
    if folder is not None and (call.when == "call" or report.failed):
        from citespan.testing import reports

        setattr(report, WRITTEN, reports.write(run, item.nodeid, folder, report.failed))
    if call.when == "teardown":
        del item.stash[_RUN]  # items live as long as the session
    return report


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say where the reports are: once, by the process that has the terminal."""
    folder = config.getoption(OPTION)
    if folder is not None:
        from citespan.testing import reports

        reports.summarise(terminalreporter, folder, WRITTEN)
