"""Waits until the collector is ready, then plays `citespan demo` into it. For docker-compose.yml.

`CITESPAN_COLLECTOR_HEALTH` is the collector's health check, `OTEL_EXPORTER_OTLP_ENDPOINT` where the spans go.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from urllib.error import URLError
from urllib.request import urlopen

SECONDS = 60.0


def ready(url: str) -> bool:
    """Whether the collector answers that it is ready."""
    try:
        with urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False


def main() -> int:
    """Wait, then play; returns the demo's exit code."""
    url = os.environ.get("CITESPAN_COLLECTOR_HEALTH", "http://collector:13133/")
    end = time.monotonic() + SECONDS
    while not ready(url):
        if time.monotonic() > end:
            sys.stderr.write(f"{url} did not answer within {SECONDS:.0f} s: docker compose logs collector\n")
            return 69
        time.sleep(0.5)
    return subprocess.run(["citespan", "demo"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
