"""Which source is shown, which kind wins, and what a policy can ask of a citation: from where, and how strong."""

from __future__ import annotations

from typing import Any

import pytest
from tests.core.helpers import USE, Agent, for_argument, kinds, parameters

from citespan.core.classify import field_matches
from citespan.core.kinds import FromSchema
from citespan.core.policy import ArgumentRule, Bounds, Policy, ToolRule, Weak
from citespan.guard.examine import judge
from citespan.guard.ports import Tool

SEND = Tool("send", schema=parameters("to", "mode"))


def test_every_source_of_a_value_is_kept() -> None:
    agent = Agent()
    agent.reads("list", {}, {"birds": ["kestrel"]})
    agent.reads("look", {}, {"bird": "kestrel"})
    agent.reads("tree", {}, {"files": ["log/birds/kestrel"]})
    assert [(source.tool, source.projection) for source in agent.sources("kestrel")] == [
        ("list", "exact"),
        ("look", "exact"),
        ("tree", "basename"),
    ]


def test_of_many_sources_the_first_and_the_newest_stay() -> None:
    agent = Agent(Policy(mode="tag", bounds=Bounds(sources=4)))
    for number in range(200):
        agent.reads("list", {}, {"birds": ["kestrel"], "n": number})
    calls = [source.call for source in agent.sources("kestrel")]
    assert calls[0] == 0
    assert calls[-1] == 199
    assert calls == sorted(set(calls))


def test_a_value_in_more_fields_than_are_looked_at_shows_its_first_and_its_newest_source() -> None:
    agent = Agent()
    for number in range(6):
        agent.reads("list", {"page": number}, {f"field_{chr(97 + at % 26)}_{at // 26}": "kestrel" for at in range(60)})
    calls = [source.call for source in agent.sources("kestrel")]
    assert (calls[0], calls[-1]) == (0, 5)


def test_no_source_is_named_twice() -> None:
    agent = Agent(Policy(mode="tag", tools={"log": ToolRule(text=("git_sha", "lines"))}))
    agent.reads("list", {}, {"files": ["app.py", "src/app.py"]})
    agent.reads("log", {}, "5d41402abc4b\n5d41402abc4b2a76b9719d911017c592aaf3e2d1")
    for value in ("./app.py", "app.py", "5d41402abc4b", "5d41402"):
        sources = agent.sources(value)
        assert len(sources) == len(set(sources))


def test_a_source_names_tool_server_path_field_and_call() -> None:
    agent = Agent()
    agent.reads("noop", {}, 1)
    agent.call(Tool("list", "aviary", parameters(), read_only=True), {}, {"birds": [{"name": "kestrel"}]})
    (source,) = agent.sources("kestrel")
    assert (source.tool, source.server, source.path, source.call) == ("list", "aviary", "birds.0.name", 1)
    assert source.field == "list.birds.*.name"


def test_the_path_of_a_key_ends_in_the_key_wherever_it_stands() -> None:
    agent = Agent()
    agent.reads("list", {}, {"one": {"wingspan": 1}, "many": [{"weight": 1}, {"weight": 2}]})
    agent.reads("tree", {}, [{"egg": {"size": 1}}, {"egg": {"colour": 2}}])
    assert agent.cites("wingspan") == ("one.wingspan", "key")
    assert agent.cites("weight") == ("many.0.weight", "key")
    assert agent.cites("colour") == ("1.egg.colour", "key")


def test_an_accepted_kind_wins_over_one_that_is_not() -> None:
    agent = Agent(for_argument("send", "to", ArgumentRule(accept=frozenset({"user"})), mode="tag"))
    agent.reads("list", {}, ["kestrel"])
    agent.run.user("to kestrel")
    assert agent.kind("kestrel") == "observed"
    assert agent.judge({"to": "kestrel"}, SEND).tags[0].provenance.kind == "user"


