"""The page in a real browser: what is seen, clicked, filtered, pointed at, printed."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.report.conftest import Open
from tests.report.runs import HOSTILE, NOON, call, desk, hostile, many, observed, span

from citespan.calls import Argument, Call

ENDS = """
path => {
  const at = point => { const p = point.matrixTransform(path.getScreenCTM()); return [p.x, p.y]; };
  return [at(path.getPointAtLength(0)), at(path.getPointAtLength(path.getTotalLength()))];
}
"""


def row(view: Page, tool: str, place: int = 0) -> Locator:
    """The `place`th row of a tool in the view that is shown."""
    return view.locator(".scroll:not([hidden]) .row:not(.run)", has=view.locator(f'.name:text-is("{tool}")')).nth(place)


def chip(at: Locator, name: str) -> Locator:
    return at.locator(".chip[data-arg]", has_text=re.compile(f"^{name}"))


#: whether the one strong arrow starts at an element
FOLLOWS = f"""chip => {{
    const path = document.querySelector("path.arrow.strong");
    if (!path) return false;
    const [[x, y]] = ({ENDS})(path);
    const box = chip.getBoundingClientRect();
    return box.left - 1 <= x && x <= box.right + 1 && box.top - 1 <= y && y <= box.bottom + 1;
}}"""


def meets(point: list[float], box: Any) -> bool:
    """Whether a point is in a box or at its edge, to a pixel."""
    x, y = point
    return box["x"] - 1 <= x <= box["x"] + box["width"] + 1 and box["y"] - 1 <= y <= box["y"] + box["height"] + 1


def arrow(view: Page) -> tuple[list[float], list[float]]:
    """Where the one strong arrow starts and ends on the screen."""
    path = view.locator("path.arrow.strong")
    expect(path).to_have_count(1)
    start, end = path.evaluate(ENDS)
    return start, end


def tools(view: Page) -> list[str]:
    return view.locator(".scroll:not([hidden]) .row:not(.run) .name").all_text_contents()


def test_it_opens_at_the_last_blocked_call_and_says_what_would_have_helped(opened: Open) -> None:
    """The last of the worst status: chosen, in sight, its reason in words."""
    view = opened(desk())
    panel = view.locator("#detail")
    expect(panel.locator("h2")).to_have_text("send_mailblocked")
    expect(panel.locator(".why")).to_have_text("no accepted source: to.1")
    expect(row(view, "send_mail")).to_have_attribute("aria-selected", "true")
    expect(row(view, "send_mail")).to_be_in_viewport()
    row(view, "patch_file").click(position={"x": 5, "y": 5})
    expect(panel.locator(".card.bad dd").nth(0)).to_have_text("none in this run")
    expect(panel.locator(".card.bad")).to_contain_text("accepted fromlist_files.files.*")
    expect(panel.locator(".card.bad")).to_contain_text("nearestlist_files.files.*get_issue.file")


def test_an_address_can_name_the_call(opened: Open) -> None:
    """`report.html#<span id>` opens there."""
    view = opened(desk(), at=f"#{span(5)}")
    expect(view.locator("#detail h2 .name")).to_have_text("log_time")


@pytest.mark.parametrize("way", ["hover", "focus"])
def test_an_arrow_leads_from_the_argument_to_the_field_of_the_call_that_returned_it(opened: Open, way: str) -> None:
    """It starts at the chip and ends at the source's chip, whether pointed at or reached by keyboard."""
    view = opened(desk())
    argument = chip(row(view, "patch_file", 1), "path")
    getattr(argument, way)()
    start, end = arrow(view)
    source = row(view, "list_files").locator(".chip.field", has_text="files.0")
    expect(source).to_have_class(re.compile("lit"))
    assert meets(start, argument.bounding_box())
    assert meets(end, source.bounding_box())


