"""The accuracy benchmark runs on a small recording, and its tables have their rows. Nothing here judges a figure."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.replay.recordings import call

ROOT = Path(__file__).parents[2]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.accuracy", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    runs = [
        {
            "id": f"shop/user_task_{index}",
            "user_messages": [f"order {what}"],
            "calls": [call("list", result={"ids": [f"W{index}0{index}7"]}), call("cancel", id=f"W{index}0{index}7")],
        }
        for index, what in enumerate(["a crane", "two herons", "some storks"])
    ]
    (tmp_path / "agentdojo_gold.jsonl").write_text("".join(json.dumps(one) + "\n" for one in runs), encoding="utf-8")
    attack = runs[0] | {"id": "shop/user_task_0/injection_task_1"}
    attack["calls"] = [*runs[0]["calls"], {**call("cancel", id="W91919"), "role": "attack"}]  # type: ignore[misc]
    (tmp_path / "agentdojo_injection.jsonl").write_text(json.dumps(attack) + "\n", encoding="utf-8")
    return tmp_path


def test_every_row_is_there_and_the_page_is_written(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    done = run(str(folder), "--write", str(page))
    assert done.returncode == 0, done.stderr
    for row in ("bare rule", "no learning", "strict", "balanced", "loose", "balanced, tools listed"):
        assert f"| {row} | 0/6, 0.0 %" in done.stdout
        assert f"| {row} | 0/1, 0.0 % |" in done.stdout, "the guess of the attacker is refused"
    assert page.read_text(encoding="utf-8") in done.stdout


def test_without_recordings_it_says_what_to_name(tmp_path: Path) -> None:
    done = run(str(tmp_path))
    assert done.returncode == 78
    assert "CITESPAN_DATA" in done.stderr
