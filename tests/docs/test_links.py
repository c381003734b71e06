"""Each link of the pages leads to a file that is there, and each `#anchor` to a heading of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("changelog.d/*.md")])
_FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def links(page: Path) -> list[str]:
    """Where the links of a page go, but those to other sites."""
    found = _LINK.findall(_CODE.sub("code", prose(page)))
    return [link for link in found if not link.startswith(("https://", "http://"))]


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    found: list[str] = []
    for line in prose(page).splitlines():
        if re.match(r"#{1,6} ", line):
            found.append(re.sub(r"[^\w -]", "", line.lstrip("#").strip().lower()).replace(" ", "-"))
    return {name if name not in found[:at] else f"{name}-{found[:at].count(name)}" for at, name in enumerate(found)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    broken = []
    for link in links(page):
        place, _, anchor = link.partition("#")
        target = (page.parent / place).resolve() if place else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


def test_the_readme_links_every_page() -> None:
    linked = {(ROOT / link.partition("#")[0]).resolve() for link in links(ROOT / "README.md")}
    assert [page.name for page in ROOT.glob("docs/*.md") if page not in linked] == []


def test_the_list_of_decisions_has_each_with_its_title() -> None:
    text = (ROOT / "docs/adr/README.md").read_text(encoding="utf-8")
    for page in sorted(ROOT.glob("docs/adr/0*.md")):
        title = page.read_text(encoding="utf-8").partition("\n")[0].removeprefix(f"# {page.name[:4]}: ")
        assert f"| [{page.name[:4]}]({page.name}) | {title} |\n" in text


def test_a_section_of_the_design_that_is_named_is_there() -> None:
    page = (ROOT / "docs/design.md").read_text(encoding="utf-8")
    there = set(re.findall(r"^## (\d)\.", page, re.MULTILINE))
    five = page.partition("## 5.")[2].partition("## 6.")[0]
    there |= {f"5.{number}" for number in re.findall(r"^(\d)\. ", five, re.MULTILINE)}
    named: set[str] = set()
    for source in [*ROOT.glob("src/**/*.py"), *ROOT.glob("docs/adr/*.md")]:
        for run in re.findall(r"[Dd]esign,? sections? ([\d.]+\d|\d)(?: and (\d))?", source.read_text(encoding="utf-8")):
            named |= {number for number in run if number}
    assert named - there == set()
    assert len(named) > 7
