"""What plain zero-code OpenTelemetry (`opentelemetry-instrument`) finds through entry points.

It logs what fails in its start-up and runs the program anyway; `citespan run` does not (docs/run.md). So nothing here
raises, but for what a policy needs and cannot have: that ends the process (design section 3).

`opentelemetry.instrumentation` is no dependency: who loads these entry points has it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from typing import Any, Final

from opentelemetry.instrumentation.instrumentor import BaseInstrumentor  # type: ignore[attr-defined]
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from citespan.core.policy import Policy
from citespan.errors import CitespanError, TraceFileError
from citespan.guard.registry import registry
from citespan.guard.trouble import logger
from citespan.instrument import ADAPTERS, activate_when_imported, deactivate
from citespan.launch.late import LateTelemetry, written
from citespan.launch.prepare import TAG_ONLY, UNDECIDED, prepare
from citespan.launch.variables import TRACE_FILE, take_options, value_of
from citespan.otel.exporter import ProvenanceSpanExporter
from citespan.policy_file import find
from citespan.traces.file_exporter import OtlpJsonFileExporter

#: where `citespan_file` writes if `CITESPAN_TRACE_FILE` names nothing
DEFAULT_TRACE_FILE: Final = "trace.jsonl"


class Instrumentor(BaseInstrumentor):  # type: ignore[misc]
    """Base of the instrumentors, one per framework: a missing framework must not keep the others from being guarded."""

    adapter: str

    def instrumentation_dependencies(self) -> Collection[str]:
        """None: the adapter waits for its framework, and looks at its version then."""
        return ()

    def _instrument(self, **kwargs: Any) -> None:
        activate_when_imported(self.adapter)

    def _uninstrument(self, **kwargs: Any) -> None:
        deactivate(self.adapter)


def __getattr__(name: str) -> type[Instrumentor]:
    """The instrumentor of an adapter, by the adapter's name with `_` for `-`."""
    known = name.replace("_", "-")
    if known not in ADAPTERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = made = type(f"{name}_instrumentor", (Instrumentor,), {"adapter": known})
    return made


def pre_instrument() -> None:
    """Choose policy, evidence and telemetry, and add the second gate to the provider. Twice is once.

    Where a policy is named and cannot be used, or enforces and evidence cannot be written, the process ends here, with
    65 or 78.
    """
    take_options()
    if not registry.configured:
        try:
            _choose(find())
        except CitespanError as error:
            # an exception would be logged and the program run, and SystemExit would lose its code on the way
            os.write(2, f"citespan: {error}\n".encode("utf-8", "replace"))
            os._exit(error.exit_code)
    telemetry = registry.telemetry
    if isinstance(telemetry, LateTelemetry):
        telemetry.settled()


def _choose(policy: Policy | None) -> None:
    if policy is None:
        os.write(2, f"citespan: {UNDECIDED}\n".encode())
    prepare(policy or TAG_ONLY, undecided=policy is None)


class TraceFileExporter(ProvenanceSpanExporter):
    """`OTEL_TRACES_EXPORTER=citespan_file`: OTLP/JSON lines, without raw content, to `CITESPAN_TRACE_FILE`.

    A file that cannot be opened is logged, and spans are dropped: raising here would keep the guard from starting.
    """

    def __init__(self) -> None:
        path = value_of(TRACE_FILE) or DEFAULT_TRACE_FILE
        try:
            exporter: SpanExporter = OtlpJsonFileExporter(path)
        except TraceFileError as error:
            logger.error("no spans are exported (calls are guarded all the same): %s", error)
            exporter = _Nowhere()
        written.add(os.path.abspath(path))
        super().__init__(exporter)


class _Nowhere(SpanExporter):
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return SpanExportResult.FAILURE

    def shutdown(self) -> None:
        """Nothing is open."""
