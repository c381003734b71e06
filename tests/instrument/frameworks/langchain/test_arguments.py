"""What of a LangChain call is judged, and what its body gets."""

import gc
from datetime import date
from typing import Annotated, Any

import pytest
from langchain.tools import InjectedState, ToolRuntime
from langchain_core.tools import BaseTool, InjectedToolArg, InjectedToolCallId, StructuredTool, Tool, tool
from pydantic import BaseModel, Field, field_validator
from tests.instrument.contract import REFUSED, SECRET, Kept, Turn, World
from tests.instrument.frameworks.langchain.agent import Scenario, Scripted, play_agent, tools_of

from citespan.core.decision import ProvenanceDenied
from citespan.guard.run import Run
from citespan.instrument._langchain_call import _KNOWN

#: a listing with a number, a date and a path
LISTED = {"id": 5120, "day": "2026-03-04", "path": "a.py", "owner": {"name": "ann", "files": ["a.py"]}}


class TestArguments(Scenario):
    """Judged as validated where that is JSON, else as written; what the host adds is not."""

    def agent(self, made: Any, *turns: Turn, said: str = "go", **options: Any) -> Any:
        """Play turns against one tool and a listing."""

        @tool
        def look() -> dict:
            """Look."""
            return LISTED

        return play_agent([[("look", {})], *turns, "done"], [look, made], said=said, **options)

    def test_an_argument_is_judged_as_it_was_validated(self, kept: Kept) -> None:
        """The model wrote a text, the schema made a number of it, and that is what was observed."""
        got = []

        @tool
        def close(number: int) -> str:
            """Close an issue."""
            got.append(number)
            return "closed"

        self.agent(close, [("close", {"number": "5120"})], [("close", {"number": "5121"})])
        assert got == [5120]
        assert kept.statuses("close") == ["blocked", "ok"]

    def test_an_argument_that_became_an_object_is_judged_as_written(self, kept: Kept) -> None:
        """Dates and models have no JSON form; the body gets the objects, made once."""
        made = []

        class Owner(BaseModel):
            name: str
            files: list[str]
            team: str = "none"

            @field_validator("name")
            @classmethod
            def count(cls, name: str) -> str:
                made.append(name)
                return name

        got: list[Any] = []

        @tool
        def assign(day: date, owner: Owner) -> str:
            """Assign."""
            got.append((day, owner))
            return "assigned"

        owner = {"name": "ann", "files": ["a.py"]}
        wrong = {"name": "ann", "files": [SECRET]}
        self.agent(
            assign,
            [("assign", {"day": "2026-03-04", "owner": owner})],
            [("assign", {"day": "2026-03-05", "owner": owner})],
            [("assign", {"day": "2026-03-04", "owner": wrong})],
        )
        assert got == [(date(2026, 3, 4), Owner(**owner))]
        assert kept.statuses("assign") == ["blocked", "blocked", "ok"]
        assert made.count("ann") == 4  # once per call, and the one above

    def test_the_body_gets_the_judged_copy(self, kept: Kept) -> None:
        """What changes between the verdict and the body is not what the body gets."""
        got = []

        class Changing(BaseTool):
            name: str = "save"
            description: str = "Save."
            args_schema: dict = {  # noqa: RUF012
                "type": "object",
                "properties": {"paths": {"type": "array", "items": {"type": "string"}}},
            }

            def _run(self, paths: list[str]) -> str:
                got.append(list(paths))
                return "saved"

        paths = ["a.py"]
        with Run("r") as run:
            run.user("a.py")

            class Callback(__import__("langchain_core.callbacks", fromlist=["x"]).BaseCallbackHandler):
                def on_tool_start(self, *_: Any, **__: Any) -> None:
                    paths[0] = SECRET

            Changing().invoke({"paths": paths}, {"callbacks": [Callback()]})
        assert paths == [SECRET]
        assert got == [["a.py"]]

    def test_an_alias_hides_nothing(self, kept: Kept) -> None:
        """Models are shown the field's name; sent by its alias, the argument is judged under that name all the same."""
        got = []

        class Schema(BaseModel):
            file_path: str = Field(alias="filePath")

        def save(file_path: str = "") -> str:
            got.append(file_path)
            return "saved"

        made = StructuredTool.from_function(save, name="save", description="Save.", args_schema=Schema)
        self.agent(made, [("save", {"filePath": SECRET})])
        # older versions of LangChain drop what was sent by an alias
        assert (got, kept.statuses("save")) in [([], ["blocked"]), ([""], ["ok"])]

    def test_a_name_that_leads_nowhere_hides_nothing(self, kept: Kept) -> None:
        """With an alias that the schema does not show, the argument is judged all the same."""
        from pydantic import AliasChoices

        got = []

        class Schema(BaseModel):
            path: str = Field(default="a.py", validation_alias=AliasChoices("p", "file"))

        def save(path: str = "") -> str:
            got.append(path)
            return "saved"

        made = StructuredTool.from_function(save, name="save", description="Save.", args_schema=Schema)
        self.agent(made, [("save", {"file": SECRET})], [("save", {"file": "a.py"})])
        # older versions of LangChain drop what was sent by an alias
        assert got in [["a.py"], ["", ""]]

    def test_a_computed_default_is_not_held_against_the_model(self, kept: Kept) -> None:
        """The schema cannot declare it, and the model did not send it."""
        got = []

        class Schema(BaseModel):
            path: str
            stamp: str = Field(default_factory=lambda: "now-4711")

        def save(path: str, stamp: str = "now-4711") -> str:
            got.append((path, stamp))
            return "saved"

        made = StructuredTool.from_function(save, name="save", description="Save.", args_schema=Schema)
        self.agent(made, [("save", {"path": "a.py"})], [("save", {"path": "a.py", "stamp": "now-4712"})])
        assert got == [("a.py", "now-4711")]

    def test_injected_arguments_are_the_hosts(self, kept: Kept) -> None:
        """State, runtime and call id are not judged, and no span says them."""
        got = []

        @tool
        def save(
            path: str,
            state: Annotated[dict, InjectedState],
            runtime: ToolRuntime,
            call_id: Annotated[str, InjectedToolCallId],
        ) -> str:
            """Save."""
            got.append((path, len(state["messages"]), runtime.tool_call_id, call_id))
            return "saved"

        self.agent(save, [("save", {"path": "a.py"})])
        assert got == [("a.py", 4, "call-2-0", "call-2-0")]
        assert kept.statuses("save") == ["ok"]

    def test_what_is_known_of_a_tool_goes_with_it(self, kept: Kept) -> None:
        """It is kept by the tool's id, which another tool may have later."""
        before = set(_KNOWN)
        made = Tool("look", lambda said: said, "Look.")
        with Run("r") as run:
            run.user("a.py")
            assert made.invoke("a.py") == "a.py"
        assert set(_KNOWN) - before == {id(made)}
        del made
        gc.collect()
        assert set(_KNOWN) <= before

    def test_what_the_model_writes_under_an_injected_name_is_judged(self, kept: Kept) -> None:
        """An argument that only the host may give is no way around the guard."""
        got = []

        @tool
        def save(path: str, owner: Annotated[str, InjectedToolArg]) -> str:
            """Save."""
            got.append((path, owner))
            return "saved"

        with Run("r") as run:
            run.user("a.py")
            wanted = Scripted(script=[[("save", {"path": "a.py", "owner": "root"})]], saw=[]).invoke("go").tool_calls[0]
            assert save.invoke(wanted).status == "error"
            save.invoke({"path": "a.py", "owner": "host"})
        assert got == [("a.py", "host")]
        assert kept.statuses("save") == ["blocked", "ok"]

    def test_arguments_that_do_not_fit_are_the_frameworks_to_refuse(self, kept: Kept, world: World) -> None:
        """Nothing runs, so nothing is judged, and the model reads the framework's own text."""
        played = play_agent([[("patch_file", {"path": 3})], "done"], world)
        assert "Input should be a valid string" in played.model_saw[1]
        assert world.ran == []
        assert kept.judged() == {}

    def test_validation_that_changes_its_mind_gets_no_second_chance(self, kept: Kept) -> None:
        """What failed to validate when the guard looked does not run unjudged."""
        tries, got = [], []

        class Schema(BaseModel):
            path: str

            @field_validator("path")
            @classmethod
            def moody(cls, path: str) -> str:
                tries.append(path)
                if len(tries) == 1:
                    raise ValueError("not today")
                return path

        def save(path: str) -> str:
            got.append(path)
            return "saved"

        made = StructuredTool.from_function(save, name="save", description="Save.", args_schema=Schema)
        with Run("r"), pytest.raises(ValueError, match="not today"):
            made.invoke({"path": SECRET})
        assert (len(tries), got) == (1, [])

    @pytest.mark.parametrize("given", [SECRET, {"__arg1": SECRET}])
    def test_a_tool_without_a_schema_is_judged(self, kept: Kept, given: Any) -> None:
        """Its one argument has the name that models are told."""
        got: list[str] = []
        made = Tool(name="save", description="Save.", func=got.append)
        with Run("r") as run:
            with pytest.raises(ProvenanceDenied, match=r"save\.__arg1: in no result"):
                made.invoke(given)
            run.user(f"please save {SECRET}")
            made.invoke(given)
        assert got == [SECRET]

    def test_a_structured_tool_that_is_called_with_a_text(self, kept: Kept, world: World) -> None:
        """The text is its first argument."""
        patch = next(made for made in tools_of(world) if made.name == "patch_file")
        with Run("r") as run:
            with pytest.raises(ProvenanceDenied, match=REFUSED):
                patch.invoke(SECRET)
            run.user("a.py")
            patch.invoke("a.py")
        assert world.bodies == [("patch_file", {"path": "a.py", "comment": ""})]

    def test_a_tool_that_parses_arguments_its_own_way_is_judged_as_written(self, kept: Kept) -> None:
        """It parses once, from the judged copy."""
        got, parsed = [], []

        class Own(BaseTool):
            name: str = "save"
            description: str = "Save."

            def _run(self, path: str) -> str:
                got.append(path)
                return "saved"

            def _to_args_and_kwargs(self, tool_input: Any, tool_call_id: Any) -> Any:
                args, kwargs = super()._to_args_and_kwargs(tool_input, tool_call_id)
                parsed.append(kwargs)
                return args, {"path": kwargs["path"].upper()}

        self.agent(Own(), [("save", {"path": "a.py"})], [("save", {"path": SECRET})])
        assert got == ["A.PY"]
        assert len(parsed) == 1

    def test_a_tool_that_calls_itself_is_judged_each_time(self, kept: Kept) -> None:
        """The inner call has arguments of its own."""
        got = []

        @tool
        def walk(path: str) -> str:
            """Walk."""
            got.append(path)
            return "there" if path == "a.py/x" else str(walk.invoke({"path": "a.py/x"}))

        with Run("r") as run:
            run.user("a.py")
            with pytest.raises(ProvenanceDenied):
                walk.invoke({"path": "a.py"})
        assert got == ["a.py"]
