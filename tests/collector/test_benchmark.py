"""The benchmark of the collector runs; what it measures is in docs/collector.md."""

from __future__ import annotations

import pytest

from benchmarks import collector


def test_the_benchmark_measures_the_gateway_against_forwarding(capsys: pytest.CaptureFixture[str]) -> None:
    """A small load; every span is paid for, and the table has both lines."""
    assert collector.main(["--whole", "--rounds", "1", "--requests", "22"]) == 0
    rows = [line.split("|")[1:-1] for line in capsys.readouterr().out.splitlines()[2:]]
    assert [row[0].strip() for row in rows] == ["forwarding only", "gateway.yaml"]
    for _, cpu, ratio, rate, memory in rows:
        assert min(float(cpu), float(ratio), float(rate.replace(",", "")), float(memory)) > 0
