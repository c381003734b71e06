"""Guarding a program that knows nothing of it: `citespan run`, and the entry points of zero-code OpenTelemetry.

`citespan run` puts `CITESPAN_RUN` into the environment of a command. Each Python that starts with it runs `boot` before
the program, and before OpenTelemetry's own start: `citespan-run.pth`, which lies beside the package, sees to that.
Design section 5.3; why it is done so: docs/run.md.
"""
