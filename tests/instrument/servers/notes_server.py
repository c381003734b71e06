"""A real MCP server over stdio, built with whichever SDK is installed. Its folder shows what really happened.

Usage: python notes_server.py FOLDER
"""

import sys
from pathlib import Path
from typing import Any

try:
    from mcp.server.mcpserver import MCPServer
    from mcp_types import ToolAnnotations
except ImportError:
    from mcp.server.fastmcp import FastMCP as MCPServer
    from mcp.types import ToolAnnotations


def hint(read_only: bool) -> ToolAnnotations:
    return ToolAnnotations.model_validate({"readOnlyHint": read_only})


def serve(folder: Path) -> "MCPServer":
    server = MCPServer("notes")

    @server.tool(annotations=hint(True))
    def list_notes() -> dict[str, Any]:
        """The names of all notes."""
        return {
            "names": sorted(path.name for path in folder.glob("*.txt")),
            "count": len(list(folder.glob("*.txt"))),
        }

    @server.tool(annotations=hint(True))
    def read_note(name: str) -> str:
        """The text of one note."""
        return (folder / name).read_text()

    @server.tool(annotations=hint(False))
    def delete_note(name: str, reason: str = "") -> str:
        """Remove one note."""
        (folder / name).unlink()
        return f"{name} is gone"

    return server


if __name__ == "__main__":
    serve(Path(sys.argv[1])).run()
