"""Every Python block of the pages runs, in order, in a process and a folder of its own, as a reader would run it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.desk import lines

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str) -> list[str]:
    """The Python blocks of a page; each keeps its line numbers, so that an error names the line of the page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return ["\n" * text.count("\n", 0, found.start(1)) + found[1] for found in _BLOCK.finditer(text)]


def play(sources: list[str], folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    """Run blocks one after the other in one namespace, with no variable of OpenTelemetry or citespan set."""
    script = folder / "play.py"
    script.write_text(
        "import sys\n"
        "space = {'__name__': '__main__'}\n"
        f"for source in {sources!r}:\n"
        f"    exec(compile(source, {name!r}, 'exec'), space)\n",
        encoding="utf-8",
    )
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "CITESPAN_"))}
    environment |= {"XDG_STATE_HOME": str(folder / "state"), "PYTHONWARNINGS": "error::ResourceWarning"}
    command = [sys.executable, str(script)]
    return subprocess.run(
        command, check=False, cwd=folder, env=environment, capture_output=True, text=True, timeout=100
    )


@pytest.mark.parametrize("number", range(len(blocks("README.md"))))
def test_each_block_of_the_readme_runs_by_itself(number: int, tmp_path: Path) -> None:
    done = play([blocks("README.md")[number]], tmp_path, "README.md")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_readme_has_what_it_promises(tmp_path: Path) -> None:
    first, second = blocks("README.md")
    done = play([first], tmp_path, "README.md")
    assert "patch_file.path: in no result, message, input or schema of this run." in done.stdout
    assert (tmp_path / "trace.jsonl").stat().st_size > 0
    play([second], tmp_path, "README.md")
    assert (tmp_path / "state" / "citespan" / "evidence.jsonl").read_text(encoding="utf-8").count("\n") == 2


def test_the_blocks_of_the_api_page_run_in_order(tmp_path: Path) -> None:
    done = play(blocks("docs/python.md"), tmp_path, "docs/python.md")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("refused\n") == 2
    assert done.stdout.endswith("stopped\n")
    for name in ("trace.jsonl", "spans.jsonl", "others.jsonl", "evidence.jsonl"):
        assert (tmp_path / name).stat().st_size > 0, name


def test_the_script_of_the_mcp_page_runs(tmp_path: Path) -> None:
    pytest.importorskip("mcp_server_git")
    page = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
    done = play(blocks("docs/mcp.md"), tmp_path, "docs/mcp.md")
    assert (done.returncode, done.stderr) == (0, "")
    assert "git_add: Files staged successfully\n" in done.stdout
    (said,) = re.findall(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert done.stdout.endswith(said)


def test_the_api_page_names_every_public_name() -> None:
    import citespan

    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    assert [name for name in citespan.__all__ if not re.search(rf"\b{name}\b", page)] == []


def test_the_view_in_the_readme_is_what_show_prints(tmp_path: Path) -> None:
    """But for the time, the span and the policy's digest."""
    play([blocks("README.md")[0]], tmp_path, "README.md")
    done = subprocess.run(
        [sys.executable, "-m", "citespan.cli", "show", "trace.jsonl"],
        check=False,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = lines("BLOCKED" + text.partition("```text\nBLOCKED")[2].partition("```")[0])
    assert [line for line in lines(done.stdout) if line in shown] == shown
