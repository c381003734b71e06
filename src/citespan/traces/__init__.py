"""Trace files: OTLP/JSON lines, one `TracesData` per line (design section 7).

A collector's `otlpjsonfile` receiver reads them, and its `file` exporter writes such files.
"""
