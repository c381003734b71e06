"""LangChain tools that stand on an MCP server: both adapters are active, and a call is one call."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from opentelemetry import trace
from tests.instrument.contract import Kept, Played, Turn
from tests.instrument.frameworks.langchain.agent import Scenario, play_agent
from tests.instrument.mcp_servers import SERVERS, connect

from citespan import semconv
from citespan.core.policy import ArgumentRule, Policy, ToolRule
from citespan.instrument import activate

READ: Turn = [("read_note", {"name": "milk.txt"})]
LIST: Turn = [("list_notes", {})]


class TestMcp(Scenario):
    """The server's own folder shows what really happened."""

    @pytest.fixture
    def notes(self, tmp_path: Path) -> Path:
        folder = tmp_path / "notes"
        folder.mkdir()
        (folder / "milk.txt").write_text("two litres")
        (folder / "hidden.env").write_text("KEY=1")
        return folder

    @pytest.fixture(autouse=True)
    def client_too(self, kept: Kept) -> None:
        activate("mcp")

    def play(self, script: Sequence[Turn], folder: Path, **options: Any) -> Played:
        """An agent over a real server, which is started anew for every call."""
        connection: Any = {"command": sys.executable, "args": [str(SERVERS / "notes_server.py"), str(folder)]}
        client = MultiServerMCPClient({"disk": {"transport": "stdio", **connection}}, **options)
        tools = asyncio.run(client.get_tools())
        return play_agent(script, tools, flavour="ainvoke")

    def test_one_call_is_judged_once(self, kept: Kept, notes: Path) -> None:
        """One line of evidence and one span; the argument cites the field of the server's structured result."""
        played = self.play([LIST, READ, [("delete_note", {"name": "hidden.env"})], "done"], notes)
        assert played.output == "done"
        assert "two litres" in played.model_saw[2]
        assert kept.judged() == {"list_notes": 1, "read_note": 1, "delete_note": 1}
        assert (notes / "hidden.env").exists()
        (span,) = kept.of("read_note")
        attributes = dict(span.attributes or {})
        assert attributes[semconv.SOURCE_FIELD + "name"] == "names.0"
        assert attributes[semconv.TOOL_TYPE] == "extension"
        assert kept.statuses("delete_note") == ["blocked"]

    def test_its_own_name_for_a_tool_is_the_servers(self, kept: Kept, notes: Path) -> None:
        """With the host's prefix before it, it still is one call of one tool."""
        script: list[Turn] = [[("disk_list_notes", {})], [("disk_read_note", {"name": "milk.txt"})], "done"]
        assert "two litres" in self.play(script, notes, tool_name_prefix=True).model_saw[2]
        assert kept.judged() == {"list_notes": 1, "read_note": 1}

    def test_a_server_is_called_what_the_host_calls_it(self, kept: Kept, notes: Path) -> None:
        """It calls itself `notes`; a rule for `disk` holds for it, in both hooks."""
        listed = ArgumentRule(sources=("disk/list_notes.names.*",))
        kept.configure(Policy(tools={"disk/read_note": ToolRule(arguments={"name": listed})}))
        assert "two litres" in self.play([LIST, READ, "done"], notes).model_saw[2]
        assert kept.judged() == {"list_notes": 1, "read_note": 1}

    @pytest.mark.parametrize("trusted, ran", [(True, True), (False, False)])
    def test_a_hint_is_believed_where_the_policy_trusts_the_server(
        self, kept: Kept, notes: Path, trusted: bool, ran: bool
    ) -> None:
        """`readOnlyHint` of a tool puts it in tag mode then; one that changes something stays enforced."""
        kept.configure(Policy(servers={"disk": trusted}))
        script: list[Turn] = [
            [("read_note", {"name": "hidden.env"})],
            [("delete_note", {"name": "hidden.env"})],
            "done",
        ]
        played = self.play(script, notes)
        assert ("KEY=1" in played.model_saw[1]) is ran
        assert kept.statuses("read_note") == ["flagged" if ran else "blocked"]
        assert (notes / "hidden.env").exists()

    def test_a_tool_error_of_the_server_teaches_nothing(self, kept: Kept, notes: Path) -> None:
        """The text of the error names the file, and still it cannot be cited."""
        (notes / "list").mkdir()
        script: list[Turn] = [LIST, [("read_note", {"name": "milk.txt"})], [("read_note", {"name": "No such"})], "done"]
        (notes / "milk.txt").unlink()
        (notes / "milk.txt").symlink_to("nowhere")
        self.play(script, notes)
        assert kept.statuses("read_note") == ["blocked", "ok"]

    def test_the_spans_of_the_client_are_children_of_the_call(self, kept: Kept, notes: Path) -> None:
        """What is traced while the request is out belongs to the tool's one span."""
        tracer = trace.get_tracer("client", tracer_provider=kept.provider)

        async def story() -> None:
            async with connect("notes_server.py", notes) as session:
                send = session.send_request

                async def traced(*args: Any, **kwargs: Any) -> Any:
                    with tracer.start_as_current_span("send"):
                        return await send(*args, **kwargs)

                tools = await load_mcp_tools(session, server_name="disk")
                session.send_request = traced  # type: ignore[method-assign]
                graph_tools = {made.name: made for made in tools}
                await graph_tools["list_notes"].ainvoke({})

        asyncio.run(story())
        (call,) = kept.of("list_notes")
        sends = [span for span in kept.all() if span.name == "send"]
        assert call.context is not None
        assert sends
        assert {span.parent and span.parent.span_id for span in sends} == {call.context.span_id}
