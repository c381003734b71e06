"""A real browser, and pages in it that are seen to fetch nothing and to complain of nothing."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from citespan.calls import Call
from citespan.report import page

Open: TypeAlias = Callable[..., Page]
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


# of a module: the driver has an event loop in this thread as long as it lives, and asynchronous tests need their own
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's Chromium, without a window."""
    path = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if path is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield chromium
        chromium.close()


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Opens calls as a page from a file. In the end no page has asked for anything else, or complained."""
    asked: list[str] = []
    complaints: list[str] = []
    contexts = []

    def open_page(calls: Iterable[Call], *, title: str = "citespan report", at: str = "", **options: Any) -> Page:
        file = tmp_path / f"report-{len(contexts)}.html"
        file.write_text(page(calls, title=title), encoding="utf-8")
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        context.set_default_timeout(20_000)
        contexts.append(context)
        view = context.new_page()
        view.on("request", lambda request: asked.append(request.url))
        view.on("console", lambda message: complaints.append(message.text))
        view.on("pageerror", lambda error: complaints.append(str(error)))
        view.goto(file.as_uri() + at)
        return view

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
    assert [url for url in asked if not url.startswith(tmp_path.as_uri())] == []
    assert len(asked) == len(contexts)
