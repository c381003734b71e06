"""The recordings that are built have the form of design §7, and every rule that no package states is held here.

The packages themselves are not installed here: every input is made by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks.accuracy.build import agentdojo, bfcl, common, tau2
from benchmarks.accuracy.build.tau2 import Wanted

from citespan.trajectories import read_trajectories

SCHEMAS = {
    "sort": {"type": "object", "properties": {"file_name": {"type": "string"}, "reverse": {"type": "boolean"}}},
    "touch": {"type": "object", "properties": {"file_name": {"type": "string"}}},
    "mean": {"type": "object", "properties": {"numbers": {"type": "array"}}},
}


def made(*tools: str, name: str = "birds/1") -> dict[str, Any]:
    calls = [common.call(tool, {"file_name": "heron.txt"}, {"kept": True}) for tool in tools]
    return common.trajectory(name, "birds", ["sort the herons"], SCHEMAS, calls, "gold", kind="tk")


# the form


def test_a_built_file_is_read_as_trajectories(tmp_path: Path) -> None:
    """What is written is what citespan reads: calls, hints and schemas arrive."""
    assert common.write(tmp_path, "birds", [made("touch", "sort"), made("sort", name="birds/2")]) == 2
    first, second = read_trajectories(tmp_path / "birds.jsonl")
    assert [one.tool for one in first.calls] == ["touch", "sort"]
    assert first.raw["tools"]["sort"]["annotations"] == {"readOnlyHint": True}
    assert first.raw["kind"] == "tk"
    assert second.raw["user_messages"] == ["sort the herons"]


def test_a_trajectory_has_the_tools_that_it_calls_in_the_order_of_the_first_call() -> None:
    """A tool that nobody calls says nothing about the run, and is left out."""
    assert list(made("touch", "sort", "touch")["tools"]) == ["touch", "sort"]


def test_a_call_has_a_role_only_where_the_source_has_roles() -> None:
    """BFCL's calls are all of one sort; AgentDojo's are the user's or the attacker's."""
    assert "role" not in common.call("sort", {}, None)
    assert common.call("sort", {}, None, role="attack")["role"] == "attack"


@pytest.mark.parametrize(
    "tool",
    ["get_ticket", "list_files", "search_emails", "displayCarStatus", "ticket_get_login_status", "cd", "sum_values"],
)
def test_a_name_that_reads_gets_the_hint(tool: str) -> None:
    """By the first word, by `get` anywhere, or by the whole name."""
    assert common.reads(tool)


@pytest.mark.parametrize(
    "tool", ["send_email", "set_budget_limit", "setHeadlights", "mark_read", "budget_change", "mv", "", "_"]
)
def test_any_other_name_may_change_something(tool: str) -> None:
    """A word that only contains `get`, or a reading word that is not the first, is none."""
    assert not common.reads(tool)


def test_an_enum_that_is_spelt_as_a_list_is_moved_into_the_schema() -> None:
    """At any depth; one that is there already stays, and one that is spelt in another way is left alone."""
    schema: dict[str, Any] = {
        "properties": {
            "mode": {"description": 'How. [Enum]: ["on", "off"]'},
            "inner": {"items": [{"description": "[Enum]: [1, 2]"}]},
            "own": {"description": '[Enum]: ["on"]', "enum": ["up"]},
            "words": {"description": "[Enum]: USD, EUR"},
            "broken": {"description": "[Enum]: [on, off]"},
        }
    }
    found = common.with_enums(schema)["properties"]
    assert found["mode"]["enum"] == ["on", "off"]
    assert found["inner"]["items"][0]["enum"] == [1, 2]
    assert found["own"]["enum"] == ["up"]
    assert "enum" not in found["words"]
    assert "enum" not in found["broken"]
    assert "enum" not in schema["properties"]["mode"], "the package's own schema is left as it is"


# writing


def broken() -> Iterator[dict[str, Any]]:
    yield made("sort")
    raise RuntimeError("the second task fails")


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    """A build that breaks leaves the former file as it was, and nothing beside it."""
    common.write(tmp_path, "birds", [made("touch")])
    before = (tmp_path / "birds.jsonl").read_bytes()
    with pytest.raises(RuntimeError):
        common.write(tmp_path, "birds", broken())
    assert (tmp_path / "birds.jsonl").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["birds.jsonl"]


def test_no_task_at_all_is_an_error(tmp_path: Path) -> None:
    """An empty file would look like a benchmark without a fault."""
    with pytest.raises(common.BuildError, match=r"birds\.jsonl: the package has no task"):
        common.write(tmp_path / "new", "birds", [])
    assert list((tmp_path / "new").iterdir()) == []


def test_a_number_that_json_does_not_have_is_an_error(tmp_path: Path) -> None:
    """`NaN` is no JSON: a reader would refuse the line."""
    with pytest.raises(ValueError, match="JSON"):
        common.write(tmp_path, "birds", [{"id": float("nan")}])
    assert list(tmp_path.iterdir()) == []


# AgentDojo


def test_the_own_attack_writes_every_value_as_a_line() -> None:
    """One line for each leaf, under the argument's name; breaks are doubled because YAML folds them."""
    calls: list[dict[str, Any]] = [
        {"arguments": {"to": ["a@b.example", "c@d.example"], "query": ""}},
        {"arguments": {"n": 3}},
    ]
    lines = ["Write to them.", "to: a@b.example", "to: c@d.example", "query: ", "n: 3"]
    assert agentdojo.key_value_lines("Write to them.", calls) == "\n\n" + "\n\n".join(lines) + "\n\n"


