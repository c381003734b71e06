"""What holds of every run: found by trying to break it with results, arguments and tools that Hypothesis makes up."""

from __future__ import annotations

import json
import random
from itertools import permutations
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from tests.core import reference
from tests.core.helpers import TAG, USE, Agent, kinds, parameters, tagging
from tests.core.strategies import WORDS, documents, keys, neighbours, plain, plain_documents, scalars

from citespan.core.decision import ProvenanceDenied
from citespan.core.fold import fold
from citespan.core.kinds import Kind
from citespan.core.policy import Policy, ToolRule
from citespan.core.projections import PROJECTIONS
from citespan.core.uncited import echo
from citespan.guard.ports import Tool

TOOL = Tool("tool", schema=parameters("x", "y", "z"))
RESULTS = st.lists(documents, max_size=4)
PLAIN_RESULTS = st.lists(plain_documents, min_size=1, max_size=4)
BIRDS = ("kestrel", "heron", "osprey", "harrier", "bittern", "avocet", 0, 7, 300, True, False, None)


def shuffled(value: Any, order: random.Random) -> Any:
    """The same value with the keys of its objects in another order."""
    if isinstance(value, dict):
        names = list(value)
        order.shuffle(names)
        return {name: shuffled(value[name], order) for name in names}
    return [shuffled(member, order) for member in value] if isinstance(value, list) else value


def observed(results: list[Any], policy: Policy = TAG) -> Agent:
    agent = Agent(policy)
    for result in results:
        agent.reads("list", {}, result)
    return agent


def cited(agent: Agent) -> set[str]:
    return {repr(value) for value in BIRDS if agent.kind(value) == "observed"}


# more knowledge never takes a citation away


@given(PLAIN_RESULTS, plain_documents)
def test_one_more_observation_never_turns_observed_into_assumed(results: list[Any], more: Any) -> None:
    agent = observed(results)
    before = cited(agent)
    agent.reads("list", {}, more)
    assert before <= cited(agent)


@given(PLAIN_RESULTS, plain, plain_documents)
def test_one_more_echo_never_turns_observed_into_assumed(results: list[Any], guess: str, more: Any) -> None:
    agent = observed(results)
    before = cited(agent)
    agent.reads("list", {"x": guess}, [guess, more])
    assert before <= cited(agent)


@given(PLAIN_RESULTS, plain, plain_documents)
def test_what_was_observed_before_a_write_stays_observed_after_it(results: list[Any], guess: str, more: Any) -> None:
    agent = observed(results)
    before = cited(agent)
    agent.writes("store", {"x": guess, "y": more}, [guess, more])
    assert before <= cited(agent)


@given(PLAIN_RESULTS, st.lists(plain, max_size=3))
def test_what_a_user_says_never_takes_a_citation_away(results: list[Any], said: list[str]) -> None:
    agent = observed(results)
    before = cited(agent)
    for word in said:
        agent.run.user(f"look at {word}")
    assert before <= cited(agent)


@given(PLAIN_RESULTS, st.lists(plain_documents, max_size=4))
def test_refused_calls_leave_no_trace(results: list[Any], guesses: list[Any]) -> None:
    patient = Policy(run_max_refused=100)
    agent, other = observed(results, patient), observed(results, patient)
    for guess in guesses:
        with pytest.raises(ProvenanceDenied):
            agent.start(TOOL, {"x": [guess, "uncited guess"]})
    assert cited(agent) == cited(other)


# nothing comes from nowhere


@given(RESULTS, st.data())
def test_a_value_that_no_source_contains_is_never_cited(results: list[Any], data: st.DataObject) -> None:
    agent = observed(results)
    everything = [held for call, result in enumerate(results) for held in reference.leaves(call, result)]
    near = [other for held in everything[:10] for other in neighbours(held.value)]
    value = data.draw(st.sampled_from(near) if near else scalars)
    if not reference.search(everything, value):
        assert agent.kind(value) == "assumed"


