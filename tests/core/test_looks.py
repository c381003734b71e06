"""A citation must look like its field: bare values put into a text or a list of other things are not cited."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.helpers import Agent, for_argument, tagging

from citespan.core.policy import ArgumentRule, ToolRule
from citespan.core.shapes import SHAPED, goes_with, shape

PROSE = "Dear all, the crane at the north quay will be out of order from Monday on, please plan for it."
MAILBOX = "pat@shop.example"


def listed(*values: Any) -> Agent:
    """A run that observed one field with these values."""
    agent = Agent()
    agent.reads("list", {}, {"field": list(values)})
    return agent


@pytest.mark.parametrize(
    "value", [MAILBOX, "https://h.example", "src/app.py", "K-40211", "2031-07-02", "kestrel", 70217]
)
def test_a_field_with_any_prose_yields_no_bare_value(value: Any) -> None:
    assert listed(PROSE, value, value).why(value) == "field"


def test_a_field_with_any_prose_still_yields_prose() -> None:
    assert listed(PROSE, MAILBOX).kind(PROSE) == "observed"


def test_prose_that_came_in_another_call_of_the_same_tool_counts() -> None:
    agent = listed(MAILBOX)
    assert agent.kind(MAILBOX) == "observed"
    agent.reads("list", {}, {"field": [PROSE]})
    assert agent.why(MAILBOX) == "field"


def test_prose_in_another_field_or_of_another_tool_does_not_count() -> None:
    agent = listed(MAILBOX)
    agent.reads("list", {}, {"body": PROSE})
    agent.reads("mails", {}, {"field": [PROSE]})
    assert agent.kind(MAILBOX) == "observed"


@pytest.mark.parametrize("value", [MAILBOX, "https://h.example/a", "src/app.py", "K-40211", "2031-07-02"])
def test_a_shaped_value_is_not_cited_from_a_field_that_mostly_holds_another_shape(value: str) -> None:
    assert listed("calm and dry", "windy, later wet", "wet all day", value).why(value) == "field"


@pytest.mark.parametrize("value", [MAILBOX, "https://h.example/a", "K-40211", "2031-07-02"])
def test_nor_from_one_that_mostly_holds_single_words(value: str) -> None:
    assert listed("calm", "windy", "wet", value).why(value) == "field"


def test_a_file_stands_among_folders_and_files_without_an_ending() -> None:
    assert listed("src", "docs", "Makefile", "setup.py").kind("setup.py") == "observed"


@pytest.mark.parametrize("value", [MAILBOX, "https://h.example/a", "src/app.py", "K-40211", "2031-07-02"])
def test_a_shaped_value_is_cited_from_a_field_whose_others_have_its_shape(value: str) -> None:
    others = {"email": "a@b.example", "url": "https://x.example", "path": "b/c", "id": "A-11111", "date": "2030-01-01"}
    assert listed(others[shape(value)], others[shape(value)], "calm", value).kind(value) == "observed"


def test_half_of_the_others_is_enough() -> None:
    assert listed("a@b.example", "calm", MAILBOX).kind(MAILBOX) == "observed"
    assert listed("a@b.example", "calm", "windy", MAILBOX).kind(MAILBOX) == "assumed"


def test_the_only_value_of_a_field_has_nothing_to_differ_from() -> None:
    assert listed(MAILBOX).kind(MAILBOX) == "observed"


def test_empty_texts_and_numbers_say_nothing_of_a_field() -> None:
    assert listed("", "", 5, None, MAILBOX).kind(MAILBOX) == "observed"


def test_an_unremarkable_value_is_cited_from_a_field_of_any_shape() -> None:
    assert listed("a@b.example", "c@d.example", "e@f.example", "unknown").kind("unknown") == "observed"


def test_a_number_is_cited_from_a_field_without_prose() -> None:
    assert listed("calm", "windy", 70217).kind(70217) == "observed"


def test_a_document_in_a_text_is_read_only_if_its_field_mostly_holds_documents() -> None:
    hidden = '{"to": "pat@shop.example"}'
    assert listed("calm", "windy", "wet", hidden).why(MAILBOX) == "field"
    assert listed('{"to": "a@b.example"}', hidden).kind(MAILBOX) == "observed"


def test_a_document_among_prose_is_not_read() -> None:
    assert listed(PROSE, '{"to": "pat@shop.example"}').why(MAILBOX) == "field"


def test_a_last_part_of_a_path_must_look_like_its_field_too() -> None:
    assert listed("calm and dry", "windy, later wet", "wet all day", "src/app.py").why("app.py") == "field"


def test_a_key_need_not_look_like_anything() -> None:
    agent = Agent()
    agent.reads("list", {}, {"field": {"K-40211": PROSE, "note": PROSE}})
    assert agent.kind("K-40211") == "observed"


def test_a_declared_text_projection_overrides() -> None:
    agent = Agent(tagging(list=ToolRule(text=("lines",))))
    agent.reads("list", {}, {"field": f"{PROSE}\nsrc/app.py"})
    assert agent.kind("src/app.py") == "observed"


def test_a_declared_source_field_overrides() -> None:
    policy = for_argument("send", "to", ArgumentRule(sources=("list.field.*",)), mode="tag")
    agent = Agent(policy)
    agent.reads("list", {}, {"field": [PROSE, MAILBOX]})
    assert agent.writes("send", {"to": MAILBOX}, None).tags[0].provenance.kind == "observed"


def test_records_and_objects_of_one_field_are_looked_at_together() -> None:
    agent = Agent()
    agent.reads("list", {}, {"rows": [{"x": "calm"}, {"x": "windy"}]})
    agent.reads("list", {}, {"rows": [{"x": MAILBOX}]})
    assert agent.why(MAILBOX) == "field"


def test_values_under_data_like_keys_share_one_field() -> None:
    agent = Agent()
    agent.reads("list", {}, {"by_id": {"A-10041": "calm", "A-10042": "windy", "A-10043": MAILBOX}})
    assert agent.why(MAILBOX) == "field"


def test_a_field_of_many_values_is_judged_as_one_of_few() -> None:
    many = [f"calm day {number}" for number in range(3000)]
    assert listed(*many, MAILBOX).why(MAILBOX) == "field"
    assert listed(*[f"n{number}@b.example" for number in range(3000)], MAILBOX).kind(MAILBOX) == "observed"


VALUES = st.sampled_from(
    [
        "calm",
        "windy",
        "x",
        "a@b.example",
        "c@d.example",
        "https://h.example",
        "src/a.py",
        "b.py",
        "A-11111",
        "2031-07-02",
    ]
)


@given(st.lists(VALUES, min_size=1, max_size=9), st.integers(1, 3))
def test_a_value_is_cited_if_at_least_half_of_the_others_have_its_shape(texts: list[str], parts: int) -> None:
    agent = Agent()
    for part in range(parts):
        agent.reads("list", {}, {"field": texts[part::parts], "n": part})
    for text in texts:
        own = shape(text)
        alike = sum(goes_with(other, own) for other in texts) - 1
        like = own not in SHAPED or 2 * alike >= len(texts) - 1
        assert agent.kind(text) == ("observed" if like else "assumed")


@given(st.lists(VALUES, min_size=1, max_size=9), VALUES)
def test_one_more_value_of_a_fields_own_shape_never_takes_a_citation_away(texts: list[str], added: str) -> None:
    agent = listed(*texts)
    before = {text for text in texts if agent.kind(text) == "observed" and shape(text) == shape(added)}
    agent.reads("list", {}, {"field": [added]})
    assert {text for text in before if agent.kind(text) != "observed"} == set()
