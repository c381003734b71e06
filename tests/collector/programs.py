"""The real programs, on free loopback ports: starting one, waiting until it answers, stopping it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any, Final, NamedTuple, TypeVar
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from tools import programs

ROOT: Final = Path(__file__).parents[2]
CONFIG: Final = ROOT / "collector-config"
#: seconds for anything that has no promise of its own
PATIENCE: Final = 60.0

T = TypeVar("T")

BUILT: Final = ("otelcol", "jaeger")
PACKAGED: Final = {
    "prometheus": "prometheus",
    "promtool": "prometheus",
    "prometheus-alertmanager": "prometheus-alertmanager",
    "amtool": "prometheus-alertmanager",
    "docker-compose": "docker-compose",
}


def program(name: str) -> str:
    """The path of a program."""
    return str(programs.path(name)) if name in BUILT else str(shutil.which(name))


def missing() -> str:
    """What is not there, and how to get it; nothing where all of it is there."""
    steps = []
    if any(not programs.path(name).exists() for name in BUILT):
        steps.append("make tools (needs Go; some minutes, once)")
    packages = sorted({package for name, package in PACKAGED.items() if shutil.which(name) is None})
    if packages:
        steps.append(f"apt-get install {' '.join(packages)}")
    return " && ".join(steps)


def free_ports(number: int) -> list[int]:
    """Ports that nobody listens on, all different."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def until(ask: Callable[[], T | None], what: str, seconds: float = PATIENCE) -> T:
    """The first answer that is something, asking again and again.

    Raises:
        AssertionError: there was none in time; says what was waited for.
    """
    end = time.monotonic() + seconds
    never = Event()
    while not (answer := ask()):
        assert time.monotonic() < end, f"not within {seconds:.0f} s: {what}"
        never.wait(0.05)
    return answer


def fetch(url: str, query: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None) -> str | None:
    """The text behind a URL, None where there is no answer or an error."""
    address = f"{url}?{urlencode(query)}" if query else url
    try:
        with urlopen(Request(address, headers=dict(headers or {})), timeout=10) as answer:
            return str(answer.read().decode())
    except (URLError, OSError):
        return None


def ask(url: str, query: Mapping[str, str] | None = None) -> Any:
    """The JSON behind a URL, None where there is no answer or an error."""
    text = fetch(url, query)
    return None if text is None else json.loads(text)


class Running(NamedTuple):
    """A program that was started here. `log` is what it printed, both streams."""

    process: subprocess.Popen[bytes]
    log: Path

    def kill(self) -> None:
        """End it at once, as a crash would, and wait until it is gone."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """Ask it to end; if it does not, end it."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.kill()


def start(
    command: Sequence[str], log: Path, ready: Callable[[], object], env: Mapping[str, str] | None = None
) -> Running:
    """Start a program and wait until it is ready.

    Raises:
        AssertionError: it ended, or was not ready in time; shows the end of its log.
    """
    with log.open("ab") as out:
        environment = {**os.environ, **(env or {})}
        process = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=environment
        )
    running = Running(process, log)

    def settled() -> bool:
        return process.poll() is not None or bool(ready())

    try:
        until(settled, f"{command[0]} is ready")
        assert process.poll() is None, f"{command[0]} ended with {process.returncode}"
    except AssertionError as error:
        running.kill()
        raise AssertionError(f"{error}\n{log.read_text(errors='replace')[-3000:]}") from None
    return running


@contextmanager
def started(
    command: Sequence[str], log: Path, ready: Callable[[], object], env: Mapping[str, str] | None = None
) -> Iterator[Running]:
    """A program that runs for the length of a block."""
    running = start(command, log, ready, env)
    try:
        yield running
    finally:
        running.stop()


def run(*command: str, env: Mapping[str, str] | None = None) -> str:
    """What a program prints, both streams.

    Raises:
        AssertionError: it failed.
    """
    done = subprocess.run(
        [program(command[0]), *command[1:]],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **(env or {})},
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr
