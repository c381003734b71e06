"""All of these tests need the real programs. Without them they are skipped, except in CI, where nothing is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.collector.programs import missing
from tests.collector.stack import Stack, stack


@pytest.fixture(scope="session", autouse=True)
def programs() -> None:
    """The programs are there."""
    if lacking := missing():
        pytest.skip(f"the programs of collector-config/ are missing: {lacking}")


@pytest.fixture(scope="session")
def running(programs: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Everything, once for all tests; each test is a service of its own."""
    with stack(tmp_path_factory.mktemp("stack")) as everything:
        yield everything