@given(RESULTS, st.text(alphabet="ωψ./ ", min_size=1).filter(lambda text: fold(text) and set(text) & set("ωψ")))
def test_a_text_of_letters_that_no_result_has_is_never_cited(results: list[Any], value: str) -> None:
    assert observed(results).kind(value) == "assumed"


@given(RESULTS, scalars)
def test_a_call_outside_every_run_cites_nothing(results: list[Any], value: Any) -> None:
    observed(results)
    assert Agent().kind(value) == "assumed"


# an uncited value stays uncited

UNCITED = st.sampled_from(["kestrel-7", "the quay", "K-40211", "é-5", "a@b.example", "src/app.py", "no. 5"])
TRANSFORMS: dict[str, Any] = {
    "itself": lambda value: value,
    "a key": lambda value: {value: 1},
    "deep inside": lambda value: {"a": [{"b": [value]}]},
    "upper case": lambda value: value.upper(),
    "with blanks": lambda value: f"  {value}\n",
    "in quotes": lambda value: f'"{value}"',
    "in a document": lambda value: json.dumps({"a": value}, ensure_ascii=False),
    "a path to it": lambda value: f"/srv/{value}",
    "beside others": lambda value: [value, "heron", "osprey"],
    "in a list of its words": lambda value: value.split(),
}


@given(UNCITED, st.lists(st.tuples(st.sampled_from(sorted(TRANSFORMS)), st.booleans(), st.booleans()), max_size=5))
def test_an_uncited_value_never_becomes_citable_by_tools_that_it_is_passed_to(
    value: str, calls: list[tuple[str, bool, bool]]
) -> None:
    agent = Agent()
    for name, writes, as_document in calls:
        given_value = json.dumps([value], ensure_ascii=False) if as_document else value
        result = {"out": TRANSFORMS[name](value)}
        (agent.writes if writes else agent.reads)("tool", {"x": given_value}, result)
    assert agent.kind(value) == "assumed"
    if calls and all(writes for _, writes, _ in calls):
        agent.reads("list", {}, {"all": [value]})
        assert agent.kind(value) == "assumed"


@given(UNCITED, st.sampled_from(sorted(TRANSFORMS)))
def test_a_cited_value_stays_citable_whatever_tools_it_is_passed_to(value: str, name: str) -> None:
    agent = Agent()
    agent.reads("list", {}, value)
    agent.writes("tool", {"x": value}, {"out": TRANSFORMS[name](value)})
    assert agent.kind(value) == "observed"


TEXTS = {
    "key": st.dictionaries(keys, scalars, min_size=1, max_size=3),
    "json": documents.map(lambda document: json.dumps({"a": document}, ensure_ascii=False)),
    "json with escapes": documents.map(lambda document: json.dumps({"a": document})),
    "posix_path": st.builds("/".join, st.lists(st.sampled_from([".", "", "src", "My Docs", "app.py"]), min_size=2)),
    "basename": st.builds("/".join, st.lists(st.sampled_from(["src", "My Docs", "a.b", "app.py"]), min_size=2)),
    "lines": st.builds("\n".join, st.lists(st.sampled_from([" heron", "the quay", "x/y", ""]), min_size=2)),
    "paths": st.builds(" ".join, st.lists(st.sampled_from(["./x/y", "see", "app.py,", "(a//b)"]), min_size=2)),
    "git_sha": st.builds("{}{}".format, st.text("0123456789abcdef", min_size=40, max_size=40), st.just("\n")),
    "tokens": st.builds(" ".join, st.lists(st.sampled_from(["kestrel!", "'heron'", "a.b:", "x"]), min_size=2)),
}


def pieces(name: str, value: Any) -> list[Any]:
    """What a projection reads out of a value, worked out apart from the ledger."""
    held = [leaf.value for leaf in reference.leaves(0, value)]
    texts = [text for text in held if type(text) is str]
    row = PROJECTIONS.get(name)
    if row is not None and row.pieces is not None:
        found = [piece for text in texts for piece in row.pieces(text)]
        return found + [piece[:length] for piece in found if name == "git_sha" for length in (7, 12, 39)]
    return held + [
        projected
        for text in texts
        for projected in (reference.basename(text), reference.normal_path(text))
        if projected
    ]


