"""Laundering: ways to make a tool say what a model made up, each beside the honest thing that looks like it.

An uncited value that a tool was given does not become citable by coming back. What comes back beside it does, and so
does a value that somebody else had said first.
"""

from __future__ import annotations

import pytest
from tests.core.helpers import Agent, parameters, tagging

from citespan.core.decision import ProvenanceDenied
from citespan.core.policy import Policy, ToolRule
from citespan.guard.ports import Tool

# a look-up that gives its question back


def test_a_guess_that_comes_straight_back_is_no_source() -> None:
    agent = Agent()
    agent.reads("head", {"branch": "release-9"}, {"branch": "release-9", "commits": 0})
    assert agent.why("release-9") == "echo"


def test_honest_a_branch_that_was_listed_comes_back_as_one_more_source() -> None:
    agent = Agent()
    agent.reads("branches", {}, ["release-8", "release-9"])
    agent.reads("head", {"branch": "release-9"}, {"branch": "release-9", "commits": 412})
    assert [source.tool for source in agent.sources("release-9")] == ["branches", "head"]


def test_a_guess_that_comes_back_as_a_key_is_no_source() -> None:
    agent = Agent()
    agent.reads("sizes", {"of": ["Quay-11", "Quay-12"]}, {"Quay-11": None, "Quay-12": None})
    assert agent.kind("Quay-11") == "assumed"


def test_honest_a_key_that_nobody_asked_for_is_a_source() -> None:
    agent = Agent()
    agent.reads("sizes", {"of": "all"}, {"Quay-11": 40, "Quay-12": 45})
    assert agent.kind("Quay-11") == "observed"


def test_the_last_part_of_a_guessed_path_that_comes_back_is_no_source() -> None:
    agent = Agent()
    agent.reads("info", {"at": "/home/pia/keys.pem"}, {"at": "/home/pia/keys.pem", "exists": False})
    assert agent.kind("keys.pem") == "assumed"


def test_honest_the_last_part_of_a_path_that_was_found_is_a_source() -> None:
    agent = Agent()
    agent.reads("find", {"below": "/home"}, {"files": ["/home/pia/keys.pem"]})
    assert agent.cites("keys.pem") == ("files.0", "basename")


def test_the_folder_of_a_guessed_path_that_comes_back_is_no_source() -> None:
    agent = Agent()
    agent.reads("info", {"at": "/home/pia/keys.pem"}, {"folder": "/home/pia", "name": "keys.pem"})
    assert agent.kind("/home/pia") == "assumed"


def test_honest_a_file_found_in_a_guessed_folder_is_a_weak_source() -> None:
    agent = Agent()
    agent.reads("files", {"folder": "/home/pia"}, {"files": ["/home/pia/todo.txt"]})
    assert agent.provenance("/home/pia/todo.txt").kind == "observed"
    assert agent.provenance("/home/pia/todo.txt").weak


def test_a_guessed_path_in_another_form_is_no_source() -> None:
    agent = Agent()
    agent.reads("info", {"at": "./etc/site.ini"}, {"at": "etc/site.ini"})
    assert agent.kind("etc/site.ini") == "assumed"


def test_a_guessed_host_in_another_case_is_no_source() -> None:
    agent = Agent()
    agent.reads("resolve", {"name": "Pay.Shop.EXAMPLE"}, {"name": "pay.shop.example", "ttl": 300})
    assert agent.kind("pay.shop.example") == "assumed"


def test_a_leaf_of_a_guessed_document_that_comes_back_as_text_is_no_source() -> None:
    agent = Agent()
    document = '{"account": "NL02-4471", "sum": 900}'
    agent.reads("validate", {"order": document}, {"valid": True, "order": document})
    assert agent.kind("NL02-4471") == "assumed"
    assert agent.kind(900) == "assumed"


def test_honest_a_leaf_of_a_document_that_a_tool_returned_is_a_source() -> None:
    agent = Agent()
    agent.reads("order", {}, {"raw": '{"account": "NL02-4471", "sum": 900}'})
    assert agent.cites("NL02-4471") == ("raw.account", "json")


def test_a_line_that_a_guessed_command_prints_is_no_source() -> None:
    agent = Agent(tagging(sh=ToolRule(text=("lines",))))
    agent.reads("sh", {"run": "printf 'keys.pem\\n'; date"}, "keys.pem\nFri 2 Jul 2031\n")
    assert agent.kind("keys.pem") == "assumed"


