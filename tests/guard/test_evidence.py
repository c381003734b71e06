"""Evidence before action: one whole line per decision, written before the body runs, without any argument value."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.guard.harness import LISTED, SECRET, TAG, Spans, Toolbox, Watch, refused

import citespan
from citespan.core.decision import Decision
from citespan.core.leaves import Snapshot
from citespan.guard.ports import ToolCall
from citespan.guard.registry import registry
from citespan.stores.evidence import EvidenceFile

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "evidence.jsonl"


@pytest.fixture
def evidence(path: Path, own_registry: None) -> Iterator[EvidenceFile]:
    registry.evidence = file = EvidenceFile(path)
    yield file
    file.close()


def lines(path: Path) -> list[dict[str, Any]]:
    data = path.read_bytes()
    assert not data or data.endswith(b"\n")
    return [orjson.loads(line) for line in data.splitlines()]


def decision(deny: bool = False) -> Decision:
    return Decision("t", None, deny, "blocked" if deny else "ok", "enforce", "tell", (), (), 0, "", True)


CALL = ToolCall("t", None, Snapshot({}, ()), frozenset(), None, None, None, None)


def test_the_body_can_read_the_line_of_its_own_call(evidence: EvidenceFile, path: Path, watch: Watch) -> None:
    seen: list[dict[str, Any]] = []

    @citespan.tool
    def patch_file(path_: str) -> None:
        seen.extend(lines(path))

    with citespan.run(inputs={"path": LISTED[0]}):
        patch_file(LISTED[0])
    assert [(line["tool"], line["status"]) for line in seen] == [("patch_file", "ok")]


def test_there_is_one_line_per_decision(evidence: EvidenceFile, path: Path, spans: Spans) -> None:
    box = Toolbox()
    with citespan.run("agent", inputs={"root": "."}, run_id="conversation-1"):
        box.list_files(root=".")
        box.patch_file(path=LISTED[0])
        refused(box.patch_file, path=SECRET)
    with citespan.run(policy=TAG):
        box.patch_file(path=SECRET)
    refused(box.patch_file, path=SECRET)
    written = lines(path)
    assert [(line["tool"], line["status"], line["mode"]) for line in written] == [
        ("list_files", "ok", "enforce"),
        ("patch_file", "ok", "enforce"),
        ("patch_file", "blocked", "enforce"),
        ("patch_file", "flagged", "tag"),
        ("patch_file", "blocked", "enforce"),
    ]
    assert {line["schema"] for line in written} == {"citespan.evidence/1"}
    assert [line["run"] for line in written] == ["conversation-1"] * 3 + [None] * 2
    told = [span for span in spans.all() if span.name.startswith("execute_tool")]
    assert [line["span_id"] for line in written] == [format(span.context.span_id, "016x") for span in told]
    assert [line["trace_id"] for line in written] == [format(span.context.trace_id, "032x") for span in told]
    (leaf,) = written[1]["leaves"]
    assert leaf == {
        "path": "path",
        "kind": "observed",
        "source": "list_files.files.0",
        "projection": "exact",
        "source_span": written[0]["span_id"],
    }
    assert written[2]["violations"] == ["assumed_fields=[path]"]
    assert written[2]["leaves"][0]["counted"] is True


@pytest.mark.parametrize(
    "value",
    [SECRET, [SECRET], {SECRET: SECRET}, {"a": {SECRET: 1}}, SECRET.encode(), "\ud800" + SECRET, ValueError(SECRET)],
)
def test_it_holds_no_argument_value(value: Any, evidence: EvidenceFile, path: Path, watch: Watch) -> None:
    @citespan.tool
    def patch(path: Any, **more: Any) -> Any:
        return {"paths": value if isinstance(value, str | list | dict) else "", SECRET: {SECRET: ["cited-value"]}}

    with citespan.run(policy=TAG):
        patch(path=value)
        patch(**{"path": value, SECRET: value})
        patch(path="cited-value")
    with citespan.run():
        refused(patch, path=value)
    refused(patch, path=value)
    assert len(lines(path)) == 5
    assert SECRET.encode() not in path.read_bytes()


def test_the_names_of_a_tool_without_a_signature_are_a_models_words(evidence: EvidenceFile, path: Path) -> None:
    with citespan.TracedTools({"make": dict}, policy=TAG) as tools:
        tools.call("make", **{SECRET: 1})
    assert len(lines(path)) == 1
    assert SECRET.encode() not in path.read_bytes()


@pytest.mark.parametrize("name", ["pa\ud800th", "pa\nth", "", "x" * 100_000])
def test_a_strange_name_breaks_no_line(name: str, evidence: EvidenceFile, path: Path, watch: Watch) -> None:
    @citespan.tool
    def patch(**more: Any) -> str:
        return "done"

    with citespan.run(policy=TAG):
        assert patch(**{name: 1}) == "done"
    refused(patch, **{name: 1})
    assert [line["status"] for line in lines(path)] == ["flagged", "blocked"]


def test_a_refusal_is_synced_before_it_is_raised(
    evidence: EvidenceFile, path: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(len(lines(path))))
    box = Toolbox()
    with citespan.run(inputs={"root": "."}):
        box.list_files(root=".")
        assert synced == []
        refused(box.patch_file, path=SECRET)
    assert synced == [2]


def test_a_refusal_that_cannot_be_synced_is_a_refusal(
    evidence: EvidenceFile, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(fd: int) -> None:
        raise OSError("input/output error")

    monkeypatch.setattr(os, "fsync", broken)
    box = Toolbox()
    with citespan.run():
        refused(box.patch_file, path=SECRET)
    assert box.ran == []


def test_only_its_owner_can_read_it(path: Path) -> None:
    before = os.umask(0)
    try:
        EvidenceFile(path).close()
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_it_appends_to_what_is_there(path: Path) -> None:
    for _ in range(2):
        file = EvidenceFile(path)
        file.append(CALL, decision(), None)
        file.close()
    assert len(lines(path)) == 2


def test_a_full_file_denies_until_it_is_moved_away(path: Path, watch: Watch) -> None:
    box = Toolbox()
    with citespan.run(inputs={"root": "."}):
        registry.evidence = EvidenceFile(path)
        box.list_files(root=".")
        registry.evidence.close()
        registry.evidence = file = EvidenceFile(path, max_bytes=2 * path.stat().st_size - 1)
        refused(box.patch_file, path=LISTED[0])
        assert box.ran == []
        path.rename(path.with_suffix(".old"))
        file.reopen()
        box.patch_file(path=LISTED[0])
    file.close()
    assert box.ran == LISTED[:1]
    assert [line["tool"] for line in lines(path)] == ["patch_file"]
    assert len(lines(path.with_suffix(".old"))) == 1


def test_a_closed_file_denies(evidence: EvidenceFile, watch: Watch) -> None:
    evidence.close()
    box = Toolbox()
    with citespan.run(inputs={"path": LISTED[0]}):
        refused(box.patch_file, path=LISTED[0])
    assert box.ran == []


def test_a_line_that_was_cut_short_denies_and_does_not_spoil_the_next_one(
    evidence: EvidenceFile, path: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = Toolbox()
    whole = os.write
    with citespan.run(inputs={"path": LISTED[0]}):
        monkeypatch.setattr(os, "write", lambda fd, data: whole(fd, data[:20]))
        refused(box.patch_file, path=LISTED[0])
        monkeypatch.setattr(os, "write", whole)
        assert box.ran == []
        box.patch_file(path=LISTED[0])
    assert box.ran == LISTED[:1]
    assert orjson.loads(path.read_bytes().splitlines()[-1])["status"] == "ok"


def test_threads_write_whole_lines(evidence: EvidenceFile, path: Path) -> None:
    together = threading.Barrier(8, timeout=60)

    def write() -> None:
        together.wait()
        for _ in range(100):
            evidence.append(CALL, decision(), None)

    threads = [threading.Thread(target=write) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(lines(path)) == 800


WRITER = """
import sys
sys.path.insert(0, {root!r})
from tests.guard.test_evidence import CALL, decision
from citespan.stores.evidence import EvidenceFile
file = EvidenceFile({path!r})
print("ready", flush=True)
sys.stdin.readline()
for _ in range(200):
    file.append(CALL._replace(tool="t" * 3000), decision()._replace(tool="t" * 3000), None)
"""


def test_processes_write_whole_lines(path: Path) -> None:
    script = WRITER.format(root=str(ROOT), path=str(path))
    writers = [
        subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=60)
        assert writer.returncode == 0
    written = lines(path)
    assert len(written) == 800
    assert {line["tool"] for line in written} == {"t" * 3000}