def test_a_value_that_the_user_said_leads_to_the_run_s_start(opened: Open) -> None:
    """Inputs and messages are chips of the run's own row."""
    view = opened(desk())
    argument = chip(row(view, "list_files"), "root")
    argument.hover()
    start, end = arrow(view)
    assert meets(start, argument.bounding_box())
    assert meets(end, view.locator(".row.run .chip.field", has_text="inputs.root").bounding_box())


def test_a_field_shows_all_that_cites_it(opened: Open) -> None:
    """Arrows come from every chip in sight."""
    view = opened(
        [call(1, "list_files"), *(call(n, "patch_file", observed("path", "list_files", "f", 1)) for n in (2, 3))]
    )
    view.locator(".chip.field").hover()
    expect(view.locator("path.arrow.strong")).to_have_count(2)


def test_the_chosen_call_shows_all_its_arrows_thinner(opened: Open) -> None:
    """Without pointing at anything."""
    view = opened(desk(), at=f"#{span(4)}")
    expect(view.locator("path.arrow:not(.strong)")).to_have_count(1)


def test_a_source_out_of_sight_is_named_at_the_edge(opened: Open) -> None:
    """The arrow ends at a marker with its name, and says in which direction it lies."""
    view = opened([*many(60), call(70, "last", observed("path", "list_files", "files.1", 1))], at=f"#{span(70)}")
    chip(row(view, "last"), "path").hover()
    expect(view.locator(".marker")).to_have_text("↑ list_files.files.1")
    _, end = arrow(view)
    marker = view.locator(".marker").bounding_box()
    assert meets(end, marker)


def test_a_source_that_is_filtered_out_is_named_too(opened: Open) -> None:
    """And clicking the chip takes the filter off to show it."""
    view = opened(desk())
    view.fill("#text", "patch_file")
    expect(view.locator("#count")).to_have_text("3 of 9 calls")
    argument = chip(row(view, "patch_file", 1), "path")
    argument.hover()
    expect(view.locator(".marker")).to_have_text("↑ list_files.files.0, filtered out")
    argument.click()
    expect(view.locator("#text")).to_have_value("")
    expect(row(view, "list_files")).to_be_focused()


def test_a_source_that_is_not_on_the_page_is_named_and_never_guessed(opened: Open) -> None:
    """A tool of the same name is not taken for it."""
    calls = [call(1, "read_mail"), call(2, "send_mail", observed("file", "read_mail", "files.3", 99))]
    view = opened(calls)
    chip(row(view, "send_mail"), "file").hover()
    expect(view.locator(".marker")).to_have_text("read_mail.files.3, not on this page")
    expect(row(view, "read_mail").locator(".chip.field")).to_have_count(0)


def test_an_argument_without_a_source_leads_nowhere(opened: Open) -> None:
    """Its arrow is loose, and says so."""
    view = opened(desk())
    chip(row(view, "patch_file"), "path").hover()
    expect(view.locator("path.arrow.strong.none")).to_have_count(1)
    expect(view.locator(".marker")).to_have_text("no accepted source")


def test_clicking_an_argument_goes_to_its_source_and_shows_it(opened: Open) -> None:
    """From the chip, and from the panel, where each further source can be gone to as well."""
    view = opened(desk(), at=f"#{span(4)}")
    chip(row(view, "patch_file", 1), "path").click()
    expect(row(view, "list_files")).to_be_focused()
    expect(row(view, "list_files")).to_have_class(re.compile("flash"))
    expect(view.locator("#detail h2 .name")).to_have_text("list_files")
    row(view, "patch_file", 1).click(position={"x": 5, "y": 5})
    expect(view.locator("#detail button.go")).to_have_text(
        ["Go to list_files, 300 ms before", "Also in get_issue, 200 ms before"]
    )
    view.get_by_role("button", name="Also in get_issue").click()
    expect(row(view, "get_issue")).to_be_focused()


def test_clicking_a_field_goes_to_who_cites_it(opened: Open) -> None:
    """The other way round."""
    view = opened(desk())
    row(view, "list_files").locator(".chip.field").click()
    expect(row(view, "patch_file", 1)).to_be_focused()


