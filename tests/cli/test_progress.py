"""The progress bar: on a terminal, for files that take a while; nowhere else."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.docs.desk import trace

CITESPAN = Path(sys.executable).with_name("citespan")


def told(path: Path, command: str) -> bytes:
    """What a command writes to a terminal that is its standard error."""
    master, terminal = pty.openpty()
    pieces: list[bytes] = []

    def listen() -> None:
        while True:
            try:
                piece = os.read(master, 4096)
            except OSError:  # how Linux says that the other end is closed
                return
            if not piece:
                return
            pieces.append(piece)

    listener = threading.Thread(target=listen)
    listener.start()
    with subprocess.Popen(
        [CITESPAN, command, str(path)], stdout=subprocess.DEVNULL, stderr=terminal, env=os.environ | {"TERM": "xterm"}
    ) as process:
        os.close(terminal)
        assert process.wait(60) in {0, 1, 2}
    listener.join()
    os.close(master)
    return b"".join(pieces)


@pytest.mark.parametrize("command", ["audit", "replay"])
def test_a_bar_is_shown_for_a_file_that_takes_a_while(command: str, tmp_path: Path) -> None:
    path = tmp_path / "file.jsonl"
    if command == "audit":
        trace(path, "app.py")
        path.write_bytes(path.read_bytes() * 200)
    else:
        path.write_text("".join(f'{{"id":"{number}","user_messages":[],"calls":[]}}\n' for number in range(9000)))
    assert path.stat().st_size > 256 * 1024
    assert command.encode() in told(path, command)


def test_none_is_shown_for_a_small_file(tmp_path: Path) -> None:
    path = tmp_path / "file.jsonl"
    trace(path, "app.py")
    assert told(path, "audit") == b""
