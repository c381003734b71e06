"""The page under axe-core, in each theme and view."""

from __future__ import annotations

import re

import pytest
from tests.report.conftest import Open
from tests.report.runs import desk
from tools import programs

LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


@pytest.fixture(scope="module")
def axe() -> str:
    """The script of axe-core, as tools/axe pins it."""
    path = programs.axe_path()
    if not path.exists():
        pytest.skip("no axe-core here: make tools (needs npm)")
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["timeline", "table"])
@pytest.mark.parametrize("width", [1280, 700])
def test_no_mistake_is_found(opened: Open, axe: str, scheme: str, name: str, width: int) -> None:
    """Nor anything that axe-core could not decide about the contrast of a text."""
    size = {"width": width, "height": 1600}  # no row lies half under the headings, where its contrast is not looked at
    view = opened(desk(), color_scheme=scheme, viewport=size, reduced_motion="reduce")
    view.click(f"#view-{name}")
    if name == "timeline":
        view.locator(".chip[data-counted]").first.focus()
    view.evaluate("document.getElementById('overlay').remove()")  # it lies over the rows, whose contrast is looked at
    view.evaluate(axe)
    found = view.evaluate("levels => axe.run(document, { runOnly: levels })", LEVELS)
    assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in found["violations"]] == []
    assert len(found["passes"]) > 20
    undecided = [node["html"] for each in found["incomplete"] for node in each["nodes"]]
    assert [html for html in undecided if not re.fullmatch(r"<(\w+)[^>]*>[←→↑↓]</\1>", html)] == []