@pytest.mark.parametrize("name", TEXTS)
@given(data=st.data())
def test_every_projection_of_an_echo_is_an_echo(name: str, data: st.DataObject) -> None:
    value = data.draw(TEXTS[name])
    text = (name,) if name in PROJECTIONS and PROJECTIONS[name].stage == "text" else ()
    agent = Agent(tagging(tool=ToolRule(text=text)))
    agent.reads("tool", {"x": value}, {"y": value})
    for piece in pieces(name, {"y": value}):
        if fold(piece) and piece != "y":
            assert agent.kind(piece) == "assumed", piece


FOLDED = st.sampled_from([fold(word) for word in WORDS if word] + ["kestrel", "kest", "a", "9", "a b", "src"])


@given(st.lists(FOLDED, min_size=1, max_size=3), st.sampled_from(["", " ", ".", "_", "/"]), FOLDED)
@example(["kestrel", "heron"], "", "kest")
def test_one_more_uncited_argument_never_turns_an_echo_into_a_source(texts: list[str], between: str, more: str) -> None:
    value = between.join(texts)
    assume(echo(value, tuple(texts)) == "echo")
    assert {echo(value, order) for order in permutations([*texts, more])} == {"echo"}


# what does not matter, and what only loosens


@given(RESULTS, st.dictionaries(st.sampled_from(["x", "y", "z", "w"]), documents, max_size=4), st.randoms())
def test_the_order_of_keys_does_not_matter(results: list[Any], arguments: dict[str, Any], order: random.Random) -> None:
    plain_run = observed(results)
    other_run = observed([shuffled(result, order) for result in results])
    left = plain_run.judge(arguments, TOOL)
    right = other_run.judge(shuffled(arguments, order), TOOL)
    assert kinds(left) == kinds(right)
    assert left.status == right.status
    assert set(left.assumed_fields) == set(right.assumed_fields)


@given(RESULTS, st.dictionaries(st.sampled_from(["x", "y", "z"]), documents, min_size=1, max_size=3), st.integers(0, 8))
def test_a_larger_budget_never_denies_what_a_smaller_one_allows(
    results: list[Any], arguments: dict[str, Any], budget: int
) -> None:
    def denied(per_call: int, per_run: int) -> bool:
        agent = Agent(Policy(max_assumed=per_call, run_max_assumed=per_run))
        for result in results:
            agent.call(Tool("list", schema=parameters()), {}, result)
        try:
            agent.start(TOOL, arguments)
        except ProvenanceDenied:
            return True
        return False

    assert denied(budget, budget) or not denied(budget + 1, budget)
    assert denied(budget, budget) or not denied(budget, budget + 1)


ACCEPTABLE: list[Kind] = ["observed", "user", "schema"]


@given(RESULTS, documents, st.sets(st.sampled_from(ACCEPTABLE)), st.sampled_from(ACCEPTABLE))
def test_accepting_one_more_kind_never_counts_more_leaves(
    results: list[Any], value: Any, accept: set[Kind], more: Kind
) -> None:
    counted = []
    for accepted in (accept, accept | {more}):
        agent = Agent(Policy(mode="tag", accept=frozenset(accepted)))
        agent.run.user("kestrel, app.py and 1")
        for result in results:
            agent.reads("list", {}, result)
        counted.append(len(agent.judge({"value": value}).counted))
    assert counted[1] <= counted[0]


@given(RESULTS, documents)
def test_asking_changes_nothing(results: list[Any], value: Any) -> None:
    agent = observed(results)
    first = agent.judge({"value": value})
    assert agent.judge({"value": value}).tags == first.tags


@given(documents)
def test_every_leaf_has_exactly_one_tag_and_every_path_of_one_role_is_named_once(value: Any) -> None:
    decision = Agent().judge({"value": value}, USE)
    places = [(tag.leaf.path, tag.leaf.role) for tag in decision.tags]
    assert len(places) == len(set(places))
    everything = {leaf.path for leaf in reference.leaves(0, {"value": value}) if not leaf.inside and not leaf.is_key}
    assert {path for path, role in places if role == "value"} == everything
