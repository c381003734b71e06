"""Which results are sources: successful ones that tools made, not models; and what a policy says of a tool's output."""

from __future__ import annotations

import dataclasses
import datetime
import uuid
from typing import Any

import pytest
from tests.core.helpers import Agent, attached, parameters, tagging

from citespan.core.policy import ToolRule
from citespan.guard.guard import begin
from citespan.guard.ports import Tool
from citespan.guard.run import Run

SHELL = Tool("shell", schema=parameters("command"), read_only=True)


def test_a_call_that_raised_teaches_nothing() -> None:
    agent = Agent()
    agent.fails("look", {}, LookupError('{"did_you_mean": "kestrel"}'))
    assert agent.why("kestrel") == "nowhere"


def test_an_error_that_a_framework_returns_teaches_nothing() -> None:
    agent = Agent()
    ticket = agent.start(SHELL, {})
    ticket.failed("isError")
    ticket.finish({"did_you_mean": "kestrel"})
    assert agent.kind("kestrel") == "assumed"


def test_an_exception_returned_as_a_result_teaches_nothing() -> None:
    agent = Agent()
    agent.reads("look", {}, LookupError("kestrel"))
    assert agent.kind("kestrel") == "assumed"


@pytest.mark.parametrize("empty", [None, "", [], {}])
def test_an_empty_result_is_no_source(empty: Any) -> None:
    agent = Agent()
    agent.reads("look", {}, empty)
    assert agent.kind(empty) == "assumed"


def test_a_result_counts_once() -> None:
    agent = Agent()
    ticket = agent.start(SHELL, {})
    ticket.finish({"bird": "kestrel"})
    ticket.finish({"bird": "heron"})
    assert agent.kind("kestrel") == "observed"
    assert agent.kind("heron") == "assumed"


@pytest.mark.parametrize("result", [b"kestrel", object(), {"kestrel", "heron"}, iter(["kestrel"]), {"a": object()}])
def test_a_result_without_a_json_form_is_no_source(result: Any) -> None:
    agent = Agent()
    agent.reads("look", {}, result)
    assert agent.kind("kestrel") == "assumed"


@dataclasses.dataclass
class Bird:
    name: str
    seen: datetime.date


@pytest.mark.parametrize(
    "result, value",
    [
        (("kestrel", "heron"), "kestrel"),
        (Bird("kestrel", datetime.date(2031, 7, 2)), "kestrel"),
        (Bird("kestrel", datetime.date(2031, 7, 2)), "2031-07-02"),
        ({"id": uuid.UUID(int=5)}, "00000000-0000-0000-0000-000000000005"),
        ({70217: "kestrel"}, "70217"),
    ],
)
def test_a_result_is_read_as_the_json_that_it_would_become(result: Any, value: Any) -> None:
    agent = Agent()
    agent.reads("look", {}, result)
    assert agent.kind(value) == "observed"


def test_what_happens_to_a_result_after_the_tool_returned_it_changes_nothing() -> None:
    agent = Agent()
    result = {"birds": ["heron"]}
    agent.reads("look", {}, result)
    result["birds"].append("kestrel")
    assert agent.kind("kestrel") == "assumed"


def test_a_call_outside_any_run_leaves_nothing_and_cites_nothing() -> None:
    agent = Agent()
    ticket = begin(SHELL, {})
    ticket.finish({"bird": "kestrel"})
    assert agent.kind("kestrel") == "assumed"


# output = "model"


def test_what_a_model_made_is_no_observation() -> None:
    agent = Agent(tagging(ask=ToolRule(output="model")))
    agent.reads("ask", {"question": "which bird?"}, {"bird": "kestrel"})
    assert agent.kind("kestrel") == "assumed"


def test_the_result_of_a_body_that_ran_a_nested_agent_is_none_either() -> None:
    agent = Agent()

    def body() -> dict[str, str]:
        with Run("helper"):
            return {"bird": "kestrel"}

    agent.call(Tool("ask", schema=parameters()), {}, body=body)
    assert agent.kind("kestrel") == "assumed"


def test_a_nested_agent_at_any_depth_makes_every_result_above_it_a_models_word() -> None:
    agent = Agent()

    def inner() -> dict[str, str]:
        with Run("helper"):
            return {"bird": "kestrel"}

    def body() -> dict[str, str]:
        ticket = begin(Tool("delegate", schema=parameters()), {})
        with attached(ticket.context):
            result = inner()
        ticket.finish(result)
        return result

    agent.call(Tool("ask", schema=parameters()), {}, body=body)
    assert agent.kind("kestrel") == "assumed"


