"""The MCP server adapter: real servers of whichever mcp is installed, and a real client that calls tools in order."""

from __future__ import annotations

import asyncio
import inspect
import json
import pickle
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from tests.instrument.contract import LIST, PATCH_LISTED, PATCH_SECRET, SECRET, Contract, Kept, Played, Turn, World
from tests.instrument.mcp_servers import MAJOR, connect, in_memory, is_error, text
from tests.instrument.servers.notes_server import hint

import citespan
from citespan import semconv
from citespan.core.decision import ProvenanceDenied
from citespan.core.policy import Policy
from citespan.instrument import activate, deactivate, mcp_server

if MAJOR == 1:
    from mcp import McpError as ProtocolError
    from mcp.server.fastmcp import FastMCP
    from mcp.server.lowlevel import Server
    from mcp.shared.memory import create_connected_server_and_client_session
    from mcp.types import CallToolRequest, CallToolResult, ServerResult, TextContent, Tool
else:
    from mcp import Client
    from mcp import MCPError as ProtocolError
    from mcp.server.lowlevel import Server
    from mcp.server.mcpserver import MCPServer
    from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool


def high_level(world: World, asynchronous: bool = False) -> Any:
    """The tools of a world on the SDK's high-level server."""
    server = MCPServer("files") if MAJOR > 1 else FastMCP("files", log_level="ERROR")
    for name, function in world.functions(asynchronous).items():
        if name == "list_files":  # then its result is structured content
            function.__signature__ = inspect.signature(function).replace(return_annotation=dict[str, Any])  # type: ignore[attr-defined]
        server.tool(annotations=hint(name == "list_files"))(function)
    return server


def low_level(world: World) -> Any:
    """The same tools on the SDK's low-level server, which knows requests and results only."""
    functions = world.functions()

    async def run(name: str, arguments: dict[str, Any]) -> Any:
        try:
            result = functions[name](**arguments)
        except Exception as error:
            return _result(str(error), None, True)
        return _result(json.dumps(result), result if isinstance(result, dict) else {"result": result}, False)

    listed = [
        Tool.model_validate({"name": name, "description": "A tool.", "inputSchema": _schema(function)})
        for name, function in functions.items()
    ]
    if MAJOR > 1:

        async def on_list(ctx: Any, params: Any) -> Any:
            return ListToolsResult(tools=listed)

        async def on_call(ctx: Any, params: Any) -> Any:
            return await run(params.name, params.arguments or {})

        return Server("files", on_list_tools=on_list, on_call_tool=on_call)
    server: Any = Server("files")

    @server.list_tools()
    async def list_tools() -> Any:
        return listed

    async def handler(request: Any) -> Any:
        return ServerResult(await run(request.params.name, request.params.arguments or {}))

    server.request_handlers[CallToolRequest] = handler  # as proxies do, past the decorator
    return server


def _result(said: str, structured: Any, failed: bool) -> Any:
    content = [TextContent(type="text", text=said)]
    return CallToolResult.model_validate({"content": content, "structuredContent": structured, "isError": failed})


def _schema(function: Any) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        default = {} if parameter.default is inspect.Parameter.empty else {"default": parameter.default}
        properties[name] = {"type": "string", **default}
    return {"type": "object", "properties": properties}


@asynccontextmanager
async def client_of(server: Any) -> AsyncIterator[Any]:
    """A client over streams in memory: a connection of its own, as over any wire."""
    if MAJOR > 1:
        async with Client(server, mode="legacy") as client:
            yield client
    else:
        async with create_connected_server_and_client_session(getattr(server, "_mcp_server", server)) as session:
            yield session


SERVERS: dict[str, Any] = {
    "sync": high_level,
    "async": lambda world: high_level(world, asynchronous=True),
    "lowlevel": low_level,
}


