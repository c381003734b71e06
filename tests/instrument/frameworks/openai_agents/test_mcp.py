"""MCP servers of the OpenAI Agents SDK, over stdio: one judgement, one span, and what the server really answered."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from agents import Agent
from agents.mcp import MCPServerStdio, MCPUtil
from tests.instrument.contract import Kept, Turn
from tests.instrument.frameworks.openai_agents.agent import Scripted, run
from tests.instrument.frameworks.openai_agents.scenario import Scenario
from tests.instrument.mcp_servers import SERVERS, Wire, says, tool

from citespan import semconv
from citespan.core.policy import Policy, ToolRule
from citespan.instrument import activate

TEXT = {"type": "string"}


async def talk(script: Sequence[Turn], *command: object, **options: Any) -> tuple[Any, list[str]]:
    """Run an agent with one server script of the tests; its final output, and what the model saw."""
    options.setdefault("name", "mine")
    parameters = {"command": sys.executable, "args": [*map(str, command)]}
    model = Scripted(script)
    async with MCPServerStdio(params=parameters, **options) as server:
        result = await run(Agent(name="A", model=model, mcp_servers=[server]), "go", "async")
    return result.final_output, model.saw


@pytest.fixture(params=["alone", "with the MCP client's adapter"])
def both(request: pytest.FixtureRequest, kept: Kept) -> bool:
    """Whether the adapter of the MCP client is active too."""
    if request.param != "alone":
        activate("mcp")
    return bool(request.param != "alone")


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text(f"text of {name}")
    return folder


def left(notes: Path) -> list[str]:
    """The notes that are still there."""
    return sorted(path.name for path in notes.iterdir())


class TestServers(Scenario):
    @pytest.mark.parametrize("structured", [False, True])
    async def test_a_call_is_judged_once_and_cites_the_servers_own_fields(
        self, kept: Kept, both: bool, notes: Path, structured: bool
    ) -> None:
        """Whatever text the SDK makes of the answer, and whoever looks at the call further in."""
        guess: Turn = [("delete_note", {"name": "z.txt"})]
        delete: Turn = [("delete_note", {"name": "a.txt"})]
        script: list[Turn] = [[("list_notes", {})], guess, delete, "done"]
        server = SERVERS / "notes_server.py"
        output, saw = await talk(script, server, notes, use_structured_content=structured)
        assert output == "done"
        assert "delete_note.name: in no result" in saw[2]
        assert left(notes) == ["b.txt"]
        assert kept.judged() == {"list_notes": 1, "delete_note": 2}
        assert (len(kept.of("list_notes")), len(kept.of("delete_note"))) == (1, 2)
        (cited,) = [span for span in kept.of("delete_note") if (span.attributes or {})[semconv.STATUS] == "ok"]
        attributes = cited.attributes or {}
        assert attributes[semconv.SOURCE_FIELD + "name"] == "names.0"
        assert attributes[semconv.TOOL_TYPE] == "extension"

    async def test_trace_context_travels_with_the_call(self, kept: Kept, both: bool, tmp_path: Path) -> None:
        """`_meta` names the call's trace, where the client of the SDK writes any (mcp 2)."""
        wire = Wire(tmp_path, name="w", listings=[[[tool("look", True)]]], results={"look": [says("a.py")]})
        await talk([[("look", {})], "done"], SERVERS / "wire_server.py", wire._scenario, wire._requests)
        (span,) = kept.of("look")
        assert span.context is not None
        (request,) = wire.seen("tools/call")
        parent = (request.get("_meta") or {}).get("traceparent", f"{span.context.trace_id:032x}")
        assert f"{span.context.trace_id:032x}" in parent

    async def test_an_error_that_is_text_teaches_nothing(self, kept: Kept, both: bool, tmp_path: Path) -> None:
        """The SDK hands `isError` results to the model as any other text."""
        wire = Wire(
            tmp_path,
            name="w",
            listings=[[[tool("look", True), tool("patch", path=TEXT)]]],
            results={"look": [says("leaked.py", isError=True), says("a.py")], "patch": [says("patched")]},
        )
        script: list[Turn] = [
            [("look", {})],
            [("patch", {"path": "leaked.py"})],
            [("look", {})],
            [("patch", {"path": "a.py"})],
            "done",
        ]
        _, saw = await talk(script, SERVERS / "wire_server.py", wire._scenario, wire._requests)
        assert "leaked.py" in saw[1]
        assert [request["arguments"] for request in wire.seen("tools/call")] == [{}, {}, {"path": "a.py"}]
        assert kept.statuses("patch") == ["blocked", "ok"]

    async def test_what_the_sdk_sends_again_is_judged_once(self, kept: Kept, both: bool, tmp_path: Path) -> None:
        """A server that does not answer in time is asked again, by the SDK itself."""
        wire = Wire(tmp_path, name="w", listings=[[[tool("look", True)]]], results={}, mute=["tools/call"])
        options = {"max_retry_attempts": 1, "client_session_timeout_seconds": 1, "retry_backoff_seconds_base": 0.01}
        await talk([[("look", {})], "done"], SERVERS / "wire_server.py", wire._scenario, wire._requests, **options)
        assert len(wire.seen("tools/call")) == 2
        assert kept.judged() == {"look": 1}
        assert len(kept.of("look")) == 1

    async def test_a_read_only_hint_is_believed_of_a_trusted_server_only(
        self, kept: Kept, both: bool, notes: Path
    ) -> None:
        """The host names the server (`MCPServerStdio(name=...)`), and the policy trusts that name."""
        read: Turn = [("read_note", {"name": "a.txt"})]
        kept.configure(Policy(servers={"mine": True}))
        await talk([read, "done"], SERVERS / "notes_server.py", notes)
        await talk([read, "done"], SERVERS / "notes_server.py", notes, name="other")
        assert kept.statuses("read_note") == ["blocked", "flagged"]

    async def test_a_policy_names_a_tool_by_its_server(self, kept: Kept, notes: Path) -> None:
        """`[tools."mine/delete_note"]`, with the name that the server has in the program."""
        kept.configure(Policy(tools={"mine/delete_note": ToolRule(mode="tag")}))
        await talk([[("delete_note", {"name": "a.txt"})], "done"], SERVERS / "notes_server.py", notes)
        assert kept.statuses("delete_note") == ["flagged"]

    async def test_a_tool_that_was_converted_before_is_guarded_and_teaches_nothing(
        self, kept: Kept, notes: Path
    ) -> None:
        """Its answer is not seen, so it cannot be cited."""
        from citespan.instrument import deactivate

        deactivate("openai-agents")
        parameters = {"command": sys.executable, "args": [str(SERVERS / "notes_server.py"), str(notes)]}
        async with MCPServerStdio(params=parameters, name="mine") as server:  # type: ignore[arg-type]
            tools = [MCPUtil.to_function_tool(found, server, False) for found in await server.list_tools()]
            activate("openai-agents")
            script: list[Turn] = [[("list_notes", {})], [("delete_note", {"name": "a.txt"})], "done"]
            await run(Agent(name="A", model=Scripted(script), tools=tools), "go", "async")
        assert left(notes) == ["a.txt", "b.txt"]
        assert kept.statuses("delete_note") == ["blocked"]

    async def test_calls_of_one_response_reach_the_server_side_by_side(
        self, kept: Kept, both: bool, notes: Path
    ) -> None:
        """They cannot cite each other there either."""
        script: list[Turn] = [[("list_notes", {}), ("delete_note", {"name": "a.txt"})], "done"]
        await asyncio.wait_for(talk(script, SERVERS / "notes_server.py", notes), 60)
        assert left(notes) == ["a.txt", "b.txt"]
        assert kept.statuses("delete_note") == ["blocked"]
