"""`citespan demo`, as its user meets it: the real command, the real MCP server, a real git repository."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from citespan.cli import demo, main

Played = tuple[subprocess.CompletedProcess[str], Path, float]
COLLECTOR = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_PROTOCOL")


def citespan(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    inherited = {name: value for name, value in os.environ.items() if name not in COLLECTOR}
    command = [sys.executable, "-m", "citespan.cli", *map(str, arguments)]
    env = inherited | environment
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)


def spans(trace: Path) -> list[dict[str, Any]]:
    """Every span of an OTLP/JSON lines file."""
    return [
        span
        for line in trace.read_text().splitlines()
        for resource in json.loads(line)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def attributes(span: dict[str, Any]) -> dict[str, Any]:
    return {entry["key"]: next(iter(entry["value"].values())) for entry in span["attributes"]}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    """One demo, played without a home, in the middle of somebody's git hook; its folder and its seconds."""
    pytest.importorskip("mcp_server_git")
    folder = tmp_path_factory.mktemp("demo")
    elsewhere = {"HOME": str(folder / "no-home"), "GIT_DIR": "/nowhere", "GIT_INDEX_FILE": "/nowhere/index"}
    started = time.monotonic()
    done = citespan("demo", "--keep", folder / "kept", **elsewhere)
    return done, folder / "kept", time.monotonic() - started


def test_the_demo_goes_as_designed_in_seconds(played: Played) -> None:
    """Exit code 0, nothing on standard error, well under a minute."""
    done, _, seconds = played
    assert done.stderr == ""
    assert done.returncode == 0
    assert seconds < 15


def test_the_table_shows_both_runs_without_colours_where_it_is_piped(
    played: Played,
) -> None:
    """Each argument with its kind and source, each call with its status; at most 80 columns for tables."""
    done, folder, _ = played
    shown = [" ".join(line.split()) for line in done.stdout.splitlines()]
    for line in (
        "git_add ok",
        "files.0 = src/app.py observed git_status.result (paths)",
        "repo_path = .../repository user inputs.repo_path",
        "git_add blocked",
        "files.0 = deploy/prod.env assumed none",
        "git_create_branch blocked",
        "branch_name = fix-rate user inputs.branch",
        "base_branch = release assumed none",
        "base_branch = 9f3c1e07ab assumed none",
        f"trace {folder}/good.jsonl",
        f"trace {folder}/bad.jsonl",
    ):
        assert line in shown, line
    assert any(line.startswith("message = ") and line.endswith("assumed allowed by the policy") for line in shown)
    assert any(line.startswith("git unchanged by the guessing run") for line in shown)
    assert shown.index(f"trace {folder}/good.jsonl") < shown.index(f"trace {folder}/bad.jsonl")
    assert "\x1b" not in done.stdout


def test_the_traces_tell_the_same(played: Played) -> None:
    """Two OTLP/JSON lines files: each call a child of its run, citations as links, no value of a guess anywhere."""
    _, folder, _ = played
    good, bad = spans(folder / "good.jsonl"), spans(folder / "bad.jsonl")
    for trace, statuses in ((good, ["ok"] * 5), (bad, ["ok", "blocked", "blocked", "blocked"])):
        (run,) = (span for span in trace if span["name"].startswith("invoke_agent"))
        calls = [span for span in trace if span["name"].startswith("execute_tool")]
        assert [attributes(span)["provenance.status"] for span in calls] == statuses
        assert {span["parentSpanId"] for span in calls} == {run["spanId"]}
    by_name = {span["name"]: span for span in good}
    cited = {link["spanId"] for link in by_name["execute_tool git_add"]["links"]}
    assert by_name["execute_tool git_status"]["spanId"] in cited
    assert "prod.env" not in (folder / "bad.jsonl").read_text()


def test_the_policy_that_was_used_lies_beside_the_traces(
    played: Played,
) -> None:
    """It is the one that is shipped, and the policy reader takes it."""
    from citespan.policy_file import load

    _, folder, _ = played
    shipped = Path(demo.__file__).parent.parent / "demo" / "citespan.toml"
    assert (folder / "citespan.toml").read_text() == shipped.read_text()
    policy = load(folder / "citespan.toml")
    assert policy.mode == "enforce"
    assert policy.max_assumed == 0


