"""A leaf is a scalar inside an argument, or a key that a model wrote; what is no JSON value is one that nothing cites.

Paths are dotted. What leaves the process shows a key that a model wrote, or that is data, as `*`.
"""

from __future__ import annotations

import enum
from decimal import Decimal
from typing import Any

import pytest
from tests.core.helpers import Agent, parameters

from citespan.core.leaves import MAX_LEAVES, dotted, field_step, shown, snapshot, wildcard
from citespan.core.schema import UNKNOWN, read
from citespan.errors import ArgumentsTooLarge

NAMED = read(parameters("ticket", "tags", "when"))


def paths(arguments: dict[str, Any], schema: Any = UNKNOWN) -> list[str]:
    """Dotted paths of the leaves, in order; a key leaf is marked."""
    return [dotted(leaf.path) + (" (key)" if leaf.role == "key" else "") for leaf in snapshot(arguments, schema).leaves]


def values(arguments: dict[str, Any]) -> list[Any]:
    return [leaf.value for leaf in snapshot(arguments, UNKNOWN).leaves]


def nested(value: Any, depth: int) -> Any:
    for _ in range(depth):
        value = [value]
    return value


def test_every_scalar_is_a_leaf_with_the_steps_that_lead_to_it() -> None:
    assert paths({"tags": ["red", ["blue"]], "ticket": 7}) == ["tags.0", "tags.1.0", "ticket"]


def test_null_the_empty_text_and_empty_containers_are_leaves() -> None:
    assert values({"a": None, "b": "", "c": [], "d": {}}) == [None, "", [], {}]


def test_leaves_come_in_the_order_in_which_they_were_written() -> None:
    assert paths({"z": 1, "a": {"z": 2, "a": 3}}, read(parameters("z", a=parameters("z", "a")))) == ["z", "a.z", "a.a"]


def test_a_key_that_the_schema_does_not_name_is_a_leaf_before_its_member() -> None:
    assert paths({"tags": {"owner": "kim"}}, NAMED) == ["tags.owner (key)", "tags.owner"]


def test_an_argument_that_the_schema_does_not_name_is_a_key_leaf_too() -> None:
    assert paths({"hurry": True}, NAMED) == ["hurry (key)", "hurry"]


def test_a_key_that_the_schema_names_is_no_leaf() -> None:
    schema = read(parameters(tags=parameters("owner")))
    assert paths({"tags": {"owner": "kim"}}, schema) == ["tags.owner"]


def test_keys_of_objects_inside_lists_are_leaves_unless_the_items_name_them() -> None:
    schema = read(parameters(rows={"type": "array", "items": parameters("sku")}))
    assert paths({"rows": [{"sku": "K1", "qty": 2}]}, schema) == ["rows.0.sku", "rows.0.qty (key)", "rows.0.qty"]


def test_argument_names_of_a_tool_without_a_schema_are_taken_as_named() -> None:
    assert paths({"query": "x"}, UNKNOWN) == ["query"]


def test_nested_keys_of_a_tool_without_a_schema_are_leaves() -> None:
    assert paths({"query": {"term": 1}}, UNKNOWN) == ["query.term (key)", "query.term"]


def test_a_dot_in_a_key_is_escaped_in_its_path() -> None:
    assert dotted(("labels", "app.kubernetes", 0)) == r"labels.app\.kubernetes.0"


def test_a_backslash_in_a_key_is_escaped_so_that_two_paths_never_look_the_same() -> None:
    assert dotted(("a\\", "b")) != dotted(("a\\.b",))


def test_a_key_that_is_a_number_as_text_and_an_index_have_one_path_text_but_differ_as_steps() -> None:
    assert dotted(("a", "0")) == dotted(("a", 0))
    assert ("a", "0") != ("a", 0)


def test_a_key_that_a_model_wrote_leaves_the_process_as_a_star() -> None:
    leaves = snapshot({"tags": {"pat@mail.example": "x"}}, NAMED).leaves
    assert {dotted(leaf.exported) for leaf in leaves} == {"tags.*"}


def test_a_key_that_the_schema_names_leaves_the_process_as_it_is() -> None:
    schema = read(parameters(tags=parameters("owner")))
    assert dotted(snapshot({"tags": {"owner": ["kim"]}}, schema).leaves[0].exported) == "tags.owner.0"


def test_an_argument_name_that_a_model_wrote_leaves_the_process_as_a_star() -> None:
    assert {leaf.exported for leaf in snapshot({"pat@mail.example": 1}, NAMED).leaves} == {("*",)}


def test_every_exported_path_can_be_written_as_utf_8() -> None:
    for leaf in snapshot({"\udcff": 1, "tags": {"\ud800": 2}}, UNKNOWN).leaves:
        dotted(leaf.exported).encode()


