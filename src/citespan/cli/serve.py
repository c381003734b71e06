"""`citespan serve`: the audit as a service. OTLP in, verdicts, findings and report pages out."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Annotated

import typer

from citespan.errors import EXIT_OK, UsageError


def command(
    host: Annotated[
        str,
        typer.Option("--host", metavar="ADDRESS", help="Where to listen: 127.0.0.1, ::1, or another loopback address."),
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option("--port", metavar="PORT", min=0, max=65535, help="Which port; 0 takes a free one."),
    ] = 4318,
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            metavar="FILE",
            help="A policy that calls are held against besides. Without it the one that CITESPAN_POLICY names, if any.",
        ),
    ] = None,
    memory: Annotated[
        int,
        typer.Option("--memory", metavar="MIB", min=8, max=65536, help="For all traces; older ones are dropped."),
    ] = 256,
    traces: Annotated[
        int,
        typer.Option("--traces", metavar="N", min=1, max=1_000_000, help="Traces that are kept."),
    ] = 10_000,
    spans: Annotated[
        int,
        typer.Option("--spans", metavar="N", min=1, max=1_000_000, help="Spans of one trace; more are refused."),
    ] = 10_000,
    body: Annotated[
        int,
        typer.Option("--body", metavar="MIB", min=1, max=256, help="Of one request, also when it is unpacked."),
    ] = 20,
    keep: Annotated[
        float,
        typer.Option("--keep", metavar="MINUTES", min=0.01, help="How long a trace is kept after its last span."),
    ] = 60.0,
    settle: Annotated[
        float,
        typer.Option(
            "--settle",
            metavar="SECONDS",
            min=0.0,
            help="After its last span a trace is incomplete for this long: others may be under way.",
        ),
    ] = 2.0,
    close: Annotated[
        float,
        typer.Option("--close", metavar="SECONDS", min=0.0, help="How long to wait for the end of a run."),
    ] = 60.0,
    audit: Annotated[
        float,
        typer.Option("--audit", metavar="SECONDS", min=0.1, help="For one audit, or one page."),
    ] = 10.0,
    arrive: Annotated[
        float,
        typer.Option("--arrive", metavar="SECONDS", min=0.1, help="For the headers of a request, and for its body."),
    ] = 20.0,
) -> None:
    """Audit traces as they come: OTLP/HTTP in, verdicts out.

    Spans go to `/v1/traces`, as any exporter or collector sends them. `/traces` lists what came, `/traces/ID` is the
    audit of one trace, `/traces/ID/report` its page, `/violations` what was found in all. A trace that is open, or
    lacks spans, is `incomplete`, never `clean`. Everything is in memory and within bounds.

    Loopback only: a collector in front of it does TLS and tokens. Needs `pip install 'citespan[serve]'`.

    Exit code 0: ended by SIGINT or SIGTERM. 64: usage, no loopback address, a port that is taken, or the extra is
    missing. 65: the policy has mistakes. 78: the named policy is not there.

    Examples:

        citespan serve
        citespan serve --port 0 --policy citespan.toml --memory 512
        curl http://127.0.0.1:4318/violations
    """
    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise UsageError(f"{' and '.join(missing)} missing: the service is an extra, pip install 'citespan[serve]'")

    from citespan.policy_file import find
    from citespan.serve.limits import MIB, Limits
    from citespan.serve.server import address, listen, serve

    limits = Limits(
        memory=memory * MIB,
        traces=traces,
        spans=spans,
        body=body * MIB,
        keep=keep * 60,
        settle=settle,
        close=close,
        audit=audit,
        arrive=arrive,
    )
    rules = find(policy)
    with listen(host, port) as listener:
        where = address(listener)
        serve(listener, limits, rules, lambda: print(f"listening on {where}", file=sys.stderr, flush=True))
    raise typer.Exit(EXIT_OK)
