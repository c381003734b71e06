"""The report page works in a browser as the service serves it: its script may run, and nothing complains."""

from __future__ import annotations

import shutil

import pytest
from playwright.sync_api import sync_playwright
from tests.serve.harness import Service, recorded


def test_the_page_runs_under_the_policy_that_it_is_served_with(service: Service) -> None:
    """The policies of the header and of the page itself agree on the script, and nothing else is asked for."""
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next((found for name in names if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    sent = recorded(uncited=True)
    service.send(sent.body())
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{service.url}/traces/{sent.trace_id}/report")
        # drawn by the script: the button is the page's own, the row is of the data
        page.get_by_role("button", name="Table").or_(page.get_by_role("tab", name="Table")).first.click()
        page.get_by_text("delete_file", exact=True).locator("visible=true").first.wait_for()
        browser.close()
    assert complaints == []
