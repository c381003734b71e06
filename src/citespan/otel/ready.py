"""What holds without `configure`: the policy that `CITESPAN_POLICY` names, and spans to the program's provider."""

from __future__ import annotations

from citespan.guard.registry import NoTelemetry, registry
from citespan.otel.telemetry import OtelTelemetry
from citespan.policy_file import find


def ready() -> None:
    """Choose a policy and telemetry where `citespan.configure` has not; cheap the second time.

    Raises:
        PolicyError: the named policy cannot be used; running without it would be running unguarded.
    """
    if not registry.configured:
        named = find()
        registry.configured = True
        if named is not None:
            registry.policy = named
    if type(registry.telemetry) is NoTelemetry:
        registry.telemetry = OtelTelemetry()
