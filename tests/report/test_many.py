"""10,000 calls: the document stays small, and what a reader does costs what it costs with few."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

import pytest
from playwright.sync_api import Page, expect
from tests.report.conftest import Open
from tests.report.runs import call, many, span

from citespan.calls import Argument

MANY = 10_000
#: milliseconds of work for each of some steps through the list
SCROLLS = """
async () => {
  const list = document.getElementById("timeline");
  const step = Math.floor((list.scrollHeight - list.clientHeight) / 30);
  const took = [];
  for (let n = 1; n <= 30; n++) {
    const before = performance.now();
    list.scrollTop = n * step;
    await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
    took.push(performance.now() - before);
  }
  return took;
}
"""
FILTERS = """
async () => {
  const field = document.getElementById("text");
  const took = [];
  for (const text of ["l", "li", "lis", "list", "list_files", "owner.name", "nothing", ""]) {
    const before = performance.now();
    field.value = text;
    field.dispatchEvent(new Event("input"));
    await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
    took.push(performance.now() - before);
  }
  return took;
}
"""


def nodes(view: Page) -> int:
    return int(view.evaluate("document.querySelectorAll('*').length"))


def test_the_document_does_not_grow_with_the_calls(opened: Open) -> None:
    """As many elements as with 500 calls, at the top, in the middle, and in the table."""
    few, lots = opened(many(500)), opened(many(MANY))
    for act in (
        lambda view: None,
        lambda view: view.evaluate("document.getElementById('timeline').scrollTop = 9000"),
        lambda view: view.click("#view-table"),
    ):
        act(few)
        act(lots)
        expect(lots.locator(".scroll:not([hidden]) .row").first).to_be_attached()
        assert nodes(lots) < nodes(few) * 1.3
    assert nodes(lots) < 3000


def test_a_table_that_no_browser_could_hold_is_cut_and_says_so(opened: Open) -> None:
    """Its last row can be seen; the timeline has every call, and going to one that the table has not leads there."""
    arguments = (Argument("a", "user"),) * 62
    view = opened(
        [call(number, "use", *arguments) for number in range(1, 8_101)] + [call(9_000, "last", status="blocked")]
    )
    view.click("#view-table")
    note = view.locator("#table .note")
    expect(note).to_have_text("The first 499,968 of 502,201 rows: filter to see others.")
    view.locator("#table .row").first.focus()
    view.keyboard.press("End")
    expect(view.locator("#table .row:focus")).to_be_in_viewport(ratio=1)
    view.click("#next")
    expect(view.locator("#timeline .row:not(.run)", has_text="last")).to_be_in_viewport()
    view.locator("#text").fill("last")
    view.click("#view-table")
    expect(note).to_be_hidden()


def test_filters_and_jumps_reach_all_of_them(opened: Open) -> None:
    """The last call by key, one by its id, the blocked ones by status."""
    view = opened(many(MANY))
    expect(view.locator("#count")).to_have_text("10,000 calls")
    view.locator("#timeline .row").first.focus()
    view.keyboard.press("End")
    expect(view.locator(f'#timeline .row[data-index="{MANY}"]')).to_be_focused()
    view.fill("#text", span(7777))
    expect(view.locator("#count")).to_have_text("1 of 10,000 calls")
    view.fill("#text", "")
    view.click('#statuses [data-value="blocked"]')
    expect(view.locator("#count")).to_have_text("200 of 10,000 calls")
    view.click("#view-table")
    expect(view.locator("#table .row").first).to_be_visible()


@pytest.mark.parametrize("work, most", [(SCROLLS, 4), (FILTERS, 20)], ids=["scrolling", "filtering"])
def test_they_cost_no_more_than_few(
    opened: Open, work: str, most: float, record_property: Callable[[str, object], None]
) -> None:
    """A step of scrolling costs the same with 10,000 calls as with 500; filtering is linear, 20 times as many."""
    few, lots = opened(many(500)), opened(many(MANY))
    times = [median(view.evaluate(work)) for view in (few, lots)]
    heap = lots.evaluate("performance.memory.usedJSHeapSize / 2 ** 20")
    record_property("milliseconds with 500 and with 10,000 calls", times)
    print(f"500 calls: {times[0]:.1f} ms, 10,000 calls: {times[1]:.1f} ms, heap {heap:.0f} MiB")
    assert times[1] < times[0] * most
