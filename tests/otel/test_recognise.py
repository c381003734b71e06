"""Which tool a span that somebody else opened is a call of."""

from __future__ import annotations

import pytest

from citespan import semconv
from citespan.otel.recognise import tool_of


@pytest.mark.parametrize("name", ["tools/call git_add", "MCP send tools/call git_add", "tools/call  git_add "])
def test_an_mcp_call_is_named_by_what_follows_its_method(name: str) -> None:
    assert tool_of(name, {semconv.MCP_METHOD: semconv.MCP_TOOLS_CALL}) == "git_add"


def test_an_mcp_call_that_names_its_tool_is_known_by_that() -> None:
    attributes = {semconv.MCP_METHOD: semconv.MCP_TOOLS_CALL, semconv.TOOL_NAME: "git_log"}
    assert tool_of("MCP send tools/call something", attributes) == "git_log"
