"""A webhook that prints what Alertmanager sends, one line of JSON per alert; for docker-compose.yml and the tests.

`python pager.py [ADDRESS]`, by default 127.0.0.1:9095; the first line printed is the address. Nothing but the standard
library, and nothing is kept.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LARGEST = 1_000_000


class Pager(BaseHTTPRequestHandler):
    """Takes `POST /page`, and answers `GET /` for health checks."""

    def do_POST(self) -> None:
        """Print the alerts of one notification."""
        length = int(self.headers.get("Content-Length", 0))
        if length > LARGEST:
            self.send_error(413)
            return
        for alert in json.loads(self.rfile.read(length))["alerts"]:
            shown = {key: alert[key] for key in ("status", "labels", "annotations", "startsAt")}
            say(json.dumps(shown))
        self._answer()

    def do_GET(self) -> None:
        """Say that it is there."""
        self._answer()

    def _answer(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Print pages only."""


def say(line: str) -> None:
    """Print one line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(address: str = "127.0.0.1:9095") -> None:
    """Serve until stopped."""
    host, _, port = address.rpartition(":")
    with ThreadingHTTPServer((host, int(port)), Pager) as server:
        say(f"{host}:{server.server_port}")
        server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:2])
