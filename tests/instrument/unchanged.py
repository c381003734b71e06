"""An unchanged agent under `citespan run`: each framework's `unchanged_agent.py`, in sync, async, streamed.

The agent guesses `prod.env`, reads why that was refused, lists the files, patches `a.py`, and ends.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from citespan import semconv

ABORT = 'version = 1\n[defaults]\non_violation = "abort"\n'


class Unchanged:
    """Subclassed beside each `unchanged_agent.py`.

    Args:
        agent: the script.
    """

    agent: Path

    def run(self, flavour: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "CITESPAN_"))}
        environment = {**kept, "XDG_STATE_HOME": str(folder), "CITESPAN_TRACE_FILE": str(folder / "trace.jsonl")}
        command = [sys.executable, "-m", "citespan", "run", *options, "--", sys.executable, str(self.agent)]
        return subprocess.run(
            [*command, flavour, str(folder)], env=environment, capture_output=True, text=True, check=False, timeout=100
        )

    @pytest.mark.parametrize("flavour", ["sync", "async", "stream"])
    def test_told_it_observes_and_succeeds(self, flavour: str, tmp_path: Path) -> None:
        """The guess leaves no file, the model reads the reason, and what it then looked up cites the listing's span."""
        done = self.run(flavour, tmp_path, "--required")
        assert done.returncode == 0, done.stderr
        assert "the agent is done" in done.stdout
        assert not (tmp_path / "prod.env").exists()
        assert (tmp_path / "a.py").read_text() == "patched"
        said = (tmp_path / "saw.txt").read_text().split("---\n")
        assert "patch_file was not run" in said[1]
        assert "prod.env" not in said[1]
        calls = tool_spans(tmp_path / "trace.jsonl")
        assert [(name, status) for name, status, _, _ in calls] == [
            ("patch_file", "blocked"),
            ("list_files", "ok"),
            ("patch_file", "ok"),
        ]
        assert calls[1][2] in calls[2][3]

    def test_aborted_it_ends_with_the_refusal(self, tmp_path: Path) -> None:
        """The run stops at the guess, and the program with it."""
        policy = tmp_path / "citespan.toml"
        policy.write_text(ABORT)
        done = self.run("sync", tmp_path, "--policy", str(policy))
        assert done.returncode == 1, done.stderr
        assert "patch_file was not run" in done.stderr
        assert not (tmp_path / "prod.env").exists()
        assert not (tmp_path / "a.py").exists()

    def test_in_tag_mode_it_does_what_it_did_before(self, tmp_path: Path) -> None:
        """Both files are patched, and the guess is flagged."""
        done = self.run("sync", tmp_path)
        assert (done.returncode, (tmp_path / "prod.env").exists()) == (0, True), done.stderr
        assert [status for _, status, _, _ in tool_spans(tmp_path / "trace.jsonl")] == ["flagged", "ok", "ok"]


def tool_spans(file: Path) -> list[tuple[str, str, str, list[str]]]:
    """Name, verdict, span id and ids of linked spans of each tool call, in the order of their start."""
    found: list[tuple[int, tuple[str, str, str, list[str]]]] = []
    for line in file.read_bytes().splitlines():
        for span in spans_of(orjson.loads(line)):
            attributes = {each["key"]: each["value"] for each in span.get("attributes", ())}
            if semconv.STATUS in attributes:
                name = attributes[semconv.TOOL_NAME]["stringValue"]
                links = [link["spanId"] for link in span.get("links", ())]
                status = attributes[semconv.STATUS]["stringValue"]
                found.append((int(span["startTimeUnixNano"]), (name, status, span["spanId"], links)))
    return [entry for _, entry in sorted(found)]


def spans_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        span for resource in document["resourceSpans"] for scope in resource["scopeSpans"] for span in scope["spans"]
    ]
