"""The tutorial, walked from its first line to its last in an empty folder: what it prints is what the page shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"
_BLOCK = re.compile(
    r"^```(python title=\"(?P<name>[\w.]+)\"|console|text)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
#: what no two runs have in common
_PASSING = re.compile(r"[0-9a-f]{32}|[0-9a-f]{16}|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}| in \d+\.\d+s")


def lines(text: str) -> list[str]:
    return [_PASSING.sub("...", line).strip(" =") for line in text.splitlines() if line.strip()]


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
    """With a guess in the place of the last argument."""
    blocks = {block["name"]: block["text"] for block in _BLOCK.finditer(PAGE.read_text(encoding="utf-8"))}
    guessing = blocks["test_agent.py"].replace('list_files(".")["files"][0])', '"src/main.py")')
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
    assert "no accepted source: path" in done.stdout
