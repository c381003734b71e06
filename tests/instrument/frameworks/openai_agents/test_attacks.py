"""Tools of a class of the program's own, which has the invoker as a method and so hides the descriptor."""

from __future__ import annotations

from typing import Any

import pytest
from agents import FunctionTool
from tests.instrument.contract import Kept
from tests.instrument.frameworks.openai_agents.scenario import Scenario, play

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


class Own(FunctionTool):
    def __init__(self) -> None:
        self.got: list[str] = []
        super().__init__("patch_file", "Patch a file.", SCHEMA, self.on_invoke_tool, strict_json_schema=False)

    async def on_invoke_tool(self, context: Any, text: str) -> str:
        self.got.append(text)
        return "patched"


class Below(Own):
    async def on_invoke_tool(self, context: Any, text: str) -> str:
        self.got.append("below")
        return await super().on_invoke_tool(context, text)


class TestOwnClasses(Scenario):
    @pytest.mark.parametrize("kind", [Own, Below])
    def test_a_method_of_that_name_is_judged(self, kept: Kept, kind: type[Own]) -> None:
        tool = kind()
        played = play([[("patch_file", '{"path": "prod.env"}')], "done"], [tool])  # type: ignore[list-item]
        assert tool.got == []
        assert "patch_file was not run" in played.model_saw[1]
        assert kept.statuses("patch_file") == ["blocked"]

    def test_it_may_call_its_base(self, kept: Kept) -> None:
        """And is judged once."""
        tool = Below()
        play([[("patch_file", '{"path": "a.py"}')], "done"], [tool], "patch a.py")  # type: ignore[list-item]
        assert (tool.got, kept.statuses("patch_file")) == (["below", '{"path": "a.py"}'], ["ok"])
