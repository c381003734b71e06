"""The audit as a service: spans in over OTLP/HTTP, verdicts and findings out, on loopback only. See docs/serve.md.

Everything is kept in memory and bounded (`limits`). `store` and what is below it know no HTTP, `app` no sockets.
Needs the extra `citespan[serve]`; only `app` and `server` import it.
"""
