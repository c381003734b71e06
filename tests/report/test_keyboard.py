"""The page without a mouse."""

from __future__ import annotations

from playwright.sync_api import Page, expect
from tests.report.conftest import Open
from tests.report.runs import desk, many


def focus(view: Page) -> str:
    """What has the focus, in a word or two."""
    return str(
        view.evaluate(
            """() => {
              const node = document.activeElement;
              if (node.classList.contains("row")) return `row ${node.dataset.index}`;
              if (node.classList.contains("chip")) return `chip ${node.querySelector("span").textContent}`;
              return node.id || node.textContent.trim() || node.tagName;
            }"""
        )
    )


def press(view: Page, *keys: str) -> str:
    for key in keys:
        view.keyboard.press(key)
    return focus(view)


def test_tab_goes_once_through_controls_then_rows_then_the_panel(opened: Open) -> None:
    """The list has one stop, however many rows and chips it has (roving tabindex)."""
    view = opened(desk())
    seen = [press(view, "Tab") for _ in range(20)]
    assert seen[:6] == ["previous", "next", "view-timeline", "view-table", "theme", "text"]
    assert sum(each.startswith(("row", "chip")) for each in seen) == 1
    assert "row 7" in seen, "the chosen call's row"
    assert view.locator('#timeline [tabindex="0"]').count() == 1


def test_arrows_go_through_calls_and_their_arguments(opened: Open) -> None:
    """Rows with up and down, chips with left and right; what has the focus is chosen and shows its arrow."""
    view = opened(desk())
    view.locator("#timeline .row.run").first.focus()
    assert press(view, "ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown") == "row 4"
    expect(view.locator("#detail h2 .name")).to_have_text("patch_file")
    assert press(view, "ArrowRight") == "chip path"
    expect(view.locator("path.arrow.strong")).to_have_count(1)
    expect(view.locator("#detail .card.lit")).to_contain_text("list_files.files.0")
    assert press(view, "ArrowRight") == "chip comment"
    assert press(view, "ArrowRight") == "chip comment", "the last one"
    assert press(view, "ArrowLeft", "ArrowLeft") == "row 4"
    assert press(view, "ArrowRight", "Escape") == "row 4"
    assert press(view, "ArrowRight", "Enter") == "row 1", "the source"
    assert press(view, "End") == "row 10"
    assert press(view, "Home") == "row 0"
    assert press(view, "ArrowUp") == "row 0"
    assert view.locator('#timeline [tabindex="0"]').count() == 1


def test_enter_goes_to_the_panel_and_escape_back(opened: Open) -> None:
    """The panel's heading takes the focus, then its buttons."""
    view = opened(desk())
    view.locator("#timeline .row").nth(4).focus()
    assert press(view, "Enter").startswith("patch_file")
    assert press(view, "Tab").startswith("Go to list_files")
    assert press(view, "Escape") == "row 4"


def test_n_and_p_go_to_the_blocked_calls_and_slash_to_the_filter(opened: Open) -> None:
    """From anywhere but a field that takes text; there they are letters."""
    view = opened(desk())
    assert press(view, "n") == "row 3"
    assert press(view, "n") == "row 7"
    assert press(view, "p") == "row 3"
    assert press(view, "/") == "text"
    press(view, "n", "p")
    expect(view.locator("#text")).to_have_value("np")


def test_single_keys_can_be_switched_off(opened: Open) -> None:
    """For who speaks to the machine (WCAG 2.1.4)."""
    view = opened(desk())
    view.uncheck("#shortcuts")
    view.locator("#timeline .row").nth(1).focus()
    assert press(view, "n") == "row 1"


def test_the_table_is_walked_the_same_way(opened: Open) -> None:
    """Up, down, page, ends; Enter opens the panel."""
    view = opened(many(300))
    view.click("#view-table")
    view.locator("#table .row").first.focus()
    assert press(view, "Home", "ArrowDown", "ArrowDown") == "row 2"
    assert int(press(view, "PageDown").removeprefix("row ")) > 10
    last = int(press(view, "End").removeprefix("row "))
    assert last == sum(len(call.arguments) for call in many(300)) - 1
    expect(view.locator(f'#table .row[data-index="{last}"]')).to_be_in_viewport()
    assert press(view, "Enter").startswith("patch_file")


def test_the_focus_stays_on_a_row_that_is_scrolled_away(opened: Open) -> None:
    """It is kept in the document, and the next key goes on from it."""
    view = opened(many(2000))
    view.locator("#timeline .row").nth(3).focus()
    at = focus(view)
    view.evaluate("document.getElementById('timeline').scrollTop = 60000")
    expect(view.locator('#timeline .row[data-index="1075"]')).to_have_count(1)
    assert focus(view) == at
    assert press(view, "ArrowDown") == f"row {int(at.removeprefix('row ')) + 1}"


def test_rows_say_where_they_are_in_the_whole(opened: Open) -> None:
    """Row numbers and their count are those of the list, not of what is in the document."""
    view = opened(many(500))
    grid = view.get_by_role("grid", name="Tool calls by time")
    expect(grid).to_have_attribute("aria-rowcount", "502")
    numbers = view.eval_on_selector_all(
        "#timeline [role=row]", "nodes => nodes.map(node => Number(node.getAttribute('aria-rowindex')))"
    )
    assert numbers == sorted(set(numbers))
    assert numbers[0] == 1
