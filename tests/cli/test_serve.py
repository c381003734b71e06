"""`citespan serve` listens on loopback, says where, and ends when it is asked to."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.serve.harness import PATIENCE, Service, serving

from citespan.cli import main


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_0(number: signal.Signals) -> None:
    """Both that a person and that a supervisor send; nothing is left on standard error."""
    with serving() as service:
        assert service.alive
        service.process.send_signal(number)
        assert service.process.wait(PATIENCE) == 0


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org", "", "localhost.example.org"])
def test_another_address_than_loopback_is_a_usage_error(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It has no TLS and no tokens; the message says what to do."""
    assert main(["serve", "--host", host, "--port", "0"]) == 64
    assert "put a collector in front" in capsys.readouterr().err


def test_a_port_that_is_taken_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    """And 0 is named as the way out."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        assert main(["serve", "--port", str(other.getsockname()[1])]) == 64
    assert "--port 0" in capsys.readouterr().err


def test_without_its_extra_it_says_what_to_install() -> None:
    """Before anything else happens."""
    program = "import sys; sys.modules['uvicorn'] = None; from citespan.cli import main; sys.exit(main(['serve']))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 64
    assert "uvicorn missing: the service is an extra, pip install 'citespan[serve]'" in done.stderr


def test_a_policy_that_is_not_there_is_78(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """To serve without it would be to call things clean that are not."""
    assert main(["serve", "--port", "0", "--policy", str(tmp_path / "none.toml")]) == 78
    assert "none.toml" in capsys.readouterr().err


def test_ipv6_is_loopback_too() -> None:
    """Where the machine has it."""
    if not socket.has_ipv6:
        pytest.skip("no IPv6")
    command = [sys.executable, "-m", "citespan", "serve", "--host", "::1", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        process.terminate()
    assert line.startswith("listening on http://[::1]:")
    assert process.returncode == 0


def test_the_help_of_other_commands_loads_no_web_framework() -> None:
    """The extra is imported by this command alone."""
    program = "import sys, citespan.cli; assert not {'starlette', 'uvicorn'} & sys.modules.keys()"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_what_runs_is_what_the_line_says() -> None:
    """The port is the one that answers."""
    with serving() as service:
        assert Service(service.process, service.url).get("/healthz").json["status"] == "ok"


def test_a_request_that_outlasts_the_end_is_told_so() -> None:
    """With 503, so that its sender sends it elsewhere; the exit code stays 0, and there is no traceback."""
    with subprocess.Popen(
        [sys.executable, "-m", "citespan", "serve", "--port", "0"], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        port = int(process.stderr.readline().rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
            head = "POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            connection.sendall(f"{head}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n".encode())
            assert connection.recv(1000).startswith(b"HTTP/1.1 100 ")  # its body is waited for
            process.terminate()
            answer = connection.recv(65536)
        said = process.stderr.read()
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert process.returncode == 0
    assert "Traceback" not in said
