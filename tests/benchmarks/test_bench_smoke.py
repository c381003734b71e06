"""The benchmarks run, and their output has the shape that docs/benchmarks.md states. Nothing here judges a time."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
ROW = {"group", "name", "ratio", "target", "met", "unit", "side", "amount", "other", "against"}


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """The JSON of one quick run."""
    done = bench("--quick", "--json")
    assert (done.returncode, done.stderr) == (0, ""), "missed targets are no failure, and no terminal needs no progress"
    read: dict[str, Any] = json.loads(done.stdout)
    return read


def test_every_row_has_the_same_keys(document: dict[str, Any]) -> None:
    assert {frozenset(row) for row in document["rows"]} == {frozenset(ROW)}


def test_every_ratio_is_a_positive_number_made_of_its_two_amounts(document: dict[str, Any]) -> None:
    for row in document["rows"]:
        assert row["ratio"] > 0, row["name"]
        assert math.isclose(row["ratio"], row["amount"] / row["against"]), row["name"]


def test_a_row_is_judged_exactly_where_it_has_a_target(document: dict[str, Any]) -> None:
    for row in document["rows"]:
        if row["target"] is None:
            assert row["met"] is None, row["name"]
        else:
            assert row["target"]["sense"] in {"<=", ">="}
            assert row["target"]["bound"] > 0
            assert type(row["met"]) is bool, row["name"]


def test_all_nine_groups_are_measured_and_no_name_is_used_twice(document: dict[str, Any]) -> None:
    names = [(row["group"], row["name"]) for row in document["rows"]]
    assert sorted({group[0] for group, _ in names}) == list("123456789")
    assert len(set(names)) == len(names)


def test_it_says_what_the_figures_depend_on(document: dict[str, Any]) -> None:
    assert {"python", "cores", "load", "orjson", "opentelemetry-sdk"} <= set(document["surroundings"])


def test_one_group_can_be_asked_for_and_is_a_plain_table() -> None:
    done = bench("--quick", "memory")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert "5. memory" in done.stdout
    assert "1. a guarded call" not in done.stdout


def test_the_table_of_the_documentation_can_be_printed() -> None:
    done = bench("--quick", "--markdown", "memory")
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line for line in done.stdout.splitlines() if line.startswith("|")]
    assert lines[0] == "| | ratio | target | | this | against |"
    assert lines[0] in (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert {line.count("|") for line in lines} == {7}


def test_a_group_that_there_is_not_is_an_error_that_names_those_that_there_are() -> None:
    done = bench("--quick", "speed")
    assert done.returncode == 2
    assert "no group speed; there are: calls" in done.stderr