def test_a_strong_citation_wins_over_a_weak_one() -> None:
    agent = Agent()
    agent.reads("find", {"name": "kestrel"}, ["kestrel-report"])
    agent.run.user("open kestrel-report")
    assert agent.kind("kestrel-report") == "user"


def test_of_equals_the_best_kind_wins() -> None:
    agent = Agent()
    agent.reads("list", {}, ["fast"])
    agent.run.user("fast please")
    assert (
        agent.judge({"mode": "fast"}, Tool("go", schema=parameters(mode={"default": "fast"}))).tags[0].provenance.kind
        == "observed"
    )


def test_a_kind_that_is_not_accepted_counts_against_the_budget() -> None:
    agent = Agent(Policy(mode="tag", accept=frozenset({"observed"})))
    agent.run.user("to kestrel")
    decision = agent.judge({"to": "kestrel"}, SEND)
    assert kinds(decision) == {"to": "user"}
    assert [violation.rule for violation in decision.violations] == ["assumed_fields"]


def test_values_that_the_policy_declares_are_of_kind_schema_and_strong() -> None:
    agent = Agent(for_argument("send", "to", ArgumentRule(values=("ops", 5)), mode="tag"))
    assert agent.judge({"to": "ops"}, SEND).tags[0].provenance == FromSchema("values", False)
    assert agent.judge({"to": 5}, SEND).tags[0].provenance.kind == "schema"
    assert agent.judge({"to": "5"}, SEND).tags[0].provenance.kind == "assumed"
    assert agent.judge({"mode": "ops"}, SEND).tags[0].provenance.kind == "assumed"


# from


@pytest.mark.parametrize(
    "pattern, field, server",
    [
        ("list.birds.*", "list.birds.*", None),
        ("list.*.name", "list.birds.name", None),
        ("list.*", "list.birds", "aviary"),
        ("aviary/list.birds.*", "list.birds.*", "aviary"),
        ("list.result", "list.result", None),
        (r"list.a\.b", r"list.a\.b", None),
        ("list.*", r"list.a\.b", None),
    ],
)
def test_a_declared_field_covers_a_field(pattern: str, field: str, server: str | None) -> None:
    assert field_matches(pattern, field, server)


@pytest.mark.parametrize(
    "pattern, field, server",
    [
        ("list.birds.*", "list.birds.*.name", None),
        ("list.birds", "list.birds.*", None),
        ("list.*", "list.birds.name", None),
        ("list.birds", "listxbirds", None),
        ("aviary/list.birds", "list.birds", None),
        ("aviary/list.birds", "list.birds", "zoo"),
        ("list", "list.birds", None),
        ("ist.birds", "list.birds", None),
    ],
)
def test_a_declared_field_covers_no_other(pattern: str, field: str, server: str | None) -> None:
    assert not field_matches(pattern, field, server)


FROM_LIST = ArgumentRule(accept=frozenset({"observed"}), sources=("list.birds.*",))


def test_a_value_is_cited_from_the_declared_field_only() -> None:
    agent = Agent(for_argument("send", "to", FROM_LIST, mode="tag"))
    agent.reads("look", {}, {"birds": ["kestrel"]})
    agent.reads("list", {}, {"names": ["heron"], "birds": ["osprey"]})
    found = {bird: agent.judge({"to": bird}, SEND).tags[0].provenance for bird in ("kestrel", "heron", "osprey")}
    assert [(bird, one.kind) for bird, one in found.items()] == [
        ("kestrel", "assumed"),
        ("heron", "assumed"),
        ("osprey", "observed"),
    ]
    assert getattr(found["kestrel"], "why", "") == "source"


def test_a_declared_field_does_not_bind_other_arguments() -> None:
    agent = Agent(for_argument("send", "to", FROM_LIST, mode="tag"))
    agent.reads("look", {}, {"birds": ["kestrel"]})
    assert agent.judge({"mode": "kestrel"}, SEND).tags[0].provenance.kind == "observed"