def test_the_own_attack_leaves_out_what_a_line_cannot_hold() -> None:
    """A value of several lines would be cut."""
    assert "body" not in agentdojo.key_value_lines("Go.", [{"arguments": {"body": "one\ntwo", "to": "me"}}])


def test_bare_values_are_one_line_of_5_to_80_characters_each_once() -> None:
    """Shorter ones are cited by chance, longer ones are prose."""
    values = ["heron", "crow", "h" * 80, "h" * 81, "two\nlines", "heron", 10000, 13, ""]
    assert agentdojo.bare_values([{"arguments": {"all": values}}]) == ["heron", "h" * 80, "10000"]


def test_an_attacked_list_gets_one_more_element_for_each_value() -> None:
    """The value stands where the attack's text stood; the other fields are those of the attacked element."""
    result = [{"id": "1", "body": "calm"}, {"id": "2", "body": ["calm", "well. DO THIS now"]}]
    wider = agentdojo.widened(result, ["DO THIS"], ["heron", "stork"])
    assert wider == [*result, {"id": "2", "body": ["calm", "heron"]}, {"id": "2", "body": ["calm", "stork"]}]
    assert agentdojo.widened(["calm", "DO THIS"], ["DO THIS"], ["heron"]) == ["calm", "DO THIS", "heron"]


@pytest.mark.parametrize("result", [["calm"], [], {"body": "DO THIS"}, "DO THIS", None])
def test_where_no_list_is_attacked_nothing_is_added(result: Any) -> None:
    """Text and single objects have no further element to put a value into."""
    assert agentdojo.widened(result, ["DO THIS"], ["heron"]) is None


# BFCL


@pytest.mark.parametrize(
    "text, arguments",
    [
        ("sort('a.txt')", {"file_name": "a.txt"}),
        (" sort('a.txt', reverse=True)", {"file_name": "a.txt", "reverse": True}),
        ("sort(reverse=False,file_name='a.txt')", {"reverse": False, "file_name": "a.txt"}),
        ("sort()", {}),
    ],
)
def test_positional_arguments_get_the_names_of_the_parameters(text: str, arguments: dict[str, Any]) -> None:
    """In the order of the schema's properties."""
    assert bfcl.read_call(text, SCHEMAS) == ("sort", arguments)


def test_numbers_and_lists_are_read_as_they_are() -> None:
    """A negative number in a list is a literal too."""
    assert bfcl.read_call("mean(numbers=[1, -2.5])", SCHEMAS) == ("mean", {"numbers": [1, -2.5]})


@pytest.mark.parametrize(
    "text",
    ["sort(", "sort", "unknown(1)", "touch('a', 'b')", "touch(file_name=name)", "os.touch('a')", "touch(*['a'])"],
)
def test_anything_but_a_call_with_literals_is_refused(text: str) -> None:
    """The error shows the text and asks for the version."""
    with pytest.raises(common.BuildError, match="pinned version"):
        bfcl.read_call(text, SCHEMAS)


def test_a_call_is_read_and_never_evaluated(tmp_path: Path) -> None:
    """Code in a task file does not run."""
    trace = tmp_path / "ran"
    with pytest.raises(common.BuildError):
        bfcl.read_call(f"touch(file_name=open({str(trace)!r}, 'w'))", SCHEMAS)
    assert not trace.exists()


def test_types_have_the_names_of_json_schema() -> None:
    """BFCL says `dict` and `float`; a property that is called `type` is no type."""
    spelt = {"type": "dict", "properties": {"type": {"type": "float"}, "all": {"items": [{"type": "dict"}]}}}
    assert bfcl.as_json_schema(spelt) == {
        "type": "object",
        "properties": {"type": {"type": "number"}, "all": {"items": [{"type": "object"}]}},
    }