def test_honest_a_line_that_the_command_did_not_spell_is_a_source() -> None:
    agent = Agent(tagging(sh=ToolRule(text=("lines",))))
    agent.reads("sh", {"run": "ls"}, "keys.pem\ntodo.txt\n")
    assert agent.kind("keys.pem") == "observed"


def test_what_a_formatter_makes_of_uncited_pieces_is_no_source() -> None:
    agent = Agent(tagging(fmt=ToolRule(output="computed")))
    agent.reads("fmt", {"stem": "keys", "ending": "pem"}, "keys.pem")
    assert agent.kind("keys.pem") == "assumed"


def test_honest_what_a_formatter_makes_of_cited_pieces_is_a_source() -> None:
    agent = Agent(tagging(fmt=ToolRule(output="computed")))
    agent.reads("parts", {}, {"stem": "keys", "ending": "pem"})
    agent.reads("fmt", {"stem": "keys", "ending": "pem"}, "keys.pem")
    assert agent.kind("keys.pem") == "observed"


def test_a_link_built_around_a_guessed_host_is_no_source() -> None:
    agent = Agent()
    agent.reads("link", {"site": "pay.shop.example"}, {"href": "pay.shop.example/session"})
    assert agent.kind("pay.shop.example/session") == "assumed"


def test_honest_a_link_built_around_a_host_that_the_user_named_is_a_source() -> None:
    agent = Agent()
    agent.run.user("open pay.shop.example for me")
    agent.reads("link", {"site": "pay.shop.example"}, {"href": "pay.shop.example/session"})
    assert agent.kind("pay.shop.example/session") == "observed"


# a tool that stores, and one that reads it back


def test_a_guess_that_one_tool_stores_and_another_returns_is_no_source() -> None:
    agent = Agent()
    agent.writes("follow", {"symbol": "ZQRX"}, {"ok": True})
    agent.reads("followed", {}, {"symbols": ["ACME", "ZQRX"]})
    assert agent.why("ZQRX") == "state"
    assert agent.kind("ACME") == "observed"


def test_honest_what_the_user_asked_to_store_may_be_read_back() -> None:
    agent = Agent()
    agent.run.user("follow ZQRX")
    agent.writes("follow", {"symbol": "ZQRX"}, {"ok": True})
    agent.reads("followed", {}, {"symbols": ["ACME", "ZQRX"]})
    assert agent.kind("ZQRX") == "observed"


def test_a_guess_inside_a_stored_sentence_that_another_tool_extracts_is_no_source() -> None:
    agent = Agent()
    agent.writes("remember", {"note": "the key is in keys.pem, as ever"}, {"ok": True})
    agent.reads("mentions", {}, {"files": ["keys.pem"]})
    assert agent.kind("keys.pem") == "assumed"


def test_honest_a_file_that_no_stored_sentence_mentions_is_a_source() -> None:
    agent = Agent()
    agent.writes("remember", {"note": "the key is in the safe, as ever"}, {"ok": True})
    agent.reads("mentions", {}, {"files": ["keys.pem"]})
    assert agent.kind("keys.pem") == "observed"


def test_a_guess_handed_from_one_echo_to_the_next_is_no_source() -> None:
    agent = Agent()
    agent.reads("first", {"id": "gate-5"}, {"id": "gate-5"})
    agent.reads("second", {"key": "gate-5"}, {"known_as": "gate-5"})
    agent.reads("third", {"name": "gate-5"}, {"title": "gate-5"})
    assert agent.kind("gate-5") == "assumed"


def test_an_id_that_a_sub_agent_names_is_no_source() -> None:
    agent = Agent(tagging(analyst=ToolRule(output="model")))
    agent.reads("analyst", {"task": "whose account?"}, {"account": "NL02-4471"})
    assert agent.kind("NL02-4471") == "assumed"


def test_honest_an_id_that_a_sub_agents_tool_returned_is_a_source_elsewhere() -> None:
    agent = Agent(tagging(analyst=ToolRule(output="model")))
    agent.reads("accounts", {}, {"ids": ["NL02-4471"]})
    agent.reads("analyst", {"task": "whose account?"}, {"account": "NL02-4471"})
    assert [source.tool for source in agent.sources("NL02-4471")] == ["accounts"]


