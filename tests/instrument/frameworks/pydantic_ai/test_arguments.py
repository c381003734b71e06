"""What is judged of a call, and what its body gets."""

import json
from dataclasses import fields
from datetime import date
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ModelRetry, Tool
from pydantic_ai.capabilities import Hooks
from pydantic_ai.messages import ToolReturn
from pydantic_ai.tools import ToolDefinition
from tests.instrument.contract import LIST, PATCH_SECRET, SECRET, Kept, World
from tests.instrument.frameworks.pydantic_ai.agent import Script, run, tools_of
from tests.instrument.frameworks.pydantic_ai.scenario import Scenario, play

from citespan import semconv
from citespan.core.policy import Policy, ToolRule
from citespan.guard.registry import registry

BOOKED = {"day": "2026-03-04", "room": {"name": "Blue", "seats": 12}}
#: before it had, the search for tools is a tool like any other
SEARCH_HAS_A_KIND = "tool_kind" in {field.name for field in fields(ToolDefinition)}
SAID = 'book {"day": "2026-03-04", "name": "Blue", "seats": 12}'


class Room(BaseModel):
    name: str
    seats: int
    floor: int = 7


class TestValidated(Scenario):
    def test_the_models_json_is_judged_and_the_body_gets_what_the_validator_made_of_it(self, kept: Kept) -> None:
        """A date and a model with a default, of which the model wrote text and two of three fields."""
        got: list[Any] = []

        def book(day: date, room: Room) -> str:
            got.append((day, room))
            return "booked"

        played = play([[("book", BOOKED)], "done"], [book], SAID)
        assert played.output == "done"
        assert got == [(date(2026, 3, 4), Room(name="Blue", seats=12, floor=7))]
        (span,) = kept.of("book")
        assert (span.attributes or {})[semconv.COUNT + "user"] == 3

    def test_a_guess_inside_a_model_is_denied(self, kept: Kept) -> None:
        """The path that is refused is the one in the model's JSON."""
        got: list[Any] = []

        def book(day: date, room: Room) -> str:
            got.append(room)
            return "booked"

        guess = {**BOOKED, "room": {"name": "Blue", "seats": 400}}
        played = play([[("book", guess)], "sorry"], [book], SAID)
        assert "book.room.seats: in no result" in played.model_saw[1]
        assert got == []

    @pytest.mark.parametrize("pair", [(SECRET, "a.py"), ("a.py", SECRET)])
    def test_a_key_that_is_there_twice_hides_nothing(self, kept: Kept, world: World, pair: tuple[str, str]) -> None:
        """Whichever of the two the body would get is the one that is judged."""
        text = f'{{"path": {json.dumps(pair[0])}, "path": {json.dumps(pair[1])}}}'
        play([LIST, [("patch_file", text)], "done"], world)
        assert ("patch_file", {"path": SECRET, "comment": ""}) not in world.bodies
        assert kept.judged()["patch_file"] == 1

    def test_what_the_model_wrote_cannot_change_once_it_was_judged(self, kept: Kept) -> None:
        """An argument that validation hands on as it is would be the very list in the message."""
        arguments = {"paths": ["a.py"]}
        got: list[Any] = []

        class Meddling:
            def append(self, call: Any, decision: Any, span: Any) -> None:
                arguments["paths"][0] = SECRET

        def patch_all(paths: Any) -> str:
            got.append(paths)
            return "patched"

        registry.evidence = Meddling()
        play([[("patch_all", arguments)], "done"], [patch_all], "patch a.py")
        assert got == [["a.py"]]

    def test_what_a_hook_of_the_host_made_of_an_argument_is_handed_over(self, kept: Kept) -> None:
        """It is the host's code, as the body is; what the model wrote was judged."""
        got: list[str] = []

        def patch_file(path: str) -> str:
            got.append(path)
            return "patched"

        hooks: Any = Hooks()

        @hooks.on.before_tool_execute
        async def absolute(ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
            return {"path": f"/srv/{args['path']}"}

        play([[("patch_file", {"path": "a.py"})], "done"], [patch_file], "patch a.py", capabilities=[hooks])
        assert got == ["/srv/a.py"]

    @pytest.mark.parametrize("empty", ["", None, "{}"])
    def test_no_arguments_at_all_are_none(self, kept: Kept, world: World, empty: Any) -> None:
        """However the model says so."""
        play([[("list_files", empty)], "done"], world)
        assert world.bodies == [("list_files", {"root": "."})]


class TestResults(Scenario):
    def test_what_the_model_reads_is_the_observation(self, kept: Kept) -> None:
        """A model object, inside the framework's envelope; its metadata is for the application."""
        got: list[str] = []

        def find() -> ToolReturn:
            return ToolReturn(return_value=Room(name="Blue", seats=12), metadata={"name": "Red"})

        def enter(name: str) -> str:
            got.append(name)
            return "in"

        play([[("find", {})], [("enter", {"name": "Blue"})], [("enter", {"name": "Red"})], "done"], [find, enter])
        assert got == ["Blue"]
        (span,) = [span for span in kept.of("enter") if (span.attributes or {})[semconv.STATUS] == "ok"]
        assert (span.attributes or {})[semconv.SOURCE_FIELD + "name"] == "name"


class TestRefusals(Scenario):
    def test_a_refusal_uses_up_no_retry(self, kept: Kept, world: World) -> None:
        """The framework's own refusal allows one by default, and none here; three refusals do not end the run."""
        played = play([PATCH_SECRET, PATCH_SECRET, PATCH_SECRET, LIST, "done"], world, retries=0)
        assert played.output == "done"
        assert world.ran == ["list_files"]

    def test_what_a_model_writes_again_is_judged_again(self, kept: Kept) -> None:
        """A tool that asks it to try again gets a new call, of a new response, whatever id the model gives it."""
        bodies: list[str] = []

        def patch_file(path: str) -> str:
            bodies.append(path)
            if len(bodies) < 3:
                raise ModelRetry("busy")
            return "patched"

        again = ("patch_file", {"path": "a.py"}, "the-call")
        other = ("patch_file", {"path": "a.py"}, "another-call")
        played = play([[again], [again], [other], "done"], [patch_file], "patch a.py", retries=3)
        assert played.output == "done"
        assert bodies == ["a.py"] * 3
        assert kept.judged() == {"patch_file": 3}


class TestNoTools(Scenario):
    def test_an_output_tool_is_the_answer_and_no_call(self, kept: Kept, world: World) -> None:
        """Its arguments are the model's words for the caller."""
        script = Script([LIST, [("final_result", {"name": "Green", "seats": 3})]])
        agent: Any = Agent(tools=tools_of(world, True), output_type=Room)
        output, _ = run(agent, "go", flavour="async", model=script.model)
        assert output == Room(name="Green", seats=3)
        assert kept.judged() == {"list_files": 1}

    def test_a_call_that_waits_for_approval_is_judged_when_it_is_to_run(self, kept: Kept) -> None:
        """The caller's approval says that it may be tried, not where its argument comes from."""
        got: list[str] = []

        def list_files() -> list[str]:
            return ["a.py"]

        def patch_file(path: str) -> str:
            got.append(path)
            return "patched"

        tools = [list_files, Tool(patch_file, requires_approval=True)]
        for number, (path, ran) in enumerate([("a.py", ["a.py"]), (SECRET, ["a.py"])]):
            script = Script([[("list_files", {})], [("patch_file", {"path": path}, f"c{number}")], "done"])
            agent: Any = Agent(script.model, tools=tools, output_type=[str, DeferredToolRequests])
            asked, messages = run(agent, "go", flavour="async")
            assert isinstance(asked, DeferredToolRequests)
            assert kept.judged().get("patch_file", 0) == number
            approved = DeferredToolResults(approvals={f"c{number}": True})
            run(agent, None, flavour="async", message_history=messages, deferred_tool_results=approved)
            assert got == ran
            assert kept.judged()["patch_file"] == number + 1

    def test_the_default_policy_lets_the_model_search_for_tools(self, kept: Kept) -> None:
        """Finding a tool's definition is no call of it; the tool that was found is judged."""

        got: list[str] = []

        def patch_file(path: str) -> str:
            """Patch a file."""
            got.append(path)
            return "patched"

        words: Any = {"queries": ["patch"]}
        if not SEARCH_HAS_A_KIND:
            words = {"keywords": "patch"}
            kept.configure(Policy(tools={"search_tools": ToolRule(mode="off")}))
        script = Script([[("search_tools", words)], PATCH_SECRET, [("patch_file", {"path": "a.py"})], "done"])
        played = play(script, [Tool(patch_file, defer_loading=True)], "patch a.py")
        assert played.output == "done"
        assert got == ["a.py"]
        assert kept.judged()["patch_file"] == 2
        assert ("search_tools" in kept.judged()) is not SEARCH_HAS_A_KIND