def test_each_command_that_it_prints_works_as_it_stands(played: Played, tmp_path: Path) -> None:
    """Also where no environment is active, from any folder, with none of its commands on the PATH."""
    done, _, _ = played
    lines = [line.removeprefix("next ").strip() for line in done.stdout.splitlines() if line.startswith("next ")]
    again = lines.pop()
    assert again.startswith("OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318 ")
    lines.append(again.partition(" ")[2].replace("demo  (the same, into a collector)", "demo --help"))
    ends = {}
    for line in lines:
        typed = subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
        assert "Traceback" not in typed.stderr
        (command,) = re.findall(r"(?:citespan|citespan.cli) ([a-z]+) ", line + " ")
        ends[command] = typed.returncode
    assert ends == {"show": 1, "diff": 1, "report": 0, "policy": 0, "demo": 0}


def test_without_the_guard_the_file_and_the_branch_would_have_been_taken(tmp_path: Path) -> None:
    """It is not git that stops the agent."""
    pytest.importorskip("mcp_server_git")
    from citespan.demo import agent, repository

    root = repository.create(tmp_path / "repository")
    answers = asyncio.run(agent.play(agent.guessing, root))
    assert [answer.is_error for answer in answers] == [False, False, False, True]
    after = repository.state(root)
    assert repository.SECRET in after.entries
    assert agent.BRANCH in after.branches.split()


def test_a_demo_that_does_not_go_as_designed_ends_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A policy that lets the guesses through is noticed, and said."""
    pytest.importorskip("mcp_server_git")

    def lax(keep: Path | None) -> Path:
        (tmp_path / "citespan.toml").write_text('version = 1\n[defaults]\nmode = "tag"\n')
        return tmp_path

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(demo, "prepare", lax)
        assert main(["demo"]) == 1
    assert "not as designed: guessing: the repository should not have changed" in capsys.readouterr().err


# --- what can be missing


@pytest.mark.parametrize("missing", ["mcp", "mcp_server_git"])
def test_a_missing_package_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], missing: str
) -> None:
    """Exit code 78, and what to install."""
    monkeypatch.setattr(demo, "find_spec", lambda name: None if name == missing else object())
    assert main(["demo"]) == 78
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == f"citespan: the demo needs {missing}: pip install 'citespan[demo]'\n"


def test_a_missing_git_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 78."""
    monkeypatch.setenv("PATH", "")
    assert main(["demo"]) == 78
    assert "needs git" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_folder_that_holds_something_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    """Exit code 64."""
    monkeypatch.setattr(demo, "require", lambda: None)
    (tmp_path / "mine").write_text("precious")
    assert main(["demo", "--keep", str(tmp_path / "mine" if kind == "file" else tmp_path)]) == 64
    assert "a new or an empty folder" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


# --- where spans go besides


@pytest.fixture
def collector() -> Iterator[tuple[str, list[str]]]:
    """An OTLP/HTTP collector: its address, and the paths that were posted to it."""
    posted: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            posted.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Quiet."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", posted
        server.shutdown()
        thread.join()


def test_spans_are_exported_where_the_environment_says(tmp_path: Path, collector: tuple[str, list[str]]) -> None:
    """`OTEL_EXPORTER_OTLP_ENDPOINT` gets every span as well."""
    pytest.importorskip("mcp_server_git")
    address, posted = collector
    done = citespan("demo", "--keep", tmp_path / "kept", OTEL_EXPORTER_OTLP_ENDPOINT=address)
    assert done.returncode == 0
    assert set(posted) == {"/v1/traces"}
    count = len(spans(tmp_path / "kept" / "good.jsonl")) + len(spans(tmp_path / "kept" / "bad.jsonl"))
    assert f"{count} spans to {address}" in done.stdout


@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
def test_an_absent_collector_is_said_and_nothing_else_changes(tmp_path: Path, protocol: str) -> None:
    """The demo still goes as designed, and soon; a password in the address is not shown."""
    pytest.importorskip("mcp_server_git")
    address = "http://me:secret@127.0.0.1:9"
    started = time.monotonic()
    environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": address, "OTEL_EXPORTER_OTLP_PROTOCOL": protocol}
    done = citespan("demo", "--keep", tmp_path / "kept", **environment)
    assert done.returncode == 0
    assert "127.0.0.1:9 did not take the spans; they are in the files" in done.stdout
    assert "secret" not in done.stdout
    assert time.monotonic() - started < 60


# --- the command around it


@pytest.mark.parametrize("arguments", [["demo", "--nonsense"], ["nonsense"], ["demo", "too", "much"]])
def test_a_command_line_that_means_nothing_ends_with_64(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    """Not 2, which says that a trace is incomplete."""
    assert main(arguments) == 64
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err


def test_help_is_no_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 0, on standard output."""
    assert main(["--help"]) == 0
    assert main(["demo", "--help"]) == 0
    assert "--keep" in capsys.readouterr().out


def test_an_interrupt_ends_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a shell expects it."""

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "require", interrupted)
    assert main(["demo"]) == 130
