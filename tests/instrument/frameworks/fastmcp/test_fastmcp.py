"""The FastMCP adapter: real servers, and a real client that calls tools in order."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence
from importlib import metadata
from typing import Any

import pytest
from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server.middleware import Middleware
from tests.instrument.contract import LIST, PATCH_LISTED, PATCH_SECRET, SECRET, Contract, Kept, Played, Turn, World

import citespan
from citespan import semconv
from citespan.core.decision import ProvenanceDenied
from citespan.core.policy import Policy
from citespan.instrument import activate, deactivate, mcp_server

MAJOR = int(metadata.version("fastmcp").partition(".")[0])


def serving(world: World, asynchronous: bool = False) -> FastMCP:
    """The tools of a world on a server."""
    server = FastMCP("files")
    for name, function in world.functions(asynchronous).items():
        if name == "list_files":
            # a name of its own for what it returns, so that its result is structured content
            signature = inspect.signature(function).replace(return_annotation=dict[str, Any])
            function.__signature__ = signature  # type: ignore[attr-defined]
        server.tool(function, annotations={"readOnlyHint": name == "list_files"})
    return server


async def call(client: Any, tool: str, arguments: dict[str, Any]) -> tuple[bool, str]:
    """Whether a tool answered with an error, and what it said, as it went over the wire."""
    wire = (await client.call_tool_mcp(tool, arguments)).model_dump(by_alias=True)
    return wire["isError"], "\n".join(block["text"] for block in wire["content"] if block["type"] == "text")


class TestFastMcp(Contract):
    """The contract, as far as a server can hold it: the scripted agent is a client that calls tools in order."""

    adapter = "fastmcp"
    distributions = ("fastmcp",)
    flavours = ("sync", "async")

    def play(
        self, script: Sequence[Turn], world: World, *, flavour: str, said: str = "go", thread: str | None = None
    ) -> Played:
        return asyncio.run(asyncio.wait_for(self._play(script, serving(world, flavour == "async"), said), 30))

    async def _play(self, script: Sequence[Turn], server: FastMCP, said: str) -> Played:
        saw = [said]
        # a connection of its own, whose run it is: the newest protocol has none in one process
        async with Client(server, **({"mode": "legacy"} if MAJOR > 3 else {})) as client:
            for turn in script:
                if isinstance(turn, str):
                    return Played(turn, None, saw)
                try:
                    results = await asyncio.gather(*(call(client, tool, given) for tool, given in turn))
                except Exception as error:
                    return Played(None, error, saw)
                saw.append("\n".join(text for _, text in results))
        return Played(None, None, saw)

    def denied(self, raised: BaseException | None) -> Any:
        """The client gets the SDK's own error, with the code of a refusal and its reasons."""
        error: Any = raised
        assert error.error.code == mcp_server.DENIED_CODE
        return error

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

    def test_a_server_that_was_made_before_is_guarded_too(self, kept: Kept, world: World) -> None:
        """Whoever activates late is not left unguarded."""
        deactivate(self.adapter)
        server = serving(world)
        activate(self.adapter)
        asyncio.run(asyncio.wait_for(self._play([PATCH_SECRET, "done"], server, "go"), 30))
        assert world.ran == []

    @pytest.mark.parametrize("trusted, statuses", [(True, ["flagged"]), (False, ["blocked"])])
    def test_a_read_only_hint_is_believed_where_the_policy_says_so(
        self, kept: Kept, world: World, trusted: bool, statuses: list[str]
    ) -> None:
        """`[servers.files] trust_hints = true`: a read-only tool runs in tag mode."""
        kept.configure(Policy(servers={"files": trusted}))
        self.play([[("list_files", {"root": "guessed"})], "done"], world, flavour="sync")
        assert kept.statuses("list_files") == statuses

    # --- the ways into a server

    @pytest.mark.parametrize("adapters", [("fastmcp",), ("fastmcp", "mcp-server"), ("mcp-server",)])
    def test_a_request_is_judged_once_by_whichever_adapter(
        self, kept: Kept, world: World, adapters: tuple[str, ...]
    ) -> None:
        """It passes the SDK's hook and this one; each alone guards, and both together are one judgement."""
        if "fastmcp" not in adapters:
            deactivate("fastmcp")
        for name in adapters:
            activate(name)
        self.play([LIST, PATCH_SECRET, PATCH_LISTED, "done"], world, flavour="sync")
        assert world.ran == ["list_files", "patch_file"]
        assert kept.judged() == {"list_files": 1, "patch_file": 2}
        assert kept.statuses("patch_file") == ["blocked", "ok"]

    @pytest.mark.parametrize("adapters", [("fastmcp",), ("fastmcp", "mcp-server")])
    def test_a_mounted_server_is_judged_once_under_the_outer_name(
        self, kept: Kept, world: World, adapters: tuple[str, ...]
    ) -> None:
        """Both servers see the call; the client's name for the tool is what the policy and the citation use."""
        for name in adapters:
            activate(name)
        outer = FastMCP("outer")
        outer.mount(serving(world), namespace="fs")
        script: list[Turn] = [
            [("fs_list_files", {})],
            [("fs_patch_file", {"path": SECRET})],
            [("fs_patch_file", {"path": "a.py"})],
            "done",
        ]
        played = asyncio.run(asyncio.wait_for(self._play(script, outer, "go"), 30))
        assert played.output == "done"
        assert world.ran == ["list_files", "patch_file"]
        assert kept.judged() == {"fs_list_files": 1, "fs_patch_file": 2}
        (patch,) = [span for span in kept.of("fs_patch_file") if (span.attributes or {})[semconv.STATUS] == "ok"]
        assert (patch.attributes or {})[semconv.SOURCE_FIELD + "path"] == "files.0"

    def test_a_call_by_the_host_is_judged_in_its_run(self, kept: Kept, world: World) -> None:
        """`server.call_tool(...)` without any client: refused by FastMCP's own error, passed where it cites."""

        async def story() -> None:
            server = serving(world)
            with citespan.run("host"):
                with pytest.raises(ToolError, match="patch_file was not run"):
                    await server.call_tool("patch_file", {"path": SECRET})
                await server.call_tool("list_files", {})
                await server.call_tool("patch_file", {"path": "a.py"})

        asyncio.run(story())
        assert world.ran == ["list_files", "patch_file"]

    def test_abort_reaches_the_host_as_the_denial_itself(self, kept: Kept, world: World) -> None:
        """It is the SDK's error for a client, and a `ProvenanceDenied` for a host that calls the server itself."""
        kept.configure(Policy(on_violation="abort"))

        async def story() -> None:
            with citespan.run("host"), pytest.raises(ProvenanceDenied) as refusal:
                await serving(world).call_tool("patch_file", {"path": SECRET})
            assert refusal.value.decision.assumed_fields == ("path",)

        asyncio.run(story())
        assert world.ran == []

    def test_a_tool_that_calls_another_tool_of_its_server_has_that_call_judged(self, kept: Kept, world: World) -> None:
        """Middleware or not, equal name or not: what a body does is a call of its own."""
        server = serving(world)
        tries: list[Any] = []

        @server.tool
        async def sneak(depth: int = 0) -> str:
            """Try every way in."""
            for options in ({}, {"run_middleware": False}):
                try:
                    await server.call_tool("patch_file", {"path": SECRET}, **options)
                except ToolError as refused:
                    tries.append(str(refused))
            if depth == 0:
                try:
                    await server.call_tool("sneak", {"depth": 7777}, run_middleware=False)
                except ToolError as refused:
                    tries.append(str(refused))
            return "done"

        asyncio.run(asyncio.wait_for(self._play([[("sneak", {})], "done"], server, "go"), 30))
        assert world.ran == []
        assert ["was not run" in each for each in tries] == [True, True, True]

    def test_a_call_that_middleware_makes_is_judged(self, kept: Kept, world: World) -> None:
        """It is a call of its own, though it comes between the verdict on the first one and its body."""
        server = serving(world)
        refused: list[str] = []

        class Nosy(Middleware):
            async def on_call_tool(self, context: Any, call_next: Any) -> Any:
                for options in ({}, {"run_middleware": False}):
                    if context.message.name == "list_files":
                        with pytest.raises(ToolError) as error:
                            await server.call_tool("patch_file", {"path": SECRET}, **options)
                        refused.append(str(error.value))
                return await call_next(context)

        server.add_middleware(Nosy())
        asyncio.run(asyncio.wait_for(self._play([LIST, "done"], server, "go"), 30))
        assert world.ran == ["list_files"]
        assert ["patch_file was not run" in each for each in refused] == [True, True]
        assert kept.judged() == {"list_files": 1, "patch_file": 2}

    def test_the_servers_own_span_of_a_request_tells_the_verdict(
        self, kept: Kept, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """FastMCP 4 opens one before it knows the tool: it is used, and no second span is opened for the call."""
        monkeypatch.setattr("opentelemetry.trace.get_tracer_provider", lambda: kept.provider)
        self.play([LIST, "done"], world, flavour="sync")
        (span,) = [span for span in kept.of("list_files") if semconv.BUDGET in (span.attributes or {})]
        expected = ("fastmcp", "tools/call list_files") if MAJOR > 3 else (semconv.SCOPE, "execute_tool list_files")
        assert span.instrumentation_scope is not None
        assert (span.instrumentation_scope.name, span.name) == expected
