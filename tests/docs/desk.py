"""A folder such as a reader of the pages has: an agent, a policy, recorded runs, traces of a good and a blocked run."""

from __future__ import annotations

import contextlib
import gzip
import json
import re
from pathlib import Path

import citespan

#: what no two runs have in common
_PASSING = re.compile(
    r"[0-9a-f]{32}|[0-9a-f]{16}|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}| in \d+\.\d+s|[\d.]+ (us|ms|s) before"
)


def lines(text: str) -> list[str]:
    """The lines of an output, without what no two runs have in common."""
    return [_PASSING.sub("...", line).strip(" =") for line in text.splitlines() if line.strip()]


AGENT = '''\
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel


def think(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """A scripted model: list, patch what was listed, stop."""
    said = sum(isinstance(message, ModelResponse) for message in messages)
    script = [ToolCallPart("list_files", {}), ToolCallPart("patch_file", {"path": "app.py"}), TextPart("done")]
    return ModelResponse(parts=[script[said]])


agent = Agent(FunctionModel(think))


@agent.tool_plain
def list_files() -> dict[str, list[str]]:
    return {"files": ["app.py"]}


@agent.tool_plain
def patch_file(path: str) -> str:
    return "patched"


print(agent.run_sync("Fix what is broken.").output)
'''

POLICY = """\
version = 1

[tools."list_*"]
mode = "tag"

[tools.patch_file.arguments.path]
from = ["list_files.files.*"]
"""

SUITE = """\
import subprocess
import sys


def test_the_agent_finishes() -> None:
    assert "done" in subprocess.run([sys.executable, "agent.py"], capture_output=True, text=True).stdout
"""


def lay(folder: Path) -> None:
    """Put everything there that the commands of the pages name."""
    files = {
        "agent.py": AGENT,
        "my_agent/__init__.py": "",
        "my_agent/__main__.py": AGENT,
        "citespan.toml": POLICY,
        "tests/agent/test_agent.py": SUITE,
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    lines = "".join(json.dumps(recording(number)) + "\n" for number in range(3))
    for name in ("runs.jsonl", "others.jsonl"):
        (folder / name).write_text(lines, encoding="utf-8")
    (folder / "runs.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    trace(folder / "good.jsonl", "app.py")
    for name in ("trace.jsonl", "bad.jsonl", "spans.jsonl"):
        trace(folder / name, "prod.env")


def recording(number: int) -> dict[str, object]:
    """One recorded run of the agent."""
    return {
        "id": f"run-{number}",
        "user_messages": [f"Fix what is broken in part {number}."],
        "calls": [
            {"tool": "list_files", "arguments": {}, "result": {"files": [f"app{number}.py"]}, "error": None, "turn": 0},
            {
                "tool": "patch_file",
                "arguments": {"path": f"app{number}.py"},
                "result": "patched",
                "error": None,
                "turn": 0,
            },
        ],
    }


def trace(path: Path, name: str) -> None:
    """The first example of the README, which lists files and then patches `name`."""
    tools = citespan.TracedTools(
        {"list_files": lambda: {"files": ["app.py"]}, "patch_file": lambda path: {"patched": path}}
    )
    tools.call("list_files")
    with contextlib.suppress(PermissionError):
        tools.call("patch_file", path=name)
    tools.dump(path)


def left_open(path: Path) -> None:
    """The trace of a run that has not closed: its calls are there, and the span of the run is not."""
    trace(path, "app.py")
    lines = path.read_text(encoding="utf-8").splitlines()
    documents = [json.loads(line) for line in lines]
    for document in documents:
        for group in document["resourceSpans"]:
            for scoped in group["scopeSpans"]:
                scoped["spans"] = [span for span in scoped["spans"] if not span["name"].startswith("invoke_agent")]
    path.write_text("".join(json.dumps(document) + "\n" for document in documents), encoding="utf-8")