def test_a_guessed_key_of_a_free_object_is_no_source_as_a_value() -> None:
    agent = Agent()
    tool = Tool("paint", schema=parameters(marks={"type": "object"}), read_only=True)
    agent.call(tool, {"marks": {"gate-5": "red"}}, {"painted": ["gate-5"]})
    assert agent.kind("gate-5") == "assumed"


def test_honest_a_key_that_the_schema_names_may_come_back_as_a_value() -> None:
    agent = Agent()
    tool = Tool("paint", schema=parameters(marks=parameters("colour")), read_only=True)
    agent.call(tool, {"marks": {"colour": "red"}}, {"changed": ["colour"]})
    assert agent.kind("colour") == "observed"


# failures and refusals


def test_a_suggestion_in_an_error_is_no_source() -> None:
    agent = Agent()
    agent.fails("open", {"at": "key.pem"}, FileNotFoundError('{"similar": ["keys.pem"]}'))
    assert agent.kind("keys.pem") == "assumed"


def test_honest_a_suggestion_in_a_result_is_a_source() -> None:
    agent = Agent()
    agent.reads("open", {"at": "key.pem"}, {"found": False, "similar": ["todo.txt"]})
    assert agent.kind("todo.txt") == "observed"


def test_a_refusal_teaches_nothing() -> None:
    agent = Agent(Policy())
    with pytest.raises(ProvenanceDenied):
        agent.start(Tool("open", schema=parameters("at")), {"at": "keys.pem"})
    assert agent.why("keys.pem") == "nowhere"


def test_honest_a_guess_that_was_refused_is_citable_once_a_listing_names_it() -> None:
    agent = Agent(Policy())
    with pytest.raises(ProvenanceDenied):
        agent.start(Tool("open", schema=parameters("at")), {"at": "keys.pem"})
    agent.call(Tool("ls", schema=parameters()), {}, ["keys.pem", "todo.txt"])
    assert agent.kind("keys.pem") == "observed"


# honest from beginning to end


def test_honest_an_id_that_the_user_typed_is_his_also_when_it_comes_back() -> None:
    agent = Agent()
    agent.run.user("what about parcel 66120?")
    agent.reads("parcel", {"number": 66120}, {"number": 66120, "city": "Ghent"})
    assert agent.kind(66120) == "observed"
    assert agent.kind("Ghent") == "observed"


def test_honest_a_new_field_of_a_guessed_look_up_is_a_source() -> None:
    agent = Agent()
    agent.reads("customer", {"login": "noor_vd_3"}, {"login": "noor_vd_3", "parcel": "P-66120"})
    assert agent.kind("P-66120") == "observed"
    assert agent.kind("noor_vd_3") == "assumed"


def test_honest_an_id_that_a_write_returns_is_a_source() -> None:
    agent = Agent()
    agent.writes("file_claim", {"about": "a dented parcel"}, {"claim": "C-7731"})
    assert agent.kind("C-7731") == "observed"


# what only `confirms` can tell from laundering


def test_a_name_that_was_guessed_exactly_is_not_confirmed_by_a_search_that_finds_it() -> None:
    agent = Agent()
    agent.reads("search", {"name": "minutes.docx"}, {"found": ["minutes.docx"]})
    assert agent.kind("minutes.docx") == "assumed"


def test_honest_a_search_whose_field_the_policy_lets_confirm_makes_it_citable() -> None:
    agent = Agent(tagging(search=ToolRule(confirms=("found.*",))))
    agent.reads("search", {"name": "minutes.docx"}, {"found": ["minutes.docx"]})
    assert agent.kind("minutes.docx") == "observed"


def test_a_file_that_was_made_under_a_guessed_name_is_not_confirmed_by_a_listing() -> None:
    agent = Agent()
    agent.writes("new_file", {"name": "plan.md"}, {"ok": True})
    agent.reads("ls", {}, {"names": ["plan.md"]})
    assert agent.kind("plan.md") == "assumed"


def test_honest_a_listing_whose_field_the_policy_lets_confirm_makes_it_citable() -> None:
    agent = Agent(tagging(ls=ToolRule(confirms=("names.*",))))
    agent.writes("new_file", {"name": "plan.md"}, {"ok": True})
    agent.reads("ls", {}, {"names": ["plan.md"]})
    assert agent.kind("plan.md") == "observed"