def test_the_panel_tells_each_leaf_of_an_argument(opened: Open) -> None:
    """Path, kind, source, and which one was over budget."""
    view = opened(desk(), at=f"#{span(7)}")
    card = view.locator(".card", has_text="to.0")
    expect(card.locator("li")).to_have_text(["to.1", "to.0 observed ← get_issue.author", "to.1 assumed, counts"])
    expect(view.locator(".card", has_text="read_mail.files.3")).to_contain_text("by basename")


def test_blocked_calls_stand_out(opened: Open) -> None:
    """By a badge with its word and a bar at the edge, beside the colour."""
    view = opened(desk())
    blocked, ok = row(view, "patch_file", 0), row(view, "patch_file", 1)
    expect(blocked.locator(".badge")).to_have_text("blocked")
    shadow = "node => getComputedStyle(node).boxShadow"
    assert blocked.evaluate(shadow) != "none"
    assert ok.evaluate(shadow) == "none"


def test_kinds_differ_by_shape_as_well(opened: Open) -> None:
    """No two kinds have the same sign, and each is named to who does not see it."""
    view = opened(desk())
    signs = view.eval_on_selector_all(
        ".row .chip[data-arg]",
        "nodes => nodes.map(node => [node.dataset.kind, node.querySelector('path').getAttribute('d')])",
    )
    by_kind = dict(signs)
    assert set(by_kind) == {"observed", "user", "schema", "derived", "invented", "assumed"}
    assert len(set(by_kind.values())) == 6
    expect(chip(row(view, "patch_file", 0), "path")).to_have_accessible_name(
        "path : assumed, counts against the budget"
    )
    expect(chip(row(view, "list_files"), "root")).to_have_accessible_name("root : user, from inputs.root, weak")


def test_filters_by_status_kind_tool_and_text(opened: Open) -> None:
    """Together they narrow; the count is told; all come off at once."""
    view = opened(desk())
    told = view.locator("#count")
    expect(told).to_have_text("9 calls")
    view.click('#statuses [data-value="blocked"]')
    expect(told).to_have_text("2 of 9 calls")
    assert tools(view) == ["patch_file", "send_mail"]
    view.click('#statuses [data-value="flagged"]')
    expect(told).to_have_text("3 of 9 calls")
    view.click('#kinds [data-value="observed"]')
    expect(told).to_have_text("1 of 9 calls")
    view.click("#clear")
    expect(told).to_have_text("9 calls")
    expect(view.locator("#clear")).to_be_disabled()
    view.select_option("#tool", "list_files")
    expect(told).to_have_text("2 of 9 calls")
    view.fill("#text", "TIDIER")
    expect(told).to_have_text("1 of 9 calls")
    expect(view.locator(".row.run .name")).to_have_text(["tidier"])
    view.fill("#text", "nothing has this")
    expect(told).to_have_text("0 of 9 calls")
    expect(view.locator("#timeline .empty")).to_be_visible()


def test_next_and_previous_blocked_go_round(opened: Open) -> None:
    """And tell which one of how many."""
    view = opened(desk())
    heading, told = view.locator("#detail h2"), view.locator("#count")
    view.click("#next")
    expect(heading).to_contain_text("patch_file")
    expect(told).to_have_text("patch_file, blocked, 1 of 2")
    view.click("#next")
    expect(heading).to_contain_text("send_mail")
    view.click("#previous")
    expect(heading).to_contain_text("patch_file")
    expect(view.locator("#previous")).to_be_focused()


def test_where_nothing_is_blocked_the_next_worse_status_takes_its_place(opened: Open) -> None:
    """In a run in tag mode: flagged; in a clean run there is nowhere to go."""
    view = opened(desk()[-2:])
    expect(view.locator("#next")).to_contain_text("Next flagged")
    expect(view.locator("#detail h2 .name")).to_have_text("patch_file")
    view = opened(desk()[:1])
    expect(view.locator("#next")).to_be_disabled()
    expect(view.locator("#detail h2")).to_have_text("No call chosen")


