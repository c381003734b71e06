"""Variables of the environment that zero-code OpenTelemetry takes as options, too.

`opentelemetry-instrument` makes an option of each name here that starts with `OTEL_`: of `OTEL_PYTHON_CITESPAN_POLICY`
it makes `--citespan_policy`, and puts its value into the variable of that name. The plain name means the same.
"""

from __future__ import annotations

import os
from typing import Final

from citespan.policy_file import ENVIRONMENT_VARIABLE as POLICY
from citespan.stores.evidence import VARIABLE as EVIDENCE

__all__ = ["EVIDENCE", "POLICY", "TRACE_FILE", "take_options", "value_of"]

#: an OTLP/JSON lines file to which spans are appended
TRACE_FILE: Final = "CITESPAN_TRACE_FILE"

OTEL_PYTHON_CITESPAN_POLICY: Final = "OTEL_PYTHON_CITESPAN_POLICY"
OTEL_PYTHON_CITESPAN_EVIDENCE: Final = "OTEL_PYTHON_CITESPAN_EVIDENCE"
OTEL_PYTHON_CITESPAN_TRACE_FILE: Final = "OTEL_PYTHON_CITESPAN_TRACE_FILE"

_OPTIONS: Final = {
    POLICY: OTEL_PYTHON_CITESPAN_POLICY,
    EVIDENCE: OTEL_PYTHON_CITESPAN_EVIDENCE,
    TRACE_FILE: OTEL_PYTHON_CITESPAN_TRACE_FILE,
}


def value_of(name: str) -> str:
    """A variable's value, empty where it has none; an option of `opentelemetry-instrument` wins."""
    return os.environ.get(_OPTIONS[name], "").strip() or os.environ.get(name, "").strip()


def take_options() -> None:
    """Put the options where the rest of citespan, and the processes that this one starts, look for them."""
    for name, option in _OPTIONS.items():
        if os.environ.get(option, "").strip():
            os.environ[name] = os.environ[option]
