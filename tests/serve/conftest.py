"""One service for the tests that leave it as it was: each sends traces of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.serve.harness import Service, serving


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    """A service that gives its verdict at once."""
    with serving("--settle", "0", "--close", "0") as running:
        yield running