def test_an_index_is_a_star_in_a_metric_label_or_a_policy_pattern() -> None:
    assert wildcard(("flights", 3, "date")) == "flights.*.date"


class Text(str):
    """A text that says it equals everything."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash("listed.txt")


class Level(enum.IntEnum):
    LOW = 1


def cycle() -> list[Any]:
    ring: list[Any] = []
    ring.append(ring)
    return ring


OPAQUE_VALUES = {
    "a subclass of str": Text("x"),
    "a subclass of int": Level.LOW,
    "NaN": float("nan"),
    "an infinity": float("inf"),
    "a tuple": ("x",),
    "a set": {"x"},
    "bytes": b"x",
    "a decimal": Decimal("1.5"),
    "a foreign object": object(),
    "a cycle": cycle(),
    "a value 2,000 levels deep": nested("x", 2000),
    "a text with a lone surrogate": "x\ud83d",
    "a key that is no text": {1: "x"},
    "a key with a lone surrogate": {"\ud83d": "x"},
    "a subclass of dict": type("Bag", (dict,), {})(x="x"),
    "a subclass of list": type("Row", (list,), {})(["x"]),
}


@pytest.mark.parametrize("value", OPAQUE_VALUES.values(), ids=OPAQUE_VALUES.keys())
def test_a_value_without_a_json_copy_is_assumed_even_if_everything_like_it_was_observed(value: Any) -> None:
    agent = Agent()
    agent.reads("list", {}, {"all": ["x", 1, 1.5, ["x"], {"x": "x"}, "listed.txt"]})
    assert agent.why(value) == "opaque"


def test_an_empty_subclass_of_a_container_is_opaque_as_well() -> None:
    agent = Agent()
    agent.reads("list", {}, {"all": [[], {}]})
    assert agent.why(type("Row", (list,), {})()) == "opaque"


def test_a_value_at_the_deepest_allowed_level_is_still_read() -> None:
    agent = Agent()
    agent.reads("list", {}, ["harbour"])
    assert agent.kind(nested("harbour", 60)) == "observed"


def test_the_copy_equals_what_was_given_and_shares_no_container_with_it() -> None:
    given = {"rows": [{"sku": "K1", "tags": []}], "limit": 5, "none": None}
    copy = snapshot(given, UNKNOWN).arguments
    assert copy == given
    given["rows"][0]["tags"].append("late")  # type: ignore[index]
    assert copy["rows"] == [{"sku": "K1", "tags": []}]


def test_leaves_are_those_of_the_copy() -> None:
    given: dict[str, Any] = {"rows": [[], {}]}
    taken = snapshot(given, UNKNOWN)
    given["rows"][0].append("late")
    assert [leaf.value for leaf in taken.leaves] == [[], {}]


def test_as_many_leaves_as_the_bound_are_read() -> None:
    assert len(snapshot({"rows": [0] * MAX_LEAVES}, UNKNOWN).leaves) == MAX_LEAVES


def test_one_leaf_over_the_bound_cannot_be_judged() -> None:
    with pytest.raises(ArgumentsTooLarge):
        snapshot({"rows": [0] * (MAX_LEAVES + 1)}, UNKNOWN)


@pytest.mark.parametrize("key", ["files", "user_id", "first-name", "$ref", "line2", "IPv4", "_links"])
def test_a_key_that_reads_like_a_name_is_a_step_of_its_field(key: str) -> None:
    assert field_step(key) == key


@pytest.mark.parametrize(
    "key",
    ["W4819", "ann@corp.example", "src/app.py", "card_8831904", "2031-07-02", "", "two words", "naïve", "x" * 49],
)
def test_a_key_that_is_data_is_a_star_in_its_field(key: str) -> None:
    assert field_step(key) == "*"


def test_a_path_in_a_result_is_shown_with_keys_that_are_data_as_stars() -> None:
    assert shown(("accounts", "DE4438", "rows", 2)) == "accounts.*.rows.2"


def test_indexes_and_data_like_keys_share_one_field() -> None:
    agent = Agent()
    agent.reads("accounts", {}, {"by_id": {"A8123": {"owner": "rosalind"}}, "all": ["hilbert"]})
    assert agent.sources("rosalind")[0].field == "accounts.by_id.*.owner"
    assert agent.sources("hilbert")[0].field == "accounts.all.*"


def test_a_source_says_the_whole_path_of_its_leaf() -> None:
    agent = Agent()
    agent.reads("accounts", {}, {"by.id": {"A8123": {"owner": ["rosalind"]}}})
    assert agent.sources("rosalind")[0].path == r"by\.id.A8123.owner.0"


def test_a_bare_scalar_result_has_one_leaf_named_result() -> None:
    agent = Agent()
    agent.reads("whoami", {}, "rosalind")
    assert agent.sources("rosalind")[0].field == "whoami.result"
