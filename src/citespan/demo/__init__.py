"""What `citespan demo` plays: a scripted agent, twice, on a git repository through a real MCP server."""
