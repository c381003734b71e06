"""Laundering by form: whatever a tool makes of what it was given, in the same call or later, vouches for nothing.

Every form has its honest twin: the same calls, with a value that was listed before.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.core.forms import LEADS_TO, MADE_OF, SAME, Form
from tests.core.helpers import TAG, Agent

from citespan.core.policy import Policy, ToolRule

ALL = {**SAME, **MADE_OF, **LEADS_TO}
#: one of each way: as it was, folded, as a piece, as a key, out of a document, out of a text
SOME = {
    name: SAME[name]
    for name in (
        "as it was",
        "in upper case",
        "as a number",
        "as a word of a sentence",
        "as a key deep inside",
        "out of a document that came back as it was",
        "as a line",
    )
}


def listed_first(form: Form) -> Agent:
    """A run in which everything that is given later was observed before."""
    agent = Agent(form.policy)
    agent.reads("listing", {}, {f"field{number}": value for number, value in enumerate(scalars(form.given))})
    return agent


def scalars(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [inner for name, member in value.items() for inner in (name, *scalars(member))]
    return [inner for member in value for inner in scalars(member)] if isinstance(value, list) else [value]


@pytest.mark.parametrize("form", ALL.values(), ids=ALL.keys())
def test_what_a_tool_makes_of_what_it_was_given_uncited_is_no_source(form: Form) -> None:
    agent = Agent(form.policy)
    agent.reads("tool", form.given, form.returned)
    assert agent.kind(form.used) == "assumed"


@pytest.mark.parametrize("form", ALL.values(), ids=ALL.keys())
def test_honest_what_a_tool_makes_of_what_it_was_given_cited_is_a_source(form: Form) -> None:
    agent = listed_first(form)
    agent.reads("tool", form.given, form.returned)
    assert agent.kind(form.used) == "observed"


@pytest.mark.parametrize("form", SAME.values(), ids=SAME.keys())
def test_what_another_tool_makes_of_what_was_stored_uncited_is_no_source(form: Form) -> None:
    agent = Agent(form.policy)
    agent.writes("tool", form.given, {"ok": "stored"})
    agent.reads("other", {}, form.returned)
    assert agent.kind(form.used) == "assumed"


@pytest.mark.parametrize("form", LEADS_TO.values(), ids=LEADS_TO.keys())
def test_what_leads_to_a_host_that_was_stored_uncited_is_no_source(form: Form) -> None:
    agent = Agent(form.policy)
    agent.writes("tool", form.given, {"ok": "stored"})
    agent.reads("other", {}, form.returned)
    assert agent.kind(form.used) == "assumed"


@pytest.mark.parametrize("form", SOME.values(), ids=SOME.keys())
def test_an_allowed_argument_launders_nothing_under_enforcement(form: Form) -> None:
    policy = Policy(
        allow=frozenset({"x"}), tools={name: rule for name, rule in form.policy.tools.items() if name != "other"}
    )
    agent = Agent(policy)
    assert agent.writes("tool", form.given, form.returned).status == "ok"
    assert agent.kind(form.used) == "assumed"


@pytest.mark.parametrize("form", SOME.values(), ids=SOME.keys())
def test_what_a_budget_let_through_launders_nothing(form: Form) -> None:
    agent = Agent(Policy(max_assumed=5, run_max_assumed=5, tools=form.policy.tools))
    assert agent.reads("tool", form.given, form.returned).status == "ok"
    assert agent.kind(form.used) == "assumed"


#: an uncited value, and results that have something of their own in common with it
HONEST = {
    "a longer word": ("gate", "gateway"),
    "a word with another ending": ("report", "reports"),
    "a part of a word": ("gateway", "gate"),
    "a file below a short folder name": ("src", "src/app.py"),
    "another number with the same digits": (12, 1245),
    "another host with a similar name": ("shop.example", "workshop.example"),
    "another path with the same last part": ("etc/site.ini", "srv/site.ini"),
    "a longer id": ("P-661", "P-6612"),
    "the same letters in another order": ("gate-5", "5-gate"),
    "a fraction of the same digits": (125, 12.5),
    "a version of the same digits": ("125", "1.25"),
    "something else": ("gate-5", "quay-7"),
}


@pytest.mark.parametrize("given, returned", HONEST.values(), ids=HONEST.keys())
def test_honest_what_only_resembles_an_uncited_value_stays_citable(given: Any, returned: Any) -> None:
    agent = Agent(TAG)
    agent.writes("tool", {"x": given}, {"y": returned})
    assert agent.kind(returned) == "observed"


@pytest.mark.parametrize(
    "given, returned", [("gate", "gate-5-east"), ("budget", "budget-2031.xlsx"), ("noor", "noor_vd_3")]
)
def test_honest_what_a_search_by_a_guessed_word_finds_is_citable_if_weakly(given: str, returned: str) -> None:
    strict = Agent(Policy(mode="tag", weak="ignore", tools={"tool": ToolRule()}))
    for agent, kind in ((Agent(TAG), "observed"), (strict, "assumed")):
        agent.reads("tool", {"x": given}, {"y": [returned]})
        assert agent.kind(returned) == kind
