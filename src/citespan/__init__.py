"""citespan: a tool call must cite its sources, or it does not run.

Public names are loaded when first used, so that `import citespan` loads no framework, no command line and no exporter.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from citespan.configuration import configure, record_approval, recorded_approvals
    from citespan.core.decision import Decision, ProvenanceDenied
    from citespan.core.policy import ArgumentRule, Policy, ToolRule
    from citespan.core.proposals import Proposal, Reviewer, deny
    from citespan.errors import CitespanError, PolicyError
    from citespan.guard.run import Run
    from citespan.otel.exporter import ProvenanceSpanExporter
    from citespan.otel.processor import ProvenanceSpanProcessor
    from citespan.tools import TracedTools, run, tool

__version__ = "0.1.0"

_HOMES = {
    "ArgumentRule": "citespan.core.policy",
    "CitespanError": "citespan.errors",
    "Decision": "citespan.core.decision",
    "Policy": "citespan.core.policy",
    "PolicyError": "citespan.errors",
    "Proposal": "citespan.core.proposals",
    "ProvenanceDenied": "citespan.core.decision",
    "ProvenanceSpanExporter": "citespan.otel.exporter",
    "ProvenanceSpanProcessor": "citespan.otel.processor",
    "Reviewer": "citespan.core.proposals",
    "Run": "citespan.guard.run",
    "ToolRule": "citespan.core.policy",
    "TracedTools": "citespan.tools",
    "configure": "citespan.configuration",
    "deny": "citespan.core.proposals",
    "record_approval": "citespan.configuration",
    "recorded_approvals": "citespan.configuration",
    "run": "citespan.tools",
    "tool": "citespan.tools",
}

__all__ = [
    "ArgumentRule",
    "CitespanError",
    "Decision",
    "Policy",
    "PolicyError",
    "Proposal",
    "ProvenanceDenied",
    "ProvenanceSpanExporter",
    "ProvenanceSpanProcessor",
    "Reviewer",
    "Run",
    "ToolRule",
    "TracedTools",
    "configure",
    "deny",
    "record_approval",
    "recorded_approvals",
    "run",
    "tool",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'citespan' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, "__version__"})
