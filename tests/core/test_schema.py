"""What a tool's own schema supplies: enum members, constants and defaults, wherever its references lead."""

from __future__ import annotations

from typing import Any

import pytest
from tests.core.helpers import Agent, parameters

from citespan.core.schema import UNKNOWN, Schema, read
from citespan.guard.ports import Tool


def at(schema: dict[str, Any], *steps: str | int) -> Schema:
    """The place of an argument's leaf, in a schema that has this one under `unit`."""
    place = read({"type": "object", "properties": {"unit": schema}}).at("unit")
    for step in steps:
        place = place.at(step)
    return place


def test_an_enum_member_is_supplied() -> None:
    assert at({"enum": ["celsius", "kelvin"]}).supplies("kelvin") == "enum"


def test_what_is_not_in_the_enum_is_not_supplied() -> None:
    assert at({"enum": ["celsius", "kelvin"]}).supplies("Kelvin") is None


def test_a_constant_is_supplied() -> None:
    assert at({"const": "v2"}).supplies("v2") == "const"


def test_a_default_is_supplied() -> None:
    assert at({"type": "integer", "default": 40}).supplies(40) == "default"


def test_a_null_default_supplies_null() -> None:
    assert at({"default": None}).supplies(None) == "default"


def test_a_schema_that_says_nothing_supplies_nothing_not_even_null() -> None:
    assert at({}).supplies(None) is None


def test_members_are_compared_by_type_as_everything_else() -> None:
    assert at({"enum": [1, "2"]}).supplies("1") is None
    assert at({"enum": [1, "2"]}).supplies(2) is None
    assert at({"default": 0}).supplies(False) is None
    assert at({"enum": [1]}).supplies(1.0) == "enum"


def test_a_default_is_told_from_an_enum_member_since_an_enum_choice_is_weak() -> None:
    assert at({"enum": ["asc", "desc"], "default": "asc"}).supplies("asc") == "default"
    assert at({"enum": ["asc", "desc"], "default": "asc"}).supplies("desc") == "enum"


def test_type_boolean_alone_is_no_enum() -> None:
    assert at({"type": "boolean"}).supplies(True) is None


def test_an_enum_on_an_array_applies_to_its_items() -> None:
    assert at({"type": "array", "enum": ["cc", "bcc"]}, 3).supplies("bcc") == "enum"


def test_an_enum_on_items_applies_to_each_item() -> None:
    assert at({"type": "array", "items": {"enum": ["cc", "bcc"]}}, 0).supplies("cc") == "enum"


def test_prefix_items_apply_by_position_and_items_to_the_rest() -> None:
    schema = {"prefixItems": [{"const": "head"}], "items": {"const": "tail"}}
    assert at(schema, 0).supplies("head") == "const"
    assert at(schema, 0).supplies("tail") is None
    assert at(schema, 1).supplies("tail") == "const"


def test_a_default_object_supplies_its_members_where_they_stand() -> None:
    place = at({"default": {"page": {"size": 250}}})
    assert place.at("page").at("size").supplies(250) == "default"
    assert place.at("size").supplies(250) is None


def test_a_default_array_supplies_its_items_by_position() -> None:
    place = at({"default": ["name", "created"]})
    assert place.at(1).supplies("created") == "default"
    assert place.at(0).supplies("created") is None


@pytest.mark.parametrize("combinator", ["anyOf", "oneOf", "allOf"])
def test_every_branch_of_a_combinator_counts(combinator: str) -> None:
    assert at({combinator: [{"type": "null"}, {"enum": ["north"]}]}).supplies("north") == "enum"


def test_a_local_reference_is_followed() -> None:
    schema = read({"$defs": {"Unit": {"enum": ["bar"]}}, "properties": {"unit": {"$ref": "#/$defs/Unit"}}})
    assert schema.at("unit").supplies("bar") == "enum"


def test_a_reference_with_escaped_slashes_and_tildes_is_followed() -> None:
    schema = read({"$defs": {"a/b~c": {"const": 1}}, "properties": {"unit": {"$ref": "#/$defs/a~1b~0c"}}})
    assert schema.at("unit").supplies(1) == "const"


def test_references_inside_combinators_inside_items_are_followed() -> None:
    schema = read(
        {
            "$defs": {"Row": parameters(side={"anyOf": [{"$ref": "#/$defs/Side"}]}), "Side": {"enum": ["buy"]}},
            "properties": {"rows": {"items": {"$ref": "#/$defs/Row"}}},
        }
    )
    assert schema.at("rows").at(0).at("side").supplies("buy") == "enum"
    assert schema.at("rows").at(0).names("side")


