"""Projections: each in what it admits, and in what it does not. The table names them all."""

from __future__ import annotations

import time
from typing import Any

import pytest
from tests.core.helpers import Agent, tagging
from tests.pace import pace

from citespan.core.policy import ToolRule
from citespan.core.projections import PROJECTIONS, abbreviates, basename, git_sha, lines, normal_path, paths, tokens

DEFAULT = ["exact", "key", "json", "posix_path", "basename"]
TEXT = ["lines", "key_value", "json_lines", "table", "paths", "git_sha", "url", "regex", "tokens"]
ARGUMENT = ["dirname", "stem", "casefold", "number", "date_part", "join"]
FULL = "5d41402abc4b2a76b9719d911017c592aaf3e2d1"


def shown(result: Any, value: Any, *text: str) -> str:
    """The projection by which a value is cited from a result, "" where it is not."""
    agent = Agent(tagging(tool=ToolRule(text=text or None)))
    agent.reads("tool", {}, result)
    sources = agent.sources(value)
    return sources[0].projection if sources else ""


@pytest.mark.parametrize("stage, names", [("default", DEFAULT), ("text", TEXT), ("argument", ARGUMENT)])
def test_the_table_names_every_projection_at_its_stage(stage: str, names: list[str]) -> None:
    assert {row.name for row in PROJECTIONS.values() if row.stage == stage} == set(names)


def test_every_projection_has_its_own_name_as_key_and_a_sentence_for_the_documentation() -> None:
    for name, row in PROJECTIONS.items():
        assert row.name == name
        assert row.brief.endswith(".")


def test_a_text_projection_that_is_ready_can_read_a_text() -> None:
    for row in PROJECTIONS.values():
        if row.stage == "text" and row.ready:
            assert row.pieces is not None
            assert list(row.pieces("")) == []


# exact


def test_a_leaf_is_cited_as_it_is() -> None:
    assert shown({"name": "Ada Byron"}, "Ada Byron") == "exact"


@pytest.mark.parametrize(
    "other", ["ada byron", "Ada Byron ", "Ada  Byron", "Ada", "Byron", "Ada Byro", "Ada\u00a0Byron"]
)
def test_another_spelling_or_a_part_of_a_leaf_is_not_cited(other: str) -> None:
    assert shown({"name": "Ada Byron"}, other) == ""


# key


def test_a_key_of_an_observed_object_is_cited() -> None:
    assert shown({"totals": {"Lisbon": 4}}, "Lisbon") == "key"


def test_a_key_of_an_object_in_a_list_is_cited() -> None:
    assert shown([{"Lisbon": 4}, {"Lisbon": 5}], "Lisbon") == "key"


def test_a_key_of_a_document_inside_a_text_is_cited() -> None:
    assert shown({"body": '{"Lisbon": 4}'}, "Lisbon") == "key"


def test_an_index_is_no_key() -> None:
    assert shown({"rows": ["x", "y"]}, "1") == ""
    assert shown({"rows": ["x", "y"]}, 1) == ""


def test_a_dotted_path_is_no_key() -> None:
    assert shown({"totals": {"Lisbon": 4}}, "totals.Lisbon") == ""


# json


@pytest.mark.parametrize("value", ["kestrel", 5120, None, True, []])
def test_a_leaf_of_a_text_that_is_wholly_a_json_document_is_cited(value: Any) -> None:
    assert shown({"body": '{"bird": "kestrel", "n": [5120, null, true, []]}'}, value) == "json"


def test_a_document_inside_a_document_is_read_as_well() -> None:
    assert shown({"body": '{"inner": "{\\"bird\\": \\"kestrel\\"}"}'}, "kestrel") == "json"


@pytest.mark.parametrize(
    "text",
    ['see {"bird": "kestrel"}', '{"bird": "kestrel"} ok', '{"bird": "kestrel"', "{'bird': 'kestrel'}", '"kestrel"'],
)
def test_a_text_that_only_contains_a_document_or_a_broken_one_is_not_read(text: str) -> None:
    assert shown({"body": text}, "kestrel") == ""


def test_the_path_of_a_leaf_in_a_document_goes_through_the_text_that_holds_it() -> None:
    agent = Agent()
    agent.reads("tool", {}, {"mails": [{"body": '{"birds": ["heron", "kestrel"]}'}]})
    assert agent.cites("kestrel") == ("mails.0.body.birds.1", "json")


# posix_path


@pytest.mark.parametrize(
    "seen, used",
    [("./app.py", "app.py"), ("app.py", "./app.py"), ("src//app.py", "src/app.py"), ("src/app.py", "src/./app.py")],
)
def test_two_forms_of_one_path_cite_each_other(seen: str, used: str) -> None:
    assert shown({"files": [seen]}, used) == "posix_path"


@pytest.mark.parametrize(
    "used", ["/src/app.py", "src/App.py", "lib/../src/app.py", "src", "src/", "src/app", "rc/app.py"]
)
def test_another_path_is_not_cited(used: str) -> None:
    assert shown({"files": ["src/app.py"]}, used) == ""


def test_a_path_inside_a_sentence_is_not_cited() -> None:
    assert shown({"note": "moved to src/app.py"}, "src/app.py") == ""


@pytest.mark.parametrize(
    "text, normal",
    [
        ("a/b", "a/b"),
        ("./a", "a"),
        ("a/./b//c/", "a/b/c"),
        ("/", "/"),
        ("//a", "/a"),
        ("a/../b", None),
        ("..", None),
        (".", None),
        ("", None),
        ("https://h.example/a", None),
        ("a\nb", None),
        ("a\0b", None),
        ("a/" * 600, None),
    ],
)
def test_a_path_has_a_normal_form_unless_it_climbs_or_is_no_plain_path(text: str, normal: str | None) -> None:
    assert normal_path(text) == normal