def test_the_table_has_a_row_for_each_argument(opened: Open) -> None:
    """Filtered by kind it has the arguments of that kind only; a row shows its call."""
    view = opened(desk())
    view.click("#view-table")
    rows = view.locator("#table .row")
    expect(rows).to_have_count(13)
    expect(rows.nth(4).locator("[role=gridcell]")).to_have_text(
        ["+200 ms", "patch_file", "blocked", "comment", "assumed", "", "", "", ""]
    )
    expect(rows.nth(5).locator("[role=gridcell]")).to_have_text(
        ["+300 ms", "patch_file", "ok", "path", "observed", "list_files.files.0", "", "", "5d41402abc4b2a76"]
    )
    view.click('#kinds [data-value="derived"]')
    expect(rows).to_have_count(1)
    rows.first.click()
    expect(view.locator("#detail h2 .name")).to_have_text("log_time")
    view.get_by_role("button", name="Go to get_issue").click()
    expect(view.locator("#table")).to_be_visible()
    expect(row(view, "get_issue")).to_be_focused()
    view.locator("#table .row", has_text="inputs.root").click()
    view.get_by_role("button", name="Go to the run").click()
    expect(view.locator("#timeline .row.run").first).to_be_focused()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_follows_the_reader_s_theme_and_can_be_turned(opened: Open, scheme: str) -> None:
    """System, dark, light, and round again."""
    view = opened(desk(), color_scheme=scheme)
    colour = "getComputedStyle(document.body).backgroundColor"
    light, dark = "rgb(255, 255, 255)", "rgb(20, 23, 28)"
    assert view.evaluate(colour) == {"light": light, "dark": dark}[scheme]
    seen = []
    for name in ("dark", "light", "system"):
        view.click("#theme")
        expect(view.locator("#theme")).to_have_text(f"Theme: {name}")
        seen.append(view.evaluate(colour))
    assert seen == [dark, light, {"light": light, "dark": dark}[scheme]]


def test_it_prints_every_row_and_no_controls(opened: Open) -> None:
    """Rows that are out of sight too; afterwards the list is short again."""
    view = opened(many(200))
    before = view.locator("#timeline .row").count()
    assert before < 60
    view.emulate_media(media="print")
    expect(view.locator("#timeline .row")).to_have_count(201)
    expect(view.locator("#next")).to_be_hidden()
    expect(view.locator("#text")).to_be_hidden()
    tops = view.eval_on_selector_all("#timeline .row", "nodes => nodes.map(node => node.getBoundingClientRect().top)")
    assert tops == sorted(set(tops)), "one below the other, in order"
    assert view.pdf().startswith(b"%PDF")
    view.emulate_media(media="screen")
    expect(view.locator("#timeline .row").nth(before + 5)).to_have_count(0)


def test_a_print_that_is_cut_says_so(opened: Open) -> None:
    """2,000 rows and the chosen one are printed, and how many there are is told; on the screen nothing is."""
    view = opened(many(2100))
    note = view.locator("#timeline .note")
    expect(note).to_be_hidden()
    view.emulate_media(media="print")
    expect(note).to_have_text("The first 2,000 of 2,101 rows: filter to print others.")
    expect(view.locator("#timeline .row")).to_have_count(2001)
    view.emulate_media(media="screen")
    expect(note).to_be_hidden()
    view = opened(desk())
    view.emulate_media(media="print")
    expect(view.locator("#timeline .note")).to_be_hidden()


