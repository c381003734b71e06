"""The documentation builds as a site, every warning an error, and its pages fetch nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

ROOT = Path(__file__).parents[2]
#: attributes of elements that a browser fetches by itself
FETCHED = {("link", "href"), ("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src")}


class Links(HTMLParser):
    """What a page fetches, and where it leads."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.leads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        for key, value in attrs:
            if (tag, key) in FETCHED and value and values.get("rel") != "canonical":
                self.fetched.append(value)
            elif tag == "a" and key == "href" and value:
                self.leads.append(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        check=False,
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


def test_each_page_of_the_documentation_is_there(site: Path) -> None:
    """The index of a folder is its README."""
    pages = [page.relative_to(ROOT / "docs") for page in ROOT.glob("docs/**/*.md")]
    names = [page.with_name("index.html" if page.name == "README.md" else f"{page.stem}.html") for page in pages]
    assert [str(name) for name in names if not (site / name).exists()] == []
    assert len(names) > 40


def test_no_page_fetches_anything_from_elsewhere(site: Path) -> None:
    outside = []
    for page in site.rglob("*.html"):
        links = Links()
        links.feed(page.read_text(encoding="utf-8"))
        outside += [f"{page.name}: {each}" for each in links.fetched if re.match(r"(https?:)?//", each)]
    assert outside == []


def test_each_link_of_each_page_leads_to_a_file(site: Path) -> None:
    broken = []
    for page in site.rglob("*.html"):
        if page.name == "404.html":
            continue  # it is shown for any address, so its links are absolute
        links = Links()
        links.feed(page.read_text(encoding="utf-8"))
        for link in links.leads:
            target, _ = urldefrag(unquote(link))
            if target and not re.match(r"[a-z]+:", target) and not (page.parent / target).exists():
                broken.append(f"{page.relative_to(site)}: {link}")
    assert broken == []
