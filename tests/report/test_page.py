"""The page as a text: what is in it, what cannot be in it, and how large it gets."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.report.runs import HOSTILE, NOON, OTHER, TRACE, call, desk, hostile, many, span

import citespan
from citespan.calls import Argument, Call, Cited, Leaf
from citespan.calls.read import read_calls
from citespan.report import MOST, page
from citespan.report.gather import MOST_BYTES, gather
from citespan.report.rows import MAX_ARGUMENTS, MAX_TEXT


class Elements(HTMLParser):
    """Every element of a page with its attributes, and the text inside scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, tuple[tuple[str, str | None], ...]]] = []
        self.texts: dict[str, list[str]] = {"script": [], "style": [], "title": [], "h1": []}
        self._inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, tuple(attrs)))
        self._inside = tag
        if tag in self.texts:
            self.texts[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside in self.texts:
            self.texts[self._inside][-1] += data


def data_of(text: str) -> Any:
    return json.loads(Elements(text).texts["script"][0])


def shown(text: str) -> list[dict[str, Any]]:
    return [facts for run in data_of(text)["runs"] for _, _, facts in run["calls"]]


def shape(text: str) -> list[str]:
    """The elements of a page but the lines for readers without JavaScript, of which there is one per call."""
    return [tag for tag, _ in Elements(text).found if tag not in {"li", "ul"}]


def test_nothing_in_it_points_outside() -> None:
    """No element names another resource, and the style fetches none."""
    elements = Elements(page(desk()))
    attributes = {name for _, attributes in elements.found for name, _ in attributes}
    assert not attributes & {"src", "href", "srcset", "data", "action", "poster", "style"}
    assert not {tag for tag, _ in elements.found} & {"link", "img", "iframe", "object", "embed", "form", "base", "a"}
    assert "url(" not in elements.texts["style"][0]
    assert "@import" not in elements.texts["style"][0]


def test_its_policy_lets_in_this_style_and_this_script_and_nothing_else() -> None:
    """The Content Security Policy names the digests of the two inline texts."""
    elements = Elements(page(desk()))
    policies = [dict(attributes) for tag, attributes in elements.found if tag == "meta"]
    (policy,) = (each["content"] for each in policies if each.get("http-equiv") == "Content-Security-Policy")

    def digest(text: str) -> str:
        return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"

    assert policy == (
        f"default-src 'none'; style-src {digest(elements.texts['style'][0])}; "
        f"script-src {digest(elements.texts['script'][1])}; base-uri 'none'; form-action 'none'"
    )


def test_the_script_makes_no_html_from_text() -> None:
    """What others wrote becomes text: the script has no way to parse markup, or to run a text."""
    script = Elements(page([])).texts["script"][1]
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|Function\(|DOMParser", script)


@pytest.mark.parametrize("text", HOSTILE)
def test_names_are_text_whatever_they_are(text: str) -> None:
    """A hostile text in every field, and in the title, adds no element; controls are visible escapes."""
    made = page([hostile(text)], title=text)
    assert shape(made) == shape(page([hostile("plain")], title="plain"))
    (facts,) = shown(made)
    assert facts["t"].count("/") >= 1
    assert not re.search(
        "[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]", json.dumps(facts, ensure_ascii=False)
    )
    assert not re.search("[<>&]", Elements(made).texts["script"][0])


@settings(deadline=None, max_examples=60)
@given(st.text(st.characters(exclude_categories=()), max_size=40))
def test_no_text_breaks_out(text: str) -> None:
    """Whatever the text: the same elements, and data that is JSON."""
    made = page([hostile(text)], title=text)
    assert shape(made) == shape(page([hostile("plain")], title="plain"))
    made.encode()


def test_a_printable_name_stays_as_it_is() -> None:
    """Only what cannot be seen is rewritten."""
    (facts,) = shown(page([Call("ファイル<b>&amp; \\u003c", status="ok")]))
    assert facts["t"] == "ファイル<b>&amp; \\u003c"


def test_the_title_is_the_page_s_and_the_heading_s() -> None:
    """Escaped once."""
    elements = Elements(page([], title='before & "after" <1>'))
    assert elements.texts["title"] == ['before & "after" <1>'] == elements.texts["h1"]


def test_500_calls_are_less_than_a_megabyte() -> None:
    """With four arguments each, three of them cited."""
    assert len(page(many(500)).encode()) < 1_000_000


def test_runs_come_by_their_start_and_calls_by_time() -> None:
    """Whatever the order of the file; a conversation over two traces is one run."""
    calls = desk()
    later = call(9, "tidy", trace_id=OTHER)
    data = data_of(page([*reversed(calls), later]))
    assert [[facts["t"] for _, _, facts in run["calls"]] for run in data["runs"]] == [
        ["list_files", "get_issue", "patch_file", "patch_file", "log_time", "create_file", "send_mail", "tidy"],
        ["list_files", "patch_file"],
    ]
    assert [times[:2] for times in data["runs"][0]["calls"]][:3] == [[0, 40_000], [100_000, 40_000], [200_000, 40_000]]
    assert data["runs"][0]["start"] == NOON // 1_000_000 + 100


def test_a_trace_is_a_run_where_no_conversation_is_named() -> None:
    """Grouped by trace id."""
    calls = [call(1, "a", run=""), call(2, "b", run="", trace_id=OTHER), call(3, "c", run="")]
    assert [len(run["calls"]) for run in data_of(page(calls))["runs"]] == [2, 1]


def test_the_span_of_a_framework_inside_a_judged_call_is_no_call() -> None:
    """Status "within" is dropped, uncounted."""
    data = data_of(page([call(1, "a"), call(2, "a", status="within")]))
    assert (data["total"], len(data["runs"][0]["calls"])) == (1, 1)


@pytest.mark.parametrize(
    "start, end, times",
    [
        (0, 0, [None, None]),
        (NOON, NOON - 1, [0, None]),
        (-5, NOON, [None, None]),
        (2**200, 2**201, [None, None]),
        (3, 0, [None, None]),
    ],
)  # fmt: skip
def test_times_that_make_no_sense_are_unknown(start: int, end: int, times: list[int | None]) -> None:
    """Among them the small numbers by which recorded runs order their calls."""
    ((offset, duration, _),) = data_of(page([Call("a", start=start, end=end)]))["runs"][0]["calls"]
    assert [offset, duration] == times


def test_recorded_runs_keep_their_order() -> None:
    """Calls of which only the number is known."""
    calls = [Call(tool, start=position, run="r") for position, tool in ((2, "c"), (0, "a"), (1, "b"))]
    assert [facts["t"] for facts in shown(page(calls))] == ["a", "b", "c"]


def test_the_newest_calls_stay_and_the_page_says_how_many_went() -> None:
    """Of what was left out it says how much of it somebody should look at."""
    gathered = gather(many(120), most=100)
    assert (gathered.calls, gathered.left_out, gathered.left_out_troubled) == (120, 20, 1)
    assert [row.start for row in gathered.runs[0].rows] == [each.start for each in many(120)[20:]]
    assert MOST == 20_000
    data = data_of(page(call(number, "a", span_id="", agent="") for number in range(MOST + 5)))
    assert (data["total"], data["left_out"], data["left_out_troubled"]) == (MOST + 5, 5, 0)


def test_its_data_is_bounded_in_bytes_too() -> None:
    """Large calls go before there are many of them."""
    gathered = gather(many(200), most_bytes=20_000)
    kept = [len(row.body) for run in gathered.runs for row in run.rows]
    assert 15_000 < sum(kept) <= 20_000
    assert gathered.left_out == 200 - len(kept)
    assert MOST_BYTES <= 32 * 1024 * 1024


def test_one_call_is_bounded() -> None:
    """A call with endless arguments, lists and texts is cut, and says so."""
    long = "x" * 100_000
    argument = Argument(
        long, "assumed", Cited(long, long, long), leaves=(Leaf(long, "assumed"),) * 1000, accepts=(long,) * 1000
    )
    (facts,) = shown(page([Call(long, arguments=(argument,) * 1000, violations=(long,) * 1000, status="blocked")]))
    assert len(facts["t"]) == MAX_TEXT + 1
    assert (len(facts["a"]), facts["more"]) == (MAX_ARGUMENTS, 1000 - MAX_ARGUMENTS)
    assert facts["a"][0]["more"] == 1000 - len(facts["a"][0]["lv"])
    assert facts["a"][0]["ac"][-1] == "and 968 more"


def test_a_page_of_no_calls_says_so() -> None:
    """To readers without JavaScript too."""
    assert "0 of 0 tool calls" in page([])
    assert data_of(page([]))["runs"] == []


def test_violations_are_in_words() -> None:
    """Those of an unknown rule stay as they are."""
    texts = ("required_source=[path]", "run_budget=6 of 5", "weather=[rain]", "odd")
    (facts,) = shown(page([Call("a", status="blocked", violations=texts)]))
    assert facts["v"] == [
        "not from a field that the policy names: path",
        "the run has used up its budget: 6 of 5",
        "weather=[rain]",
        "odd",
    ]


def test_no_value_is_in_the_page_of_a_trace_without_previews(tmp_path: Path) -> None:
    """What the tools were given and returned stays where it was; a reader sees names and digests."""
    tools = citespan.TracedTools(
        {"find": lambda who: {"id": "KLM-40211"}, "pay": lambda id: "paid"}, inputs={"who": "rosa@example.org"}
    )
    found = tools.call("find", who="rosa@example.org")
    tools.call("pay", id=found["id"])
    tools.dump(tmp_path / "trace.jsonl")
    made = page(read_calls(tmp_path / "trace.jsonl"))
    assert [facts["t"] for facts in shown(made)] == ["find", "pay"]
    assert "KLM-40211" not in made
    assert "rosa@" not in made


def test_a_source_in_another_trace_is_told_by_its_trace() -> None:
    """Span ids alone do not tell two traces apart."""
    (facts,) = shown(page([desk()[3]._replace(trace_id=OTHER)]))
    assert facts["a"][0]["c"] == ["list_files", "files.0", span(1), TRACE]
