"""docs/pytest.md: its Python blocks are a test module, and it fails as the page says."""

from __future__ import annotations

import re
from pathlib import Path

from tests.testing.conftest import POLICY, Project

pytest_plugins = ["pytester"]

PAGE = (Path(__file__).parents[2] / "docs" / "pytest.md").read_text(encoding="utf-8")
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TEXT = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def same(text: str) -> str:
    """A text without what differs from run to run."""
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ UTC", "TIME", text)
    return re.sub(r"\b[0-9a-f]{16}\b", "ID", text)


def test_its_blocks_run_and_fail_as_it_says(project: Project) -> None:
    (project.folder / "citespan.toml").write_text(POLICY)
    (project.folder / "test_page.py").write_text("\n\n".join(_BLOCK.findall(PAGE)))
    done = project.spawn("-q", "test_page.py")
    assert re.findall(r"^FAILED test_page.py::(\w+)", done.text, re.MULTILINE) == [
        "test_the_agent_patches_what_it_was_asked_to",
        "test_nothing_is_made_up",
    ], done.text
    assert "2 failed, 2 passed" in done.text
    (said,) = _TEXT.findall(PAGE)
    assert same(said).strip() in same(done.text)
