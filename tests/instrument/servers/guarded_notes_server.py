"""`notes_server.py`, guarded, in a process of its own: what it exports and decides is in files.

Usage: python guarded_notes_server.py FOLDER SPANS EVIDENCE
"""

import sys
from pathlib import Path

from notes_server import serve
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

import citespan
from citespan.core.policy import Policy
from citespan.instrument import activate
from citespan.traces.file_exporter import OtlpJsonFileExporter

if __name__ == "__main__":
    folder, spans, evidence = sys.argv[1:]
    provider = TracerProvider()
    trace.set_tracer_provider(provider)
    citespan.configure(Policy(), tracer_provider=provider, exporters=[OtlpJsonFileExporter(spans)], evidence=evidence)
    activate("mcp-server")
    try:
        serve(Path(folder)).run()
    finally:
        provider.shutdown()
