"""Every kind of file that somebody may have, or have made, times every command that reads files.

An answer, or exit code 65 with file, line and reason on standard error; nothing half-written either way.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import subprocess
import sys
import threading
import tomllib
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from tests.show.traces import RUNS, cited, line, tool_span, uncited
from tests.traces.forms import framed
from tests.traces.messages import parse_line

from citespan.cli import main
from citespan.errors import EXIT_BAD_INPUT, EXIT_INCOMPLETE, EXIT_OK, EXIT_VIOLATIONS

MIB: Final = 1024 * 1024
CALLS: Final = (
    tool_span(1, "list_files", at=1),
    tool_span(2, "patch_file", cited("path", "list_files", "files.*", 1), at=2),
    tool_span(3, "patch_file", uncited("path"), status="blocked", at=3),
)
LINES: Final = "".join(map(line, CALLS)).encode()
ONE: Final = line(*CALLS).encode()
MESSAGE: Final = parse_line(ONE).SerializeToString()
RUN: Final = (
    b'{"id":"a","user_messages":["list the files"],"calls":[{"tool":"list_files","arguments":{"root":"."},"turn":0,'
    b'"result":{"files":["a.py"]}},{"tool":"patch_file","arguments":{"path":"b.py"},"turn":0,"result":null}]}\n'
)
EVIDENCE: Final = (
    b'{"schema":"citespan.evidence/1","tool":"patch_file","status":"blocked","trace_id":"%s","span_id":"%s"}\n'
    % (RUNS[0].encode(), b"1" * 16)
)
JAEGER: Final = json.dumps(
    {
        "data": [
            {
                "traceID": RUNS[0],
                "processes": {"p1": {"serviceName": "agent", "tags": []}},
                "spans": [
                    {
                        "traceID": RUNS[0],
                        "spanID": "3",
                        "operationName": "execute_tool patch_file",
                        "startTime": 1_796_144_130_000_000,
                        "duration": 5,
                        "processID": "p1",
                        "tags": [
                            {"key": "gen_ai.operation.name", "type": "string", "value": "execute_tool"},
                            {"key": "provenance.status", "type": "string", "value": "blocked"},
                        ],
                    }
                ],
            }
        ]
    }
).encode()
FINE: Final = "an answer"
A_TRACE: Final = ": this is a trace; it holds no values and cannot be replayed"
NO_RUN: Final = ":1: calls: is missing: an array"
AS_EVIDENCE: Final = dict.fromkeys(("replay", "suggest"), ": this is an evidence file; record a trace")
AS_NO_TRACE: Final = {"audit": ":1: this is a trajectory file, not a trace"}
OLD: Final = b"what was there before"


class Holds(NamedTuple):
    """What a file holds.

    Args:
        data: its bytes. traced: what each command says of it after its name, `FINE` for an answer. others: what some
            commands say instead.
    """

    data: bytes
    traced: str
    others: Mapping[str, str]

    def said_by(self, command: str) -> str:
        return self.others.get(command, self.traced)


def trace(data: bytes, said: str = FINE) -> Holds:
    """A trace, as it begins: `replay` has nothing to judge in it."""
    return Holds(data, said, {"replay": A_TRACE})


def nothing(data: bytes, said: str, as_runs: str) -> Holds:
    """What is neither a trace nor recorded runs. as_runs: what those say who would take the latter."""
    return Holds(data, said, {"replay": as_runs, "suggest": as_runs})


def anything(data: bytes, said: str) -> Holds:
    """What every command says the same of."""
    return Holds(data, said, {})


#: has a verdict: lines without one are passed over by `show`, as its `--help` says
WRONG: Final = (
    b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":7,"attributes":[{"key":"provenance.status"}]}]}]}]}\n'
)
UTF_16: Final = ": text in UTF-16: write it as UTF-8"
INSIDE_GZIP: Final = "gzip: the file ends inside its compressed data"
LONG: Final = ":1: a document or line of more than 20971520 bytes"

KINDS: Final[dict[str, Holds]] = {
    # what is read
    "a collector's JSON, a line for each batch": trace(LINES),
    "a line for all": trace(ONE),
    "a byte-order mark": trace(b"\xef\xbb\xbf" + LINES),
    "CRLF": trace(LINES.replace(b"\n", b"\r\n")),
    "blank lines": trace(b"\n \n" + LINES.replace(b"\n", b"\n\n")),
    "concatenated without line breaks": trace(LINES.replace(b"\n", b"")),
    "over several lines": trace(json.dumps(json.loads(ONE), indent=2).encode()),
    "gzip": trace(gzip.compress(LINES)),
    "gzip of several members": trace(gzip.compress(LINES[:50]) + gzip.compress(LINES[50:]) + bytes(512)),
    "OTLP protobuf": trace(MESSAGE),
    "OTLP protobuf, gzip": trace(gzip.compress(MESSAGE)),
    "a collector's protobuf, each after its length": trace(framed(MESSAGE, MESSAGE)),
    "JSON, each after its length": trace(framed(*LINES.splitlines())),
    "Jaeger's export": trace(JAEGER),
    "other signals": Holds(b'{"resourceLogs":[]}\n', FINE, dict.fromkeys(("replay", "suggest"), NO_RUN)),
    "evidence": Holds(EVIDENCE, FINE, {"audit": ":1: this is an evidence file", **AS_EVIDENCE}),
    "recorded runs": Holds(RUN, FINE, {"audit": ":1: this is a trajectory file"}),
    "recorded runs, gzip": Holds(gzip.compress(RUN), FINE, {"audit": ":1: this is a trajectory file"}),
    "empty": anything(b"", FINE),
    "blank lines alone": anything(b"\n\n \n", FINE),
    "gzip of nothing": anything(gzip.compress(b""), FINE),
    # what is cut or broken
    "cut in a line": trace(LINES[:-200], ":3: no JSON: unexpected end of data: the document is unfinished"),
    "cut, and gone on with": trace(LINES[:500] + LINES, ":1: no JSON: "),
    "cut gzip": trace(gzip.compress(LINES)[:-20], f":3: {INSIDE_GZIP}"),
    "gzip cut in its header": anything(gzip.compress(LINES)[:5], f": {INSIDE_GZIP}"),
    "gzip of runs, cut": Holds(gzip.compress(RUN)[:-9], f":2: {INSIDE_GZIP}", {"audit": ":1: this is a trajectory"}),
    "gzip, then something else": trace(gzip.compress(LINES) + b"x", ":4: gzip: something else follows"),
    "gzip inside gzip": anything(gzip.compress(gzip.compress(LINES)), ": gzip inside gzip: decompress it once"),
    "cut protobuf": trace(MESSAGE[:-30], ":byte 0: the file ends inside it, after "),
    "cut after a length": trace(framed(MESSAGE)[:-30], ":message 1: the file ends inside it, after "),
    "cut in a length": trace(framed(MESSAGE) + b"\0\0", ":message 2: the file ends inside its length"),
    "a trace, then runs": trace(LINES + RUN, ":4: this is a trajectory file, not a trace"),
    # what is something else
    "NUL bytes in a line": trace(LINES[:300] + b"\0\0" + LINES[300:], ":1: no JSON: NUL bytes, from column 301 on"),
    "NUL bytes after the lines": trace(LINES + bytes(100), ":4: no JSON: NUL bytes, from column 1 on"),
    "NUL bytes alone": nothing(bytes(5000), ":1: no JSON: NUL bytes", ":1: not JSON: it has NUL bytes (at column 1)"),
    "wrong types": trace(WRONG, ":1: resourceSpans[0].scopeSpans[0].spans[0].traceId: 32 hex digits are needed"),
    "wrong types in the fourth line": trace(LINES + WRONG, ":4: resourceSpans[0].scopeSpans[0].spans[0].traceId: "),
    "wrong types in a run": Holds(RUN.replace(b'"turn":0', b'"turn":[]'), ":1: calls.0.turn: must be ", AS_NO_TRACE),
    "UTF-16": anything(LINES.decode().encode("utf-16"), UTF_16),
    "UTF-16, no mark": anything(LINES.decode().encode("utf-16-le"), UTF_16),
    "Latin-1": trace(LINES.replace(b"patch_file", b"fl\xfcstern"), ":2: no JSON: not UTF-8 at byte "),
    "zstd": anything(b"\x28\xb5\x2f\xfd" + bytes(50), ": compressed with zstd: decompress it first (zstd -d)"),
    "an answer of Jaeger's that is none": nothing(
        b'{"data":null,"errors":[{"code":404}]}', ":1: errors: this is Jaeger's answer", NO_RUN
    ),
    "another JSON": nothing(b'{"a":1}\n', ":1: no `resourceSpans`: this is not an OTLP/JSON traces file", NO_RUN),
    "an array": nothing(b"[1]\n", ":1: not a JSON object", ":1: a trajectory is an object, this line is an array"),
    "brackets": nothing(b'{"a":' * 5000, ":1: no JSON: nested too deep", ":1: not JSON: depth limit exceeded"),
    "text": nothing(b"hello\n", ":1: no JSON: unexpected character", ":1: not JSON: unexpected character"),
    "a picture": nothing(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", ":1: no JSON: not UTF-8 at byte 1", ":1: not JSON: "),
}

#: the name of the file stands at FILE; `good` and `out` are there, and `out` is what -o names
COMMANDS: Final[dict[str, str]] = {
    "show": "show FILE",
    "diff": "diff good FILE",
    "audit": "audit FILE",
    "report": "report FILE -o out",
    "replay": "replay FILE",
    "suggest": "suggest FILE -o out --force",
}
NAMES: Final = {"a path": "recorded", "standard input": "-"}


class Outcome(NamedTuple):
    """What came of a command: its exit code, standard output and error, and what `out` holds afterwards."""

    code: int
    out: bytes
    err: str
    written: bytes


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CITESPAN_POLICY", raising=False)
    (tmp_path / "good").write_bytes(ONE)
    (tmp_path / "out").write_bytes(OLD)
    return tmp_path


@pytest.fixture
def run(folder: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> Callable[[str, str], Outcome]:
    """Run a command on a file; it leaves no file behind but the one that it was to write."""

    def run(command: str, name: str) -> Outcome:
        before = sorted(each.name for each in folder.iterdir())
        code = main(COMMANDS[command].replace("FILE", name).split())
        said = capfdbinary.readouterr()
        assert sorted(each.name for each in folder.iterdir()) == before
        return Outcome(code, said.out, said.err.decode(), (folder / "out").read_bytes())

    return run


def refused(found: Outcome, name: str, reason: str) -> None:
    """65, with file and reason; nothing else was said, and nothing written."""
    assert found.code == EXIT_BAD_INPUT
    assert found.err.startswith(f"citespan: {name}{reason}"), found.err
    assert found.err.count("\n") == 1
    assert found.out == b""
    assert found.written == OLD


def answered(found: Outcome, command: str) -> None:
    """A result, where results belong, and the whole of it."""
    assert found.code in {EXIT_OK, EXIT_VIOLATIONS, EXIT_INCOMPLETE}
    assert "Traceback" not in found.err
    if command == "report":
        assert found.written.rstrip().endswith(b"</html>")
    elif command == "suggest":
        assert tomllib.loads(found.written.decode())["version"] == 1
    else:
        assert found.written == OLD
        assert bool(found.out) is not (command == "diff" and found.code == EXIT_INCOMPLETE)


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES.keys())
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_or_a_reason(
    kind: str, command: str, name: str, run: Callable[[str, str], Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same by a path and on standard input."""
    holds = KINDS[kind]
    Path("recorded").write_bytes(holds.data)
    with Path("recorded").open() as file:
        monkeypatch.setattr(sys, "stdin", file)
        found = run(command, name)
    reason = holds.said_by(command)
    if reason == FINE:
        answered(found, command)
    else:
        refused(found, "<stdin>" if name == "-" else name, reason)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "name, reason",
    [
        ("missing", "No such file or directory"),
        (".", "Is a directory"),
        ("good/inside", "Not a directory"),
        ("x" * 300, "File name too long"),
        *([("locked", "Permission denied")] if os.geteuid() else []),  # root may read everything
        ("/proc/self/mem", "Input/output error"),
    ],
)
def test_what_cannot_be_read(name: str, reason: str, command: str, run: Callable[[str, str], Outcome]) -> None:
    """Not there, a folder, of somebody else, or of a device that fails."""
    if name == "locked":
        Path(name).write_bytes(LINES)
        Path(name).chmod(0)
    if name.startswith("/proc") and sys.platform != "linux":
        pytest.skip("a file that opens and cannot be read is one of Linux")
    found = run(command, name)
    refused(found, name, ": ")
    assert found.err.endswith(f"{reason}\n")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kind", ["gzip", "recorded runs", "cut in a line", "cut protobuf"])
