"""OpenTelemetry: spans, metrics, the second gate, and where they are sent.

`telemetry` and what it needs use the OpenTelemetry API only; `processor`, `exporter` and `setup` need the
SDK and are imported by whoever installs them.
"""
