"""A program that uses citespan itself; says what became of its call, and where its spans went.

Usage: python tool_agent.py FOLDER [own-provider | late-provider]
"""

import os
import sys
from pathlib import Path
from typing import Any

import citespan


@citespan.tool
def delete_note(name: str) -> str:
    """Remove one note."""
    (Path(sys.argv[1]) / name).unlink()
    return f"{name} is gone"


def call() -> str:
    try:
        return delete_note("hidden.env")
    except citespan.ProvenanceDenied:
        return "refused"


def own_provider() -> Any:
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    provider, exporter = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


def gates() -> int:
    from opentelemetry import trace

    processors = getattr(getattr(trace.get_tracer_provider(), "_active_span_processor", None), "_span_processors", ())
    return sum(isinstance(each, citespan.ProvenanceSpanProcessor) for each in processors)


if __name__ == "__main__":
    how = sys.argv[2] if len(sys.argv) > 2 else ""
    if how == "late-provider":
        print(call())
    exporter = own_provider() if how else None
    print(call())
    if exporter is not None:
        print("spans", len(exporter.get_finished_spans()), "gates", gates())
    sys.stdout.flush()
    sys.exit(int(os.environ.get("ENDS_WITH", "0")))
