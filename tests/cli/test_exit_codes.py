"""The exit codes of every command (docs/commands.md): each one that its `--help` tells of happens, and no other."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.desk import lay, left_open
from tests.docs.helps import HELPS

CITESPAN = Path(sys.executable).with_name("citespan")
_SENTENCE = re.compile(r"^Exit codes?:? (.*?)(?:\n\n|\Z)", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(?:^|[\s(])(\d{1,3})(?=:)")

#: command -> exit code -> a command line that ends with it, in a folder with what `lay` puts there
TABLE: dict[str, dict[int, str]] = {
    "approve": {
        0: "approve approvals.jsonl --tool create_file --argument path < value.json",
        64: "approve - --tool create_file --argument path < value.json",
        65: "approve approvals.jsonl --tool create_file --argument path < broken.json",
    },
    "audit": {
        0: "audit good.jsonl",
        1: "audit bad.jsonl",
        2: "audit open.jsonl",
        64: "audit good.jsonl -o .",
        65: "audit broken.json",
        78: "audit good.jsonl --policy missing.toml",
    },
    "demo": {0: "demo --keep demo", 64: "demo --keep .", 78: "demo --keep other"},
    "diff": {
        0: "diff good.jsonl good.jsonl",
        1: "diff good.jsonl bad.jsonl",
        2: "diff good.jsonl empty.jsonl",
        64: "diff - -",
        65: "diff good.jsonl broken.json",
        78: "diff runs.jsonl others.jsonl --policy missing.toml",
    },
    "doctor": {0: "doctor --no-network", 1: "doctor --no-network --policy missing.toml", 64: "doctor --polcy x"},
    "policy check": {
        0: "policy check citespan.toml",
        65: "policy check broken.toml",
        78: "policy check missing.toml",
    },
    "policy explain": {
        0: "policy explain citespan.toml patch_file path",
        65: "policy explain broken.toml patch_file path",
        78: "policy explain missing.toml patch_file path",
    },
    "replay": {
        0: "replay runs.jsonl",
        1: "replay guessed.jsonl",
        64: "replay - -",
        65: "replay broken.json",
        78: "replay runs.jsonl --policy missing.toml",
    },
    "report": {
        0: "report bad.jsonl -o report.html",
        64: "report bad.jsonl -o missing/report.html",
        65: "report broken.json -o report.html",
    },
    "run": {
        64: "run --polcy x -- python -c pass",
        65: "run --policy broken.toml -- python -c pass",
        78: "run --policy missing.toml -- python -c pass",
    },
    "serve": {
        0: "serve --port 0",
        64: "serve --host 192.0.2.1",
        65: "serve --port 0 --policy broken.toml",
        78: "serve --port 0 --policy missing.toml",
    },
    "show": {
        0: "show good.jsonl",
        1: "show bad.jsonl",
        2: "show empty.jsonl",
        64: "show bad.jsonl --limit -1",
        65: "show broken.json",
        78: "show bad.jsonl --policy missing.toml",
    },
    "suggest": {
        0: "suggest runs.jsonl -o learned.toml",
        64: "suggest runs.jsonl -o citespan.toml",
        65: "suggest broken.json",
    },
}
#: codes that a command tells of and that need another machine, another state, or are shown elsewhere
ELSEWHERE = {
    ("demo", 1): "tests/cli/test_demo.py",
}


def told(command: str) -> set[int]:
    """The codes of the paragraph in `--help`."""
    found = _SENTENCE.search(HELPS[command])
    assert found is not None, command
    return {int(code) for code in _CODE.findall(found[1])}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the command lines name; `broken.*` is no JSON, no TOML and no trace."""
    place = tmp_path_factory.mktemp("desk")
    lay(place)
    left_open(place / "open.jsonl")
    (place / "empty.jsonl").write_text("")
    (place / "broken.json").write_text('{"resourceSpans": 7')
    (place / "broken.toml").write_text("version = 1\nmodes = 7\n")
    (place / "value.json").write_text('"docs/setup.md"')
    guessed = (place / "runs.jsonl").read_text().replace('{"path": "app', '{"path": "prod')
    (place / "guessed.jsonl").write_text(guessed)
    return place


@pytest.mark.parametrize("command", sorted(HELPS))
def test_help_tells_of_exactly_the_codes_in_the_table(command: str) -> None:
    elsewhere = {code for name, code in ELSEWHERE if name == command}
    assert told(command) == TABLE[command].keys() | elsewhere


@pytest.mark.parametrize("command, code", [(name, code) for name, row in TABLE.items() for code in row])
def test_each_code_happens(command: str, code: int, folder: Path) -> None:
    """Standard output holds no word of an error; standard error says what is wrong from 64 on, and no traceback."""
    path = os.environ["PATH"] if (command, code) != ("demo", 78) else "/nowhere"
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "CITESPAN_"))}
    environment = clean | {"PATH": f"{CITESPAN.parent}:{path}", "HOME": str(folder)}
    with subprocess.Popen(
        ["/bin/sh", "-c", f"exec {CITESPAN} {TABLE[command][code]}"],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL if "<" not in TABLE[command][code] else None,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        if (command, code) == ("serve", 0):
            assert process.stderr is not None
            assert "listening" in process.stderr.readline()
            process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert process.returncode == code, out + err
    assert "Traceback" not in out + err
    if code >= 64:  # the problems of a policy are the result of `policy check`
        assert (out if command == "policy check" else err).strip()
        assert out == "" or command == "policy check"
