"""Everything that the service's own description allows, and what it forbids, sent to it by schemathesis."""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from tests.serve.harness import Service, recorded

MODES = {"allowed": GenerationMode.POSITIVE, "forbidden": GenerationMode.NEGATIVE}


@pytest.mark.parametrize("mode", MODES)
def test_every_answer_is_as_described(service: Service, mode: str) -> None:
    """Status codes, content types and bodies; no 5xx; wrong requests are refused."""
    service.send(recorded(uncited=True).body())
    schema = schemathesis.openapi.from_url(f"{service.url}/openapi.json")
    paths = []
    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.path == "/openapi.json":
            continue  # the description itself, which newer versions of schemathesis leave out
        paths.append(operation.path)
        takes = operation.method == "post" or "parameters" in operation.definition.raw
        if mode == "forbidden" and not takes:
            continue  # nothing about it can be wrong

        @settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
        @given(operation.as_strategy(generation_mode=MODES[mode]))
        def answered(case: schemathesis.Case) -> None:
            case.call_and_validate(base_url=service.url)

        answered()
    assert len(paths) == 6
    assert service.alive
