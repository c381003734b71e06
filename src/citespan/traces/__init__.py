"""Trace files: written as OTLP/JSON lines, one `TracesData` per line (design section 7), read in each form they have.

A collector's `otlpjsonfile` receiver reads what is written, and its `file` exporter writes such files; `reader` says
which forms are read.
"""