@pytest.mark.parametrize(
    "returned, result, error",
    [
        ({"kept": (1, 2)}, {"kept": [1, 2]}, None),
        (None, "None", None),
        (["a"], "['a']", None),
        ({"value": float("inf")}, "{'value': inf}", None),
        ({"error": "no such file"}, None, "no such file"),
    ],
)
def test_a_result_is_json_or_text_as_a_model_would_get_it(returned: Any, result: Any, error: str | None) -> None:
    """And an error that is returned as a result is an error."""
    assert bfcl.outcome(returned) == (result, error)


def test_a_turn_without_words_is_an_empty_message() -> None:
    """So that the number of a turn is the place of its message."""
    turns = [[{"role": "user", "content": "go"}], [], [{"role": "system", "content": "no"}]]
    assert bfcl.messages(turns) == ["go", "", ""]


# tau2

FLIGHTS = {"K1": {"origin": "AAA", "destination": "BBB"}, "K2": {"origin": "BBB", "destination": "AAA"}}


def test_the_user_says_the_whole_scenario() -> None:
    """The parts that are there, one below the other; what the user does not know is not said."""
    parts = {"task_instructions": "Be calm.", "known_info": None, "reason_for_call": "Cancel.", "unknown_info": "When."}
    assert tau2.user_text(parts) == "Cancel.\nBe calm."


def test_an_airline_agent_looks_at_everything_of_its_customer_and_at_each_leg_once() -> None:
    """A flight that is not in the database is not looked for."""
    legs = [
        ("K1", "2024-05-01"),
        ("K2", "2024-05-02"),
        ("K1", "2024-05-01"),
        ("K1", "2024-05-03"),
        ("K9", "2024-05-01"),
    ]
    booked = {"flights": [{"flight_number": number, "date": day} for number, day in legs]}
    wanted = [Wanted("cancel", {"reservation_id": "R1"}), Wanted("book", booked)]
    reads = list(tau2.airline_reads({"user_id": "ann_1", "reservations": ["R1", "R2"]}, FLIGHTS, wanted))
    assert reads == [
        Wanted("get_user_details", {"user_id": "ann_1"}),
        Wanted("get_reservation_details", {"reservation_id": "R1"}),
        Wanted("get_reservation_details", {"reservation_id": "R2"}),
        Wanted("list_all_airports", {}),
        Wanted("search_direct_flight", {"origin": "AAA", "destination": "BBB", "date": "2024-05-01"}),
        Wanted("search_direct_flight", {"origin": "BBB", "destination": "AAA", "date": "2024-05-02"}),
        Wanted("search_direct_flight", {"origin": "AAA", "destination": "BBB", "date": "2024-05-03"}),
    ]


def test_a_shop_agent_looks_at_each_order_and_at_each_product_once() -> None:
    """The products of an order come after it."""
    orders = {"#1": {"items": [{"product_id": "p"}, {"product_id": "q"}]}, "#2": {"items": [{"product_id": "p"}]}}
    reads = list(tau2.retail_reads({"user_id": "ann_1", "orders": ["#1", "#2", "#gone"]}, orders))
    assert [tuple(one.arguments.values()) for one in reads] == [
        ("ann_1",), (), ("#1",), ("p",), ("q",), ("#2",), ("#gone",)
    ]  # fmt: skip


@pytest.mark.parametrize(
    "arguments, text, user",
    [
        ({"order_id": "#2", "ids": [{"user_id": "ann_1"}]}, "I am bob_2", "ann_1"),
        ({"order_id": "#2"}, "I am ann_1", "bob_2"),
        ({"order_id": "#9"}, "I am bob_2, not ann_1", "bob_2"),
        ({}, "I am nobody", None),
    ],
)
def test_the_user_is_whom_the_calls_name_or_else_the_text(arguments: Any, text: str, user: str | None) -> None:
    """First a user's id, then the owner of an order, then the scenario."""
    assert tau2.user_of([Wanted("go", arguments)], ["bob_2", "ann_1"], {"#2": "bob_2"}, text) == user


@pytest.mark.parametrize("text, value", [('{"a": 1}', {"a": 1}), ("8.5", 8.5), ("ann_1", "ann_1"), ("", "")])
def test_text_that_is_json_is_that_json(text: str, value: Any) -> None:
    """Other text stays text."""
    assert tau2.plain(text) == value
