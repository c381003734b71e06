"""What commands write: into files, whole or not at all; onto terminals, nothing that drives one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citespan.errors import UsageError
from citespan.files.texts import plain, plain_json
from citespan.files.whole import write_whole


@pytest.mark.parametrize(
    "hostile, shown",
    [
        ("\x1b[2J\x1b]0;owned\x07", r"\x1b[2J\x1b]0;owned\x07"),
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("\x9b31m\x7f", r"\x9b31m\x7f"),
        ("safe\u202egnp.exe", r"safe\u202egnp.exe"),
        ("\ud800", r"\ud800"),
        ("zero\u200bwidth\ufeff", r"zero\u200bwidth\ufeff"),
        ("tag\U000e0041", r"tag\U000e0041"),
    ],
    ids=["escape", "breaks", "C1", "bidi", "surrogate", "unseen", "tags"],
)
def test_what_drives_a_terminal_becomes_visible(hostile: str, shown: str) -> None:
    """An escape sequence, a line break, a turn of direction, a character of no width: all are seen."""
    assert plain(hostile) == shown


@pytest.mark.parametrize("text", ["list_files", "größe", "工具", "🙂", "a\\x1b"])
def test_what_can_be_printed_stays(text: str) -> None:
    """Letters of any script, and text that looks like an escape already."""
    assert plain(text) == text


@given(st.text(st.characters(codec=None)))
def test_what_is_left_can_be_encoded_and_is_one_line(text: str) -> None:
    """Whatever a file holds."""
    shown = plain(text)
    assert shown.encode("utf-8").isascii() or not shown.isascii()
    assert len(shown.splitlines()) <= 1
    assert not any(ord(character) < 0x20 or 0x7F <= ord(character) < 0xA0 for character in shown)


@given(st.text(), st.sampled_from([None, 2]))
def test_json_says_the_same_and_drives_no_terminal(text: str, indent: int | None) -> None:
    """JSON leaves characters beyond U+001F as they are; a terminal obeys some of those."""
    written = json.dumps({"tool": [text]}, ensure_ascii=False, indent=indent)
    shown = plain_json(f"{written}\n".encode()).decode()
    assert json.loads(shown) == {"tool": [text]}
    assert all(plain(line) == line for line in shown.split("\n"))


@pytest.mark.parametrize("data, there", [("é", "é".encode()), (b"\xff", b"\xff"), ("\ud800", b"?")])
def test_text_is_utf8_and_bytes_are_bytes(data: str | bytes, there: bytes, tmp_path: Path) -> None:
    """A lone surrogate is no reason to fail."""
    write_whole(str(tmp_path / "out"), data)
    assert (tmp_path / "out").read_bytes() == there


def test_a_link_stays_a_link_and_a_mode_stays(tmp_path: Path) -> None:
    """What the link leads to is replaced."""
    kept, link = tmp_path / "kept", tmp_path / "link"
    kept.write_text("old")
    kept.chmod(0o640)
    link.symlink_to(kept)
    write_whole(str(link), "new")
    assert link.is_symlink()
    assert kept.read_text() == "new"
    assert kept.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept", "link"]


def test_what_cannot_be_written_whole_changes_nothing(tmp_path: Path) -> None:
    """No file may have more than 100 bytes here: the old one stays, and no part of the new one."""
    output = tmp_path / "out"
    output.write_text("old")
    program = (
        "import resource, sys; from citespan.files.whole import write_whole; "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)); write_whole(sys.argv[1], b'x' * 200)"
    )
    command = [sys.executable, "-c", program, str(output)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert f"UsageError: {output}: cannot be written: File too large" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert output.read_text() == "old"


def test_a_pipe_is_written_to_as_it_is(tmp_path: Path) -> None:
    """It is not replaced by a file."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_whole(str(pipe), "page")
    reader.join(30)
    assert read == [b"page"]
    assert pipe.is_fifo()


def test_standard_output_can_be_named() -> None:
    """`-o /dev/stdout`, into a pipe."""
    program = "from citespan.files.whole import write_whole; write_whole('/dev/stdout', 'page')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "page", "")


@pytest.mark.parametrize(
    "name, reason",
    [
        ("none/out", "No such file or directory"),
        (".", "Is a directory"),
        ("file/out", "Not a directory"),
        ("a\0b", "this names no file"),
        ("x" * 300, "File name too long"),
    ],
)
def test_it_says_why_it_cannot(name: str, reason: str, tmp_path: Path) -> None:
    """And makes neither folder nor file."""
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=rf"cannot be written: {reason}"):
        write_whole(f"{tmp_path}/{name}", "page")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
