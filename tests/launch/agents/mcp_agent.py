"""An agent that knows nothing of citespan: over MCP it deletes a note that no result named.

Usage: python mcp_agent.py FOLDER. What reached the server is in FOLDER/requests.jsonl.
"""

import asyncio
import json
import sys
from pathlib import Path

from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

SERVER = Path(__file__).parents[2] / "instrument" / "servers" / "wire_server.py"
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}}
SCENARIO = {
    "listings": [[[{"name": "delete_note", "inputSchema": SCHEMA}]]],
    "results": {"delete_note": [{"content": [{"type": "text", "text": "gone"}]}]},
}


async def agent(folder: Path) -> None:
    scenario, requests = folder / "scenario.json", folder / "requests.jsonl"
    scenario.write_text(json.dumps(SCENARIO))
    server = StdioServerParameters(command=sys.executable, args=[str(SERVER), str(scenario), str(requests)])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        result = await session.call_tool("delete_note", {"name": "hidden.env"})
        print(result.content[0].text)


def main(folder: str) -> None:
    asyncio.run(agent(Path(folder)))


if __name__ == "__main__":
    main(sys.argv[1])