def test_a_rule_for_a_leaf_pattern_wins_over_the_one_for_its_argument() -> None:
    rules = {"legs": ArgumentRule(values=("any",)), "legs.*.date": ArgumentRule(values=("2031-07-02",))}
    agent = Agent(Policy(mode="tag", tools={"book": ToolRule(arguments=rules)}))
    tool = Tool("book", schema=parameters(legs={"items": parameters("date", "via")}))
    decision = agent.judge({"legs": [{"date": "2031-07-02", "via": "any"}, {"date": "any"}]}, tool)
    assert kinds(decision) == {"legs.0.date": "schema", "legs.0.via": "schema", "legs.1.date": "assumed"}


# weak citations


def weakly(weak: Weak, value: Any, **result: Any) -> str:
    agent = Agent(Policy(mode="tag", weak=weak))
    agent.reads("look", {}, result)
    return agent.judge({"pages": value}, Tool("print", schema=parameters("pages"))).tags[0].provenance.kind


@pytest.mark.parametrize("value", [7, True, "A4"])
def test_a_weak_citation_counts_by_default(value: Any) -> None:
    assert weakly("count", value, other=value) == "observed"


@pytest.mark.parametrize("value", [7, True, "A4"])
def test_a_policy_can_make_weak_citations_none(value: Any) -> None:
    assert weakly("ignore", value, other=value, pages=value) == "assumed"


@pytest.mark.parametrize("value", [700, "A4 landscape"])
def test_strong_citations_count_whatever_the_policy_says_of_weak_ones(value: Any) -> None:
    assert weakly("ignore", value, other=value) == "observed"
    assert weakly("same_name", value, other=value) == "observed"


def test_a_policy_can_demand_that_the_fields_name_agrees() -> None:
    assert weakly("same_name", 7, other=7) == "assumed"
    assert weakly("same_name", 7, other=7, pages=7) == "observed"
    assert weakly("same_name", 7, **{"Pages": 7}) == "observed"
    assert weakly("same_name", 7, print_pages=7) == "observed"
    assert weakly("same_name", 7, webpages=7) == "assumed"


def test_a_weak_rule_of_one_argument_wins_over_the_tools() -> None:
    policy = Policy(
        mode="tag",
        weak="ignore",
        tools={"print": ToolRule(arguments={"pages": ArgumentRule(weak="count")})},
    )
    agent = Agent(policy)
    agent.reads("look", {}, {"n": 7})
    decision = agent.judge({"pages": 7, "copies": 7}, Tool("print", schema=parameters("pages", "copies")))
    assert kinds(decision) == {"pages": "observed", "copies": "assumed"}


def test_ignoring_weak_ones_leaves_no_enum_choice_and_no_short_word_of_the_user() -> None:
    agent = Agent(Policy(mode="tag", weak="ignore"))
    agent.run.user("take 7")
    assert agent.why(7) == "weak"
    ranked = Tool("rank", schema=parameters(order={"enum": ["asc", "desc"]}))
    assert agent.judge({"order": "asc"}, ranked).tags[0].provenance.kind == "assumed"


def test_a_value_with_a_strong_and_a_weak_source_is_strong_and_shows_the_strong_one_first() -> None:
    agent = Agent()
    agent.reads("find", {"name": "kestrel"}, ["kestrel-report"])
    agent.reads("list", {}, ["kestrel-report"])
    assert not agent.provenance("kestrel-report").weak
    assert [source.tool for source in agent.sources("kestrel-report")] == ["list", "find"]


# why not


def test_the_reason_says_that_no_run_is_open() -> None:
    provenance = judge(USE, {"value": "kestrel"}).tags[0].provenance
    assert provenance.kind == "assumed"
    assert provenance.why == "no_run"


def test_the_reason_says_that_the_ledger_had_to_drop_results() -> None:
    agent = Agent(Policy(mode="tag", bounds=Bounds(bytes=200)))
    for number in range(20):
        agent.reads("list", {}, {"bird": f"kestrel {number}"})
    assert agent.kind("kestrel 19") == "observed"
    assert agent.why("kestrel 0") == "ledger"
