"""Agents whose framework is guarded by an adapter, here MCP, run inside the test's run like any other."""

from __future__ import annotations

from pathlib import Path

from tests.testing.conftest import Project

pytest_plugins = ["pytester"]

SERVERS = Path(__file__).parents[1] / "instrument" / "servers"
TESTS = f"""
import sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
import citespan.instrument

citespan.instrument.activate("mcp")


@pytest.fixture(scope="module")
def anyio_backend():
    return "asyncio"


async def agent(name, folder):
    (folder / "draft.txt").write_text("text")
    server = StdioServerParameters(command=sys.executable, args=[{str(SERVERS / "notes_server.py")!r}, str(folder)])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        await session.call_tool("list_notes", {{}})
        await session.call_tool("delete_note", {{"name": name}})


async def test_careful(citespan_run, tmp_path, anyio_backend):
    await agent("draft.txt", tmp_path)
    assert [(call.tool, call.status) for call in citespan_run.calls] == [("list_notes", "ok"), ("delete_note", "ok")]
    assert not (tmp_path / "draft.txt").exists()


@pytest.mark.citespan
async def test_guess(tmp_path, anyio_backend):
    await agent("prod.env", tmp_path)


async def test_expected(citespan_run, tmp_path, anyio_backend):
    with citespan_run.expect_blocked("delete_note", "name"):
        await agent("prod.env", tmp_path)
    assert (tmp_path / "draft.txt").exists()
"""


def test_an_mcp_session_is_watched(project: Project) -> None:
    """The refusal is told to the model as an error result, so that only the plugin fails the test."""
    project.tests(TESTS)
    done = project.spawn("-q")
    assert "1 failed, 2 passed" in done.text, done.text
    assert "1 tool call was refused: delete_note.name" in done.text
    assert "list_notes.names.*" in done.text