def test_a_pipe_that_has_a_name(command: str, kind: str, run: Callable[[str, str], Outcome]) -> None:
    """`<(zcat trace.gz)` in a shell: it opens once, and has no size."""
    os.mkfifo("recorded")

    def write() -> None:
        with contextlib.suppress(BrokenPipeError):  # it has had enough
            Path("recorded").write_bytes(KINDS[kind].data)

    writer = threading.Thread(target=write)
    writer.start()
    found = run(command, "recorded")
    writer.join(60)
    reason = KINDS[kind].said_by(command)
    if reason == FINE:
        answered(found, command)
    else:
        refused(found, "recorded", reason)


#: runs the command line with little memory, and says what it said
LITTLE: Final = """
import resource, sys
from citespan.cli import main
from citespan.errors import EXIT_BAD_INPUT, EXIT_INCOMPLETE, EXIT_OK, EXIT_VIOLATIONS
import google.protobuf.json_format, opentelemetry.proto.trace.v1.trace_pb2
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]), int(sys.argv[1])))
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is one of Linux")
@pytest.mark.parametrize(
    "command, begins, memory, reason",
    [
        ("show", b"", 600 * MIB, LONG),
        ("audit", b'{"resourceSpans":[{"resource":{},"x":"', 600 * MIB, LONG),
        ("diff", b'{"schema":"citespan.evidence/1","x":"', 600 * MIB, ":1: a line of more than 33554432 bytes"),
        ("report", b"\x0a\xff\xff\xff\x7f\x12\x02\n\0", 600 * MIB, ":byte 0: a message of 268435455 bytes"),
        ("report", b"\x04\0\0\0\x0a\x04\x12\x02\n\0", 600 * MIB, ":message 1: a message of 67108864 bytes"),
        ("replay", b'{"id":"a","calls":[],"x":"', 1200 * MIB, ":1: a line of more than 268435456 bytes"),
    ],
)
def test_a_line_of_a_gigabyte(command: str, begins: bytes, memory: int, reason: str, folder: Path) -> None:
    """Of whatever it claims to be: it is refused in bounded memory, and not read to its end where it need not be."""
    with Path("recorded").open("wb") as file:
        file.write(begins)
        file.truncate(1024 * MIB)  # takes no room on the disk
    options = COMMANDS[command].replace("FILE", "recorded").split()
    done = subprocess.run(
        [sys.executable, "-c", LITTLE, str(memory), *options], capture_output=True, text=True, timeout=120, check=False
    )
    found = Outcome(done.returncode, done.stdout.encode(), done.stderr, Path("out").read_bytes())
    refused(found, "recorded", reason)
    assert sorted(each.name for each in folder.iterdir()) == ["good", "out", "recorded"]


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is one of Linux")
@pytest.mark.parametrize("command", ["audit", "suggest"])
def test_a_bomb(command: str, folder: Path) -> None:
    """A megabyte of gzip that becomes a line of a gigabyte."""
    packer = zlib.compressobj(9, wbits=31)
    with Path("recorded").open("wb") as file:
        file.write(packer.compress(b'{"id":"' if command in {"replay", "suggest"} else b'{"resourceSpans":"'))
        for _ in range(320):
            file.write(packer.compress(bytes(MIB)))
        file.write(packer.flush())
    options = COMMANDS[command].replace("FILE", "recorded").split()
    done = subprocess.run(
        [sys.executable, "-c", LITTLE, str(1200 * MIB), *options],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    found = Outcome(done.returncode, done.stdout.encode(), done.stderr, Path("out").read_bytes())
    refused(found, "recorded", ":1: a line of more than" if command in {"replay", "suggest"} else LONG)
