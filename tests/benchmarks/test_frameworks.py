"""A tool call through each framework that is installed: the rows are those that docs/benchmarks.md states."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from benchmarks.frameworks import added
from benchmarks.frameworks.tool import NAME, Dress, Prepare, close_issue
from benchmarks.measure import QUICK

import citespan
from benchmarks import calls
from citespan import instrument

ROOT = Path(__file__).parents[2]
INSTALLED = [name for name in added.FRAMEWORKS if added.is_installed(name)]
ABSENT = [name for name in added.FRAMEWORKS if name not in INSTALLED]


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_each_file_of_the_package_that_calls_a_tool_is_a_framework_and_names_an_adapter() -> None:
    """A framework that is added to the package is measured, and each adapter has a framework here."""
    files = {path.stem for path in (ROOT / "benchmarks" / "frameworks").glob("*.py")}
    assert files - {"__init__", "added", "tool"} == added.FRAMEWORKS.keys()
    assert {framework.adapter for framework in added.FRAMEWORKS.values()} == set(instrument.ADAPTERS)


def test_each_installed_framework_has_a_row_that_is_judged_and_two_that_inform() -> None:
    """The target is for what the adapter adds against what the plain guard adds, and for nothing else."""
    done = bench("--quick", "--json", "frameworks")
    assert (done.returncode, done.stderr) == (0, "")
    rows: list[dict[str, Any]] = json.loads(done.stdout)["rows"]
    assert len(rows) == 3 * len(INSTALLED) > 0
    for row in rows:
        assert row["group"] == added.GROUP
        assert (row["target"] == {"sense": "<=", "bound": 1.2}) is row["name"].endswith(": added")
    versions = {instrument.installed(instrument.adapter(added.FRAMEWORKS[name].adapter)) for name in INSTALLED}
    assert all(any(f" {version}: " in row["name"] for version in versions) for row in rows)


@pytest.mark.parametrize("name", INSTALLED)
def test_one_framework_can_be_asked_for(name: str) -> None:
    """Each framework has an environment of its own, and is measured there alone."""
    done = bench("--quick", "--json", name)
    assert (done.returncode, done.stderr) == (0, "")
    title = instrument.adapter(added.FRAMEWORKS[name].adapter).title
    names = [row["name"] for row in json.loads(done.stdout)["rows"]]
    assert len(names) == 3
    assert all(one.startswith(title) for one in names)


@pytest.mark.parametrize("name", ABSENT)
def test_a_framework_that_is_not_installed_is_an_error_that_says_so(name: str) -> None:
    """Nothing is measured in its place."""
    done = bench("--quick", name)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"not installed in this environment: {name}" in done.stderr


@asynccontextmanager
async def directly(dress: Dress) -> AsyncIterator[Prepare]:
    """A framework that calls the tool's function, and nothing more."""
    function = dress(close_issue)
    yield lambda keywords: lambda: function(**keywords)


def test_a_call_that_is_not_guarded_is_not_measured_as_if_it_were() -> None:
    """A framework whose tools no longer pass through what the adapter wraps has no figures."""
    scene = calls.scene_of(QUICK)
    with (
        added.Calls.open(directly, lambda function: function) as bare,
        pytest.raises(RuntimeError, match=r"meant: \[\]"),
    ):
        added.check(bare, scene)


def test_a_call_that_is_guarded_is_made_once_with_two_arguments_observed_and_three_of_the_user() -> None:
    """The call is the one of group 1."""
    with added.Calls.open(directly, citespan.tool(name=NAME)) as guarded:
        added.check(guarded, calls.scene_of(QUICK))


def test_a_framework_that_cannot_be_set_up_says_why() -> None:
    """Its own error comes out, and nothing waits for it."""

    @asynccontextmanager
    async def broken(dress: Dress) -> AsyncIterator[Prepare]:
        raise LookupError("no server")
        yield

    with pytest.raises(LookupError, match="no server"), added.Calls.open(broken, lambda function: function):
        pass
