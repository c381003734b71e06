"""The MCP SDK's server: the same request as the client's, judged where it arrives."""

from __future__ import annotations

from benchmarks.frameworks.mcp import opened

__all__ = ["opened"]
