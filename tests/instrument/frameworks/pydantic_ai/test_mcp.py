"""Tools of MCP servers, over stdio: one judgement, one span, and the server's own names."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, mcp
from tests.instrument.contract import WAIT, Kept, Played, Turn
from tests.instrument.frameworks.pydantic_ai.agent import Script, play_agent
from tests.instrument.frameworks.pydantic_ai.scenario import Scenario
from tests.instrument.mcp_servers import SERVERS, Wire, says, tool

from citespan import semconv
from citespan.core.policy import Policy
from citespan.instrument import activate

LIST_NOTES: Turn = [("list_notes", {})]
DELETE: Turn = [("delete_note", {"name": "a.txt"})]
GUESS: Turn = [("delete_note", {"name": "z.txt"})]


def toolset(*command: object, **named: str) -> Any:
    """One server script of the tests; `id` is the host's name for it."""
    arguments = [*map(str, command)]
    if not hasattr(mcp, "MCPToolset"):  # before 2.0
        return mcp.MCPServerStdio(sys.executable, arguments, timeout=WAIT, **named)
    from fastmcp.client.transports import StdioTransport

    return mcp.MCPToolset(StdioTransport(command=sys.executable, args=arguments), init_timeout=WAIT, **named)


def talk(script: Sequence[Turn], *toolsets: Any) -> Played:
    """Run an agent with these servers to its end."""
    return play_agent(Agent(toolsets=toolsets, name="A"), Script(script), "go", flavour="async")


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
    def test_a_call_is_judged_once(self, kept: Kept, both: bool, notes: Path) -> None:
        """Whoever looks at it further in; and what was refused never reached the server."""
        played = talk([LIST_NOTES, GUESS, DELETE, "done"], toolset(SERVERS / "notes_server.py", notes))
        assert (played.output, played.raised) == ("done", None)
        assert "delete_note.name: in no result" in played.model_saw[2]
        assert left(notes) == ["b.txt"]
        assert kept.judged() == {"list_notes": 1, "delete_note": 2}
        assert len(kept.of("list_notes")) == 1
        assert kept.statuses("delete_note") == ["blocked", "ok"]
        (span,) = [span for span in kept.of("delete_note") if (span.attributes or {})[semconv.STATUS] == "ok"]
        assert (span.attributes or {})[semconv.SOURCE_FIELD + "name"] == "names.0"
        assert (span.attributes or {})[semconv.TOOL_TYPE] == "extension"

    def test_a_prefix_changes_nothing(self, kept: Kept, both: bool, notes: Path) -> None:
        """The policy, the span and the ledger have the server's own name for a tool."""
        script: list[Turn] = [[("my_list_notes", {})], [("my_delete_note", {"name": "a.txt"})], "done"]
        talk(script, toolset(SERVERS / "notes_server.py", notes).prefixed("my"))
        assert left(notes) == ["b.txt"]
        assert kept.judged() == {"list_notes": 1, "delete_note": 1}

    def test_hints_are_believed_where_the_policy_says_so(self, kept: Kept, both: bool, notes: Path) -> None:
        """Reading is only tagged then; deleting is not."""
        kept.configure(Policy(servers={"notes": True}))
        read: Turn = [("read_note", {"name": "b.txt"})]
        talk([read, GUESS, "done"], toolset(SERVERS / "notes_server.py", notes))
        assert kept.statuses("read_note") == ["flagged"]
        assert kept.statuses("delete_note") == ["blocked"]

    def test_the_hosts_name_for_a_server_wins(self, kept: Kept, both: bool, notes: Path) -> None:
        """One that calls itself as a trusted one does gains nothing by it."""
        kept.configure(Policy(servers={"notes": True}))
        read: Turn = [("read_note", {"name": "b.txt"})]
        played = talk([read, "done"], toolset(SERVERS / "notes_server.py", notes, id="stranger"))
        assert "read_note.name: in no result" in played.model_saw[1]
        assert kept.statuses("read_note") == ["blocked"]

    def test_a_field_has_the_name_that_the_server_gives_it(self, kept: Kept, both: bool, tmp_path: Path) -> None:
        """A list comes in the SDK's wrapper, which the framework takes off."""
        schema = {"type": "object", "properties": {"result": {"type": "array"}}, "x-fastmcp-wrap-result": True}
        names = {**tool("names"), "outputSchema": schema}
        result = says('["a.py"]', structuredContent={"result": ["a.py"]})
        use = tool("use", path={"type": "string"})
        wire = Wire(tmp_path, listings=[[[names, use]]], results={"names": [result], "use": [says("used")]})
        talk(
            [[("names", {})], [("use", {"path": "a.py"})], "done"],
            toolset(SERVERS / "wire_server.py", wire._scenario, wire._requests),
        )
        (span,) = kept.of("use")
        assert (span.attributes or {})[semconv.SOURCE_FIELD + "path"] == "result.0"

    def test_an_error_of_the_server_teaches_nothing(self, kept: Kept, both: bool, tmp_path: Path) -> None:
        """Whatever it names in it."""
        tools = [tool("find"), tool("use", path={"type": "string"})]
        results = {"find": [says("no such file: a.py", isError=True)], "use": [says("used")]}
        wire = Wire(tmp_path, listings=[[tools]], results=results)
        talk(
            [[("find", {})], [("use", {"path": "a.py"})], "done"],
            toolset(SERVERS / "wire_server.py", wire._scenario, wire._requests),
        )
        assert kept.statuses("use") == ["blocked"]
        assert not [call for call in wire.seen("tools/call") if call["name"] == "use"]
