"""A scripted agent, whose run is told three times: by its spans, by its evidence, and by what it called and got.

`python agent.py FOLDER MARK` writes `trace.jsonl`, `evidence.jsonl` and `runs.jsonl` into the folder. It asks for the
owner of a file that it was shown, or, with the mark `guess`, of one that nothing named.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import citespan
from citespan.traces.file_exporter import OtlpJsonFileExporter

MESSAGE = "Make the owner of the oldest file a reviewer"
POLICY = 'version = 1\n[defaults]\nallow = ["note"]\n'


@citespan.tool
def list_files() -> dict[str, list[str]]:
    return {"files": ["src/app.py", "src/rates.py", "notes.md"]}


@citespan.tool
def get_owner(path: str) -> dict[str, Any]:
    return {"owner": {"login": "ada-l", "mail": "ada@example.org"}, "path": path}


@citespan.tool
def assign(paths: list[str], who: dict[str, str], note: str) -> str:
    return "assigned"


def main(folder: Path, mark: str) -> None:
    policy = folder / "citespan.toml"
    policy.write_text(POLICY)
    exporter = OtlpJsonFileExporter(folder / "trace.jsonl")
    done = citespan.configure(policy, evidence=folder / "evidence.jsonl", exporters=[exporter], service_name="tests")
    path = "src/secret.py" if mark == "guess" else "src/rates.py"
    who = {"login": "ada-l", "as": "reviewer"}
    script: list[tuple[Any, dict[str, Any]]] = [
        (list_files, {}),
        (get_owner, {"path": path}),
        (get_owner, {"path": "src/app.py"}),
        (assign, {"paths": ["src/rates.py", "src/app.py"], "who": who, "note": "since they wrote most of it"}),
    ]
    recorded = []
    with citespan.run("assigner", run_id="conversation-1") as run:
        run.user(MESSAGE)
        for tool, arguments in script:
            result, error = None, None
            try:
                result = tool(**arguments)
            except PermissionError as refusal:
                error = str(refusal)
            recorded.append(
                {"tool": tool.__name__, "arguments": arguments, "result": result, "error": error, "turn": 0}
            )
    done.force_flush()
    done.shutdown()
    record = {
        "id": "conversation-1",
        "user_messages": [MESSAGE],
        "policy": POLICY,
        "tools": {
            "list_files": {"parameters": {"type": "object", "properties": {}}},
            "get_owner": {"parameters": {"type": "object", "properties": {"path": {"type": "string"}}}},
            "assign": {
                "parameters": {
                    "type": "object",
                    "properties": {
                        "paths": {"type": "array", "items": {"type": "string"}},
                        "who": {"type": "object", "additionalProperties": {"type": "string"}},
                        "note": {"type": "string"},
                    },
                }
            },
        },
        "calls": recorded,
    }
    (folder / "runs.jsonl").write_text(json.dumps(record) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