# basename


@pytest.mark.parametrize("seen", ["src/app.py", "/srv/src/app.py", "./app.py", "/My Docs/app.py", "src/app.py/"])
def test_the_last_part_of_a_path_is_cited(seen: str) -> None:
    assert shown({"files": [seen, "src/db.py"]}, "app.py") in {"basename", "posix_path"}


@pytest.mark.parametrize("used", ["src", "app", "py", "pp.py", "src/", "lib/app.py"])
def test_any_other_part_of_a_path_is_not_cited(used: str) -> None:
    assert shown({"files": ["src/app.py"]}, used) == ""


@pytest.mark.parametrize(
    "text",
    [
        "18/05/2031",
        "1/2",
        "https://h.example/a",
        "text/html",
        "app.py",
        "see a/b for it",
        "please open src/app.py",
        "a/..",
        "a/.",
        "/",
        "",
        "a/\nb",
    ],
)
def test_what_is_no_path_has_no_last_part(text: str) -> None:
    assert basename(text) is None


# text projections


@pytest.mark.parametrize("name", [name for name in TEXT if PROJECTIONS[name].ready])
def test_no_piece_of_a_text_is_cited_unless_the_policy_declares_how_for_that_tool(name: str) -> None:
    text = f"kestrel\nsrc/app.py {FULL}\n"
    for value in ("kestrel", "src/app.py", FULL, FULL[:9]):
        assert shown(text, value) == ""


def test_a_declaration_holds_for_its_tool_only() -> None:
    agent = Agent(tagging(ls=ToolRule(text=("lines",))))
    agent.reads("cat", {}, "heron\nkestrel")
    assert agent.kind("kestrel") == "assumed"


def test_lines_are_whole_lines_without_outer_blanks() -> None:
    assert list(lines("heron\r\n  two words \n\n\tkestrel")) == ["heron", "two words", "kestrel"]
    assert shown("heron\n  two words \n", "two words", "lines") == "lines"
    assert shown("heron\n  two words \n", "words", "lines") == ""


def test_paths_are_tokens_with_a_slash_or_a_file_ending() -> None:
    text = 'M src/app.py\n?? "notes.md": .env, (lib/x) done. See v2 and e.g. this/that!'
    assert list(paths(text)) == ["src/app.py", "notes.md", ".env", "lib/x", "e.g", "this/that"]


def test_a_part_of_a_path_token_is_no_path() -> None:
    assert shown("on main\nM src/app.py", "src/app.py", "paths") == "paths"
    assert shown("on main\nM src/app.py", "app.py", "paths") == ""


def test_a_commit_hash_is_cited_in_full_or_abbreviated() -> None:
    text = f"commit {FULL}\nAuthor: kim"
    assert shown(text, FULL, "git_sha") == "git_sha"
    assert shown(text, FULL[:7], "git_sha") == "git_sha"


@pytest.mark.parametrize("other", [FULL[:6], FULL[1:9], FULL[:7].upper(), FULL + "0", FULL[:8] + "0", "kim", "commit"])
def test_what_abbreviates_no_observed_hash_is_not_cited(other: str) -> None:
    assert shown(f"commit {FULL}\nAuthor: kim", other, "git_sha") == ""


def test_an_abbreviated_hash_vouches_for_itself_and_for_no_other_length() -> None:
    text = f"{FULL[:9]} fix the login"
    assert shown(text, FULL[:9], "git_sha") == "git_sha"
    assert shown(text, FULL[:8], "git_sha") == ""
    assert shown(text, FULL, "git_sha") == ""


@pytest.mark.parametrize("text", ["1234567", "abcdefa", "x5d41402a", "5d41402a_", "5D41402A", "5d4140"])
def test_plain_numbers_words_and_cut_hex_digits_are_no_hashes(text: str) -> None:
    assert list(git_sha(text)) == []


def test_only_a_full_hash_is_abbreviated() -> None:
    assert abbreviates(FULL[:7], FULL)
    assert not abbreviates(FULL, FULL)
    assert not abbreviates(FULL[:7], FULL[:12])


def test_tokens_are_runs_without_outer_punctuation_and_always_weak() -> None:
    assert list(tokens('Paid: "INV-20418", twice!')) == ["Paid", "INV-20418", "twice"]
    agent = Agent(tagging(tool=ToolRule(text=("tokens",))))
    agent.reads("tool", {}, "Paid: INV-20418, twice!")
    assert agent.sources("INV-20418")[0].weak


def test_a_piece_of_a_text_has_the_path_and_the_field_of_its_text() -> None:
    agent = Agent(tagging(tool=ToolRule(text=("lines",))))
    agent.reads("tool", {}, {"out": ["x", "heron\nkestrel"]})
    assert agent.cites("kestrel") == ("out.1", "lines")
    assert agent.sources("kestrel")[0].field == "tool.out.*"


@pytest.mark.parametrize("function", [normal_path, basename, lines, paths, git_sha, tokens])
@pytest.mark.parametrize("unit", ["a/", "0a", "a.", "a ", "//", ".", "a\n", "a:", '"', "a@"])
def test_every_projection_takes_time_linear_in_its_text(function: Any, unit: str) -> None:
    started = time.process_time()
    list(function(unit * 100_000) or ())
    assert time.process_time() - started < 100 * pace()
