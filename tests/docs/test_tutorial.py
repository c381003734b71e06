"""The tutorial, walked from its first line to its last in an empty folder: what it prints is what the page shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.docs.desk import lines

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"
_BLOCK = re.compile(
    r"^```(python title=\"(?P<name>[\w.]+)\"|console|text)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)


def test_the_tutorial_shows_what_happens(tmp_path: Path) -> None:
    """Each file is saved, each command typed, and each line of output on the page is printed, in its order."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "CITESPAN_", "PYTEST_"))}
    clean |= {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    printed: list[str] = []
    ends: list[int] = []
    for block in _BLOCK.finditer(PAGE.read_text(encoding="utf-8")):
        if block["name"]:
            (tmp_path / block["name"]).write_text(block["text"], encoding="utf-8")
        elif block[1] == "console":
            printed = []
            for line in block["text"].splitlines():
                done = subprocess.run(
                    line, shell=True, check=False, cwd=tmp_path, env=clean, capture_output=True, text=True, timeout=60
                )
                assert "Traceback" not in done.stderr
                printed += lines(done.stdout)
                ends.append(done.returncode)
        else:
            shown = lines(block["text"])
            assert [line for line in printed if line in shown] == shown
    assert ends == [0, 1, 0, 1, 0, 1, 0]
    assert (tmp_path / "report.html").stat().st_size > 1000


def test_the_test_of_the_tutorial_fails_as_it_says(tmp_path: Path) -> None:
    """With a guess in its last line."""
    blocks = {block["name"]: block["text"] for block in _BLOCK.finditer(PAGE.read_text(encoding="utf-8"))}
    good, bad = 'patch_file(list_files(".")["files"][0])', 'list_files("."); patch_file("src/main.py")'
    assert f"Write `{bad}`" in PAGE.read_text(encoding="utf-8")
    guessing = blocks["test_agent.py"].replace(good, bad)
    assert guessing != blocks["test_agent.py"]
    (tmp_path / "test_agent.py").write_text(guessing, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "test_agent.py"],
        check=False,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert "BLOCKED patch_file" in done.stdout
    assert "missing: nearest in this run: list_files.files.*" in done.stdout