@pytest.mark.parametrize("reference", ["https://other.example/schema.json", "#/$defs/Missing", "#/type/x", 7])
def test_a_reference_that_leads_nowhere_supplies_nothing(reference: Any) -> None:
    schema = read({"type": "object", "properties": {"unit": {"$ref": reference}}})
    assert schema.at("unit").supplies("bar") is None


def test_a_schema_that_refers_to_itself_ends() -> None:
    schema = read({"$defs": {"N": {"properties": {"next": {"$ref": "#/$defs/N"}}}}, "$ref": "#/$defs/N"})
    place = schema
    for _ in range(50):
        place = place.at("next")
    assert place.names("next")


def test_a_reference_to_itself_alone_ends() -> None:
    assert read({"$defs": {"N": {"$ref": "#/$defs/N"}}, "$ref": "#/$defs/N"}).supplies(1) is None


def test_properties_are_named_and_additional_ones_are_not() -> None:
    schema = read({"properties": {"path": {}}, "additionalProperties": {"enum": ["x"]}})
    assert schema.names("path")
    assert not schema.names("mode")
    assert schema.at("mode").supplies("x") == "enum"


def test_declared_names_are_those_of_all_branches() -> None:
    assert read({"anyOf": [parameters("a"), parameters("b")]}).declared() == {"a", "b"}


@pytest.mark.parametrize(
    "broken",
    [
        {"properties": {"unit": 5}},
        {"properties": ["unit"]},
        {"properties": {"unit": {"enum": "north"}}},
        {"properties": {"unit": {"anyOf": [1, None]}}},
        {"properties": {"unit": {"items": [{"const": "north"}], "prefixItems": 3}}},
    ],
)
def test_what_is_not_understood_supplies_nothing_and_breaks_nothing(broken: dict[str, Any]) -> None:
    place = read(broken).at("unit")
    assert place.supplies("north") is None
    assert place.at(0).supplies("north") is None


def test_no_schema_supplies_nothing() -> None:
    assert read(None) is UNKNOWN
    assert UNKNOWN.at("unit").supplies(None) is None


def ranked(*members: Any, **more: Any) -> Tool:
    return Tool("rank", schema=parameters(order={"enum": list(members), **more}))


def test_a_schema_is_frozen_as_first_seen_in_the_run() -> None:
    agent = Agent()
    agent.call(ranked("asc"), {"order": "asc"})
    assert agent.judge({"order": "north"}, ranked("asc", "north")).tags[0].provenance.kind == "assumed"
    assert agent.judge({"order": "asc"}, ranked("north")).tags[0].provenance.kind == "schema"


def test_a_schema_that_its_owner_changes_in_place_later_loosens_nothing() -> None:
    agent = Agent()
    tool = ranked("asc")
    agent.call(tool, {"order": "asc"})
    assert tool.schema is not None
    tool.schema["properties"]["order"]["enum"].append("north")
    assert agent.judge({"order": "north"}, tool).tags[0].provenance.kind == "assumed"


def test_another_run_sees_the_schema_of_its_own_time() -> None:
    Agent().call(ranked("asc"), {"order": "asc"})
    assert Agent().judge({"order": "north"}, ranked("north")).tags[0].provenance.kind == "schema"


def test_two_servers_with_a_tool_of_one_name_have_a_schema_each() -> None:
    agent = Agent()
    agent.call(ranked("asc")._replace(server="left"), {"order": "asc"})
    later = agent.judge({"order": "north"}, ranked("north")._replace(server="right"))
    assert later.tags[0].provenance.kind == "schema"


def test_an_enum_choice_and_a_boolean_default_are_weak_and_a_plain_default_is_not() -> None:
    agent = Agent()
    tool = Tool("rank", schema=parameters(order={"enum": ["asc"]}, deep={"default": True}, size={"default": 500}))
    decision = agent.judge({"order": "asc", "deep": True, "size": 500}, tool)
    assert [tag.provenance.weak for tag in decision.tags] == [True, True, False]


def test_a_key_is_never_supplied_by_a_schema() -> None:
    agent = Agent()
    tool = Tool("label", schema=parameters(labels={"enum": ["urgent"], "default": {"urgent": 1}}))
    assert agent.judge({"labels": {"urgent": 5}}, tool).tags[0].provenance.kind == "assumed"