def test_a_smaller_window_keeps_the_focus_in_sight_with_its_arrow(opened: Open) -> None:
    """As when a reader zooms in."""
    view = opened(
        [call(number, "list_files") for number in range(1, 9)]
        + [call(9, "use", observed("path", "list_files", "files.0", 8))]
    )
    at = chip(row(view, "use"), "path")
    at.focus()
    arrow(view)
    view.set_viewport_size({"width": 900, "height": 460})
    expect(at).to_be_in_viewport(ratio=1)
    expect(at).to_be_focused()
    view.wait_for_function(FOLLOWS, arg=at.element_handle())  # it is drawn anew after the next frame


def test_reduced_motion_is_respected(opened: Open) -> None:
    """What was gone to is marked without an animation."""
    view = opened(desk(), reduced_motion="reduce")
    chip(row(view, "patch_file", 1), "path").click()
    flashed = view.locator(".row.flash")
    expect(flashed).to_have_count(1)
    assert flashed.evaluate("node => getComputedStyle(node).animationName") == "none"


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_are_shown_and_nothing_runs(opened: Open, text: str) -> None:
    """In both views, in the panel, and in markers; the page has no link at all."""
    view = opened([hostile(text), call(2, text, Argument(text, "assumed"))], title=text)
    view.hover(".chip[data-arg]")
    view.click("#view-table")
    view.locator("#table .row").first.click()
    assert view.evaluate("window.hit") is None
    assert view.locator("#tool option").count() == 3
    assert view.locator("img, a, iframe, [onload], [onerror], main script").count() == 0
    printable = text.isprintable()
    if printable:
        expect(view.locator("#detail h2 .name")).to_have_text(f"{text}/{text}")
        expect(view.locator("h1")).to_have_text(text)
    else:
        expect(view.locator("#detail h2 .name")).to_contain_text("\\")


def test_previews_are_shown_where_the_trace_has_them(opened: Open) -> None:
    """In the chip and in the panel."""
    view = opened([call(1, "read_file", Argument("path", "user", preview="src/<app>.py"))], at=f"#{span(1)}")
    expect(chip(row(view, "read_file"), "path")).to_contain_text("= src/<app>.py")
    expect(view.locator(".card")).to_contain_text("valuesrc/<app>.py")


def test_without_javascript_it_says_what_was_blocked(opened: Open) -> None:
    """As plain text; controls that would do nothing are not shown."""
    view = opened(desk(), java_script_enabled=False)
    expect(view.locator(".plain li")).to_have_text(
        [
            "patch_file: blocked; no accepted source: path",
            "send_mail: blocked; no accepted source: to.1",
            "patch_file: flagged; no accepted source: path",
        ]
    )
    expect(view.locator("#next")).to_be_hidden()
    expect(view.locator("main")).to_be_hidden()


def test_a_page_of_no_calls_opens(opened: Open) -> None:
    """Empty, and says so."""
    view = opened([])
    expect(view.locator("#count")).to_have_text("0 calls")
    expect(view.locator("#timeline .empty")).to_be_visible()


def test_calls_without_ids_and_times_are_numbered(opened: Open) -> None:
    """As recorded runs have them."""
    view = opened([Call(tool, start=place, run="r1", status="ok") for place, tool in enumerate("abc")])
    expect(view.locator("#timeline .row:not(.run) .time")).to_have_text(["#1", "#2", "#3"])
    expect(view.locator(".row.run")).to_contain_text("at an unknown time")


def test_a_run_s_bars_lie_where_its_calls_were(opened: Open) -> None:
    """Scaled to the run: the second half of it starts in the middle."""
    calls = [call(0, "a", start=NOON, end=NOON + 10**9), call(1, "b", start=NOON + 10**9, end=NOON + 2 * 10**9)]
    view = opened(calls)
    lane = row(view, "b").locator(".lane").bounding_box()
    bar = row(view, "b").locator(".lane i").bounding_box()
    assert lane is not None
    assert bar is not None
    assert bar["x"] == pytest.approx(lane["x"] + lane["width"] / 2, abs=2)
    assert bar["width"] == pytest.approx(lane["width"] / 2, abs=3)
