"""A hand-written MCP server over stdio: it answers exactly what a scenario says, letter by letter.

Usage: python wire_server.py SCENARIO.json REQUESTS.jsonl

The scenario: {"name": server name, "listings": [[page, ...], ...], "results": {tool: [result, ...]},
"unsupported": [method], "mute": [method], "endless": bool}. The n-th walk through tools/list serves the n-th
listing, the n-th call of a tool its n-th result; the last one is repeated. Every request is appended to
REQUESTS before it is answered.
"""

import json
import sys
from collections import Counter
from pathlib import Path

scenario = json.loads(Path(sys.argv[1]).read_text())
served: Counter[str] = Counter()


def nth(items: list, n: int) -> object:
    return items[min(n, len(items) - 1)]


def answer(method: str, params: dict) -> dict:
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": scenario.get("name", "wire"), "version": "1"},
        }
    if method == "tools/list":
        cursor = params.get("cursor")
        served["walks"] += cursor is None
        pages = nth(scenario["listings"], served["walks"] - 1)
        number = int(cursor or 0)
        more = {"nextCursor": str(number + 1)} if number + 1 < len(pages) or scenario.get("endless") else {}
        return {"tools": nth(pages, number), **more}
    if method == "tools/call":
        name = params["name"]
        served[f"call {name}"] += 1
        return nth(scenario["results"][name], served[f"call {name}"] - 1)
    return {}


for line in sys.stdin:
    request = json.loads(line)
    with Path(sys.argv[2]).open("a") as log:
        log.write(json.dumps({"method": request["method"], "params": request.get("params")}) + "\n")
    if "id" not in request or request["method"] in scenario.get("mute", []):
        continue
    reply: dict = {"jsonrpc": "2.0", "id": request["id"]}
    if request["method"] in scenario.get("unsupported", []):
        reply["error"] = {"code": -32601, "message": "Method not found"}
    else:
        reply["result"] = answer(request["method"], request.get("params") or {})
    print(json.dumps(reply), flush=True)