def test_tools_that_a_nested_agent_called_are_sources_of_the_outer_run() -> None:
    agent = Agent()

    def body() -> dict[str, str]:
        with Run("helper"):
            begin(Tool("look", schema=parameters(), read_only=True), {}).finish({"bird": "kestrel"})
            return {"advice": "heron"}

    agent.call(Tool("ask", schema=parameters()), {}, body=body)
    assert agent.kind("kestrel") == "observed"
    assert agent.kind("heron") == "assumed"


def test_what_a_nested_agent_is_told_is_never_the_users_word() -> None:
    agent = Agent()

    def body() -> None:
        with Run("helper", inputs={"task": "release kestrel"}) as nested:
            nested.user("release heron")
            nested.observe("context", {"bird": "osprey"})

    agent.call(Tool("ask", schema=parameters()), {}, body=body)
    assert {agent.kind(bird) for bird in ("kestrel", "heron", "osprey")} == {"assumed"}


def test_a_run_that_the_host_opens_inside_a_run_may_declare_inputs() -> None:
    agent = Agent()
    with attached(agent.context), Run("phase two", inputs={"task": "release kestrel"}):
        pass
    assert agent.kind("kestrel") == "user"


# output = "computed"


def test_a_computed_result_is_a_source_if_all_its_arguments_were_cited() -> None:
    agent = Agent(tagging(shell=ToolRule(output="computed")))
    agent.reads("list", {}, ["sort birds.txt"])
    agent.call(SHELL, {"command": "sort birds.txt"}, "kestrel")
    assert agent.kind("kestrel") == "observed"


def test_a_computed_result_is_none_if_any_argument_was_not() -> None:
    agent = Agent(tagging(shell=ToolRule(output="computed")))
    agent.call(SHELL, {"command": "echo a2VzdHJlbA== | base64 -d"}, "kestrel")
    assert agent.kind("kestrel") == "assumed"


def test_an_allowed_argument_makes_a_computed_result_none_as_well() -> None:
    agent = Agent(tagging(shell=ToolRule(output="computed", allow=frozenset({"command"}))))
    agent.call(SHELL, {"command": "echo kestrel"}, "kestrel hawk")
    assert agent.kind("kestrel hawk") == "assumed"


def test_the_code_of_a_tool_may_say_what_its_output_is_where_the_policy_is_silent() -> None:
    agent = Agent()
    agent.call(SHELL._replace(output="model"), {}, {"bird": "kestrel"})
    assert agent.kind("kestrel") == "assumed"
    lenient = Agent(tagging(shell=ToolRule(output="data")))
    lenient.call(SHELL._replace(output="model"), {}, {"bird": "kestrel"})
    assert lenient.kind("kestrel") == "observed"


# failed_when


@pytest.mark.parametrize(
    "pattern, result",
    [
        ("error", {"error": "no such bird, try kestrel hawk", "near": "kestrel"}),
        ("status=failed", {"status": "failed", "near": "kestrel"}),
        ("status=failed", {"status": "FAILED", "near": "kestrel"}),
        ("ok=false", {"ok": False, "near": "kestrel"}),
        ("code=404", {"code": 404, "near": "kestrel"}),
        ("meta.error", {"meta": {"error": {"code": 1}}, "near": "kestrel"}),
        ("0.error", [{"error": "x"}, "kestrel"]),
    ],
)
def test_an_error_returned_as_success_is_recognised_as_the_policy_says(pattern: str, result: Any) -> None:
    agent = Agent(tagging(look=ToolRule(failed_when=(pattern,))))
    agent.reads("look", {}, result)
    assert agent.kind("kestrel") == "assumed"


@pytest.mark.parametrize("result", ["Error: kestrel", "  Error: kestrel"])
def test_a_text_that_starts_as_the_policy_says_is_an_error(result: str) -> None:
    agent = Agent(tagging(look=ToolRule(failed_when=("^Error:",))))
    agent.reads("look", {}, result)
    assert agent.kind(result) == "assumed"


@pytest.mark.parametrize(
    "pattern, result",
    [
        ("error", {"error": None, "near": "kestrel"}),
        ("error", {"error": "", "near": "kestrel"}),
        ("error", {"errors": ["x"], "near": "kestrel"}),
        ("error", {"data": {"error": "x"}, "near": "kestrel"}),
        ("status=failed", {"status": "ok", "near": "kestrel"}),
        ("^Error", {"result": "Error", "near": "kestrel"}),
    ],
)
def test_what_the_pattern_does_not_name_is_a_result(pattern: str, result: Any) -> None:
    agent = Agent(tagging(look=ToolRule(failed_when=(pattern,))))
    agent.reads("look", {}, result)
    assert agent.kind("kestrel") == "observed"