class TestMcpServer(Contract):
    """The contract, as far as a server can hold it: the scripted agent is a client that calls tools in order."""

    adapter = "mcp-server"
    distributions = ("mcp",)
    flavours = tuple(SERVERS)

    def play(
        self, script: Sequence[Turn], world: World, *, flavour: str, said: str = "go", thread: str | None = None
    ) -> Played:
        return asyncio.run(asyncio.wait_for(self._play(script, SERVERS[flavour](world), said), 30))

    async def _play(self, script: Sequence[Turn], server: Any, said: str) -> Played:
        saw = [said]
        async with client_of(server) as client:
            for turn in script:
                if isinstance(turn, str):
                    return Played(turn, None, saw)
                try:
                    results = await asyncio.gather(*(client.call_tool(tool, given) for tool, given in turn))
                except Exception as error:
                    return Played(None, error, saw)
                saw.append("\n".join(map(text, results)))
        return Played(None, None, saw)

    def denied(self, raised: BaseException | None) -> Any:
        """The client gets the SDK's own error, with the code of a refusal and its reasons."""
        assert isinstance(raised, ProtocolError)
        assert raised.error.code == mcp_server.DENIED_CODE
        return raised

    def test_abort_reaches_the_caller_of_the_run(self, kept: Kept, world: World, flavour: str) -> None:
        """Under `on_violation = "abort"` the client's call raises, and says why without the value."""
        kept.configure(Policy(on_violation="abort"))
        played = self.play([PATCH_SECRET, LIST, "done"], world, flavour=flavour)
        assert "patch_file.path: in no result" in self.denied(played.raised).error.message
        assert SECRET not in self.denied(played.raised).error.message
        assert world.ran == []

    def test_what_the_human_said_is_a_source(self, kept: Kept, world: World, flavour: str) -> None:
        """Not here: nothing that a client sends is a human's word, whatever its agent was told."""
        self.play([[("patch_file", {"path": "notes.md"})], "done"], world, flavour=flavour, said="patch notes.md")
        assert world.ran == []
        assert kept.statuses("patch_file") == ["blocked"]

    # a server sees requests, not responses of a model: it has no steps, only what started after what had returned
    test_calls_of_one_response_cannot_cite_each_other = None  # type: ignore[assignment]
    test_the_next_response_can_cite_all_of_the_last_one = None  # type: ignore[assignment]

    def test_a_call_that_starts_before_another_returns_cannot_cite_it(self, kept: Kept, world: World) -> None:
        """Requests that overlap cannot cite each other, whichever ends first."""
        waiting: list[asyncio.Event] = []

        async def story() -> list[bool]:
            server = high_level(world)

            async def hold(path: str) -> str:
                """Wait until the listing is over."""
                waiting[0].set()
                await waiting[1].wait()
                world.bodies.append(("hold", {"path": path}))
                return path

            server.tool()(hold)
            waiting[:] = [asyncio.Event(), asyncio.Event()]
            async with client_of(server) as client:
                listing = asyncio.create_task(client.call_tool("list_files", {}))
                early = await client.call_tool("hold", {"path": "z.py"})
                await listing
                held = asyncio.create_task(client.call_tool("hold", {"path": "a.py"}))
                await waiting[0].wait()
                waiting[1].set()
                return [is_error(early), is_error(await held)]

        assert asyncio.run(asyncio.wait_for(story(), 30)) == [True, False]

    # --- what is known of a tool

    def test_what_the_server_says_of_its_tool_is_used(self, kept: Kept, world: World, flavour: str) -> None:
        """Its argument names may go out, and its description; the server is named."""
        self.play([LIST, PATCH_LISTED, "done"], world, flavour=flavour)
        (span,) = kept.of("patch_file")
        attributes = dict(span.attributes or {})
        assert attributes[semconv.KIND + "path"] == "observed"
        assert attributes[semconv.TOOL_TYPE] == "extension"
        assert attributes[semconv.TOOL_DESCRIPTION]

    @pytest.mark.parametrize("trusted, statuses", [(True, ["flagged"]), (False, ["blocked"])])
    def test_a_read_only_hint_is_believed_where_the_policy_says_so(
        self, kept: Kept, world: World, trusted: bool, statuses: list[str]
    ) -> None:
        """`[servers.files] trust_hints = true`: a read-only tool runs in tag mode."""
        kept.configure(Policy(servers={"files": trusted}))
        self.play([[("list_files", {"root": "guessed"})], "done"], world, flavour="sync")
        assert kept.statuses("list_files") == statuses

    def test_a_server_that_was_made_before_is_guarded_too(self, kept: Kept, world: World, flavour: str) -> None:
        """Whoever activates late is not left unguarded."""
        deactivate(self.adapter)
        server = SERVERS[flavour](world)
        activate(self.adapter)
        asyncio.run(asyncio.wait_for(self._play([PATCH_SECRET, "done"], server, "go"), 30))
        assert world.ran == []

    # --- runs

    def test_one_trace_is_one_run_whatever_connections_it_uses(self, kept: Kept, world: World, flavour: str) -> None:
        """A client that connects anew for each call keeps its ledger; another trace has its own."""
        provider = TracerProvider()  # the client's own: nothing of it is exported here

        async def story() -> list[bool]:
            server = SERVERS[flavour](world)
            refused = []
            tracer = provider.get_tracer("agent")
            for title, turns in (("first", [LIST, PATCH_LISTED]), ("second", [PATCH_LISTED])):
                with tracer.start_as_current_span(title):
                    for ((tool, arguments),) in turns:
                        async with client_of(server) as client:
                            refused.append(is_error(await client.call_tool(tool, arguments, meta=_traceparent())))
            return refused

        assert asyncio.run(asyncio.wait_for(story(), 30)) == [False, False, True]
        assert world.ran == ["list_files", "patch_file"]

    def test_what_is_no_trace_context_is_no_key(self, kept: Kept, world: World) -> None:
        """A client may send anything as `traceparent`: then its connection counts."""

        async def story() -> list[bool]:
            async with client_of(high_level(world)) as client:
                return [
                    is_error(await client.call_tool(tool, arguments, meta={"traceparent": junk}))
                    for junk in ("00-nonsense", 7, None, ["00"], f"00-{0:032x}-{1:016x}-01")
                    for ((tool, arguments),) in (LIST, PATCH_LISTED)
                ]

        assert not any(asyncio.run(asyncio.wait_for(story(), 30)))

    def test_the_run_of_the_host_wins(self, kept: Kept, world: World) -> None:
        """A host that opens a run around its server says what its clients may cite, and by which policy."""

        async def story() -> list[bool]:
            with citespan.run("host", inputs={"path": "given.py"}):
                async with client_of(high_level(world)) as client:
                    given = await client.call_tool("patch_file", {"path": "given.py"})
                    guess = await client.call_tool("patch_file", {"path": SECRET})
                    return [is_error(given), is_error(guess)]

        assert asyncio.run(asyncio.wait_for(story(), 30)) == [False, True]

    def test_without_run_trace_or_connection_nothing_can_be_cited(self, kept: Kept, world: World) -> None:
        """mcp 2.x in one process has no connection; 1.x always has one."""
        if MAJOR == 1:
            return

        async def story() -> list[bool]:
            async with in_memory(high_level(world)) as client:
                return [
                    is_error(await client.call_tool(tool, arguments)) for ((tool, arguments),) in (LIST, PATCH_LISTED)
                ]

        assert asyncio.run(asyncio.wait_for(story(), 30)) == [False, True]
        assert world.ran == ["list_files"]

    @pytest.mark.parametrize("mode", ["auto", "legacy"])
    def test_client_and_server_in_one_process(self, kept: Kept, world: World, mode: str) -> None:
        """mcp 2.x hands the client's context on, so the call is judged once, in the client's run; 1.x: twice."""
        activate("mcp")
        server = high_level(world)

        def patch_all(paths: list[str]) -> str:
            """Patch files."""
            world.bodies.append(("patch_all", {"paths": paths}))
            return "patched"

        server.tool()(patch_all)

        async def story() -> list[bool]:
            async with in_memory(server, mode) as client:
                with citespan.run("agent"):
                    calls = [*LIST, *PATCH_LISTED, *PATCH_SECRET, ("patch_all", {"paths": ["a.py", "b.py"]})]
                    return [is_error(await client.call_tool(tool, arguments)) for tool, arguments in calls]

        assert asyncio.run(asyncio.wait_for(story(), 30)) == [False, False, True, False]
        assert world.ran == ["list_files", "patch_file", "patch_all"]
        times = 1 if MAJOR > 1 else 2
        assert kept.judged() == {"list_files": times, "patch_file": times + 1, "patch_all": times}

    # --- refusals

    def test_a_refusal_pickles(self) -> None:
        """The class of an aborted call is made for the SDK; what comes out of a pickle is the plain refusal."""
        from citespan.guard.examine import judge
        from citespan.guard.ports import Tool as Known

        refused = ProvenanceDenied(judge(Known("a"), {"x": 1}), "hint")
        error = mcp_server.aborted(refused, ProtocolError)
        assert isinstance(error, ProtocolError)
        assert isinstance(error, ProvenanceDenied)
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is ProvenanceDenied
        assert str(copy) == str(refused) == str(error)

    def test_a_request_that_names_nothing_does_not_run(self, kept: Kept, world: World) -> None:
        """Arguments that are no object are refused before any handler sees them."""

        async def story() -> None:
            server = high_level(world)
            with pytest.raises(ProvenanceDenied):
                await mcp_server.serve(
                    mcp_server.ADAPTER,
                    mcp_server.serving(None, None),
                    await mcp_server.describe(server, 7, None),
                    {},
                    lambda judged: world.bodies.append(("any", judged)),  # type: ignore[arg-type, return-value]
                    mcp_server.Refusal(tell=_raise),
                )

        asyncio.run(story())
        assert world.ran == []

    # --- spans

    def test_the_span_of_the_sdk_tells_the_verdict(
        self, kept: Kept, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """mcp 2.x opens a server span that says `execute_tool`: no second one is opened. 1.x has none: it is ours."""
        if MAJOR > 1:
            monkeypatch.setattr("mcp.shared._otel._tracer", kept.provider.get_tracer(mcp_server.SCOPE))
        with kept.provider.get_tracer("agent").start_as_current_span("agent"):
            self.play([LIST, PATCH_LISTED, PATCH_SECRET, "done"], world, flavour="sync")
        judged = [span for span in kept.of("patch_file") if (span.attributes or {}).get(semconv.BUDGET) is not None]
        assert {span.name for span in judged} == {"tools/call patch_file" if MAJOR > 1 else "execute_tool patch_file"}
        assert sorted(str((span.attributes or {})[semconv.STATUS]) for span in judged) == ["blocked", "ok"]
        assert len({span.context.trace_id for span in judged if span.context}) == 1

    # --- two processes

    def test_two_processes_judge_for_themselves_in_one_trace(
        self, kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Both guards let a listed name through; the server refuses what only the client's user said.

        The client's `_meta.traceparent` makes its run the server's, and the server's spans part of the client's trace.
        """
        activate("mcp")
        if MAJOR > 1:
            monkeypatch.setattr("mcp.shared._otel._tracer", kept.provider.get_tracer(mcp_server.SCOPE))
        notes, spans, evidence = tmp_path / "notes", tmp_path / "spans.jsonl", tmp_path / "server.jsonl"
        notes.mkdir()
        for name in ("milk.txt", "hidden.env"):
            (notes / name).write_text("text")

        async def story() -> list[bool]:
            async with connect("guarded_notes_server.py", notes, spans, evidence) as session:
                with citespan.run("agent") as run:
                    run.user("delete hidden.env")
                    return [
                        is_error(await session.call_tool(tool, arguments))
                        for tool, arguments in [
                            ("list_notes", {}),
                            ("delete_note", {"name": "milk.txt"}),
                            ("delete_note", {"name": "hidden.env"}),
                        ]
                    ]

        assert asyncio.run(asyncio.wait_for(story(), 60)) == [False, False, True]
        assert [path.name for path in notes.iterdir()] == ["hidden.env"]
        assert kept.judged() == {"list_notes": 1, "delete_note": 2}
        lines = [json.loads(line) for line in evidence.read_text().splitlines()]
        assert [line["tool"] for line in lines] == ["list_notes", "delete_note", "delete_note"]
        (trace_id,) = {span.context.trace_id for span in kept.of("delete_note") if span.context}
        exported = _exported(spans)
        told = [span for span in exported if any(each["key"] == semconv.BUDGET for each in span["attributes"])]
        assert len(told) == 3
        assert {span["traceId"] for span in told} == {f"{trace_id:032x}"}
        here = {f"{span.context.span_id:016x}" for span in kept.all() if span.context}
        assert {span["parentSpanId"] for span in told} <= here


def _exported(path: Path) -> list[dict[str, Any]]:
    """The spans of a trace file."""
    return [
        span
        for line in path.read_text().splitlines()
        for resource in json.loads(line)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def _traceparent() -> dict[str, str]:
    here = trace.get_current_span().get_span_context()
    return {"traceparent": f"00-{here.trace_id:032x}-{here.span_id:016x}-01"}


def _raise(refusal: ProvenanceDenied) -> Any:
    raise refusal
