"""Fixtures of the guard's and the public API's tests; `conftest.py` beside the tests imports them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.guard.harness import Spans, Watch

from citespan.core.policy import Policy
from citespan.core.resolve import Rulebook
from citespan.guard.registry import NoTelemetry, registry
from citespan.otel.digest import default_digester


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test starts from a process that configured nothing, and leaves it so."""
    monkeypatch.setenv("CITESPAN_DIGEST_KEY", "a key for tests")
    monkeypatch.delenv("CITESPAN_POLICY", raising=False)
    default_digester.cache_clear()
    fresh = {
        "telemetry": NoTelemetry(),
        "evidence": None,
        "rulebook": Rulebook(Policy()),
        "reviewer": None,
        "configured": False,
        "enforced_scopes": set(),
    }
    for name, value in fresh.items():
        monkeypatch.setattr(registry, name, value)


@pytest.fixture
def watch(own_registry: None) -> Watch:
    """What the guard decided and what came of it, without an SDK."""
    registry.telemetry = seen = Watch()
    return seen


@pytest.fixture
def spans(own_registry: None) -> Iterator[Spans]:
    """Real spans, kept in memory."""
    kept = Spans()
    registry.telemetry = kept.telemetry
    yield kept
    kept.provider.shutdown()
