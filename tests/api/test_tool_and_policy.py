"""`@citespan.tool`'s own words about a tool, and how a policy is found, refused and configured."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.guard.harness import LISTED, SECRET, Spans, Toolbox, Watch, judges_both_ways, refused

import citespan
from citespan.core.policy import Policy, ToolRule
from citespan.errors import PolicyNotFound, UsageError
from citespan.guard.registry import registry

BROKEN = """\
version = 1
[defaults]
mode = "enforced"
max_assumed = -1
[tools.patch_file]
colour = "red"
"""


@pytest.fixture
def box(watch: Watch) -> Toolbox:
    return Toolbox()


def test_a_decorator_with_and_without_words_guards_alike(watch: Watch) -> None:
    ran: list[str] = []

    @citespan.tool
    def bare(path: str) -> None:
        ran.append(path)

    @citespan.tool()
    def called(path: str) -> None:
        ran.append(path)

    @citespan.tool(name="renamed")
    def named(path: str) -> None:
        ran.append(path)

    for tool in (bare, called, named):
        refused(tool, path=SECRET)
    assert ran == []
    assert [decision.tool for decision in watch.decisions.values()] == ["bare", "called", "renamed"]


def test_a_tool_that_only_reads_stores_nothing(box: Toolbox, watch: Watch) -> None:
    """A guess that went into a reading call says nothing about what a later call returns; into another one it does."""

    @citespan.tool(read_only=True)
    def read(comment: str) -> str:
        return "nothing of it"

    @citespan.tool
    def write(comment: str) -> str:
        return "nothing of it"

    with citespan.run(inputs={"root": "."}):
        read(comment=LISTED[0])
        assert not watch.last.mutating
        box.list_files(root=".")
        box.patch_file(path=LISTED[0])
        write(comment=LISTED[1])
        assert watch.last.mutating
        box.list_files(root=".")
        box.patch_file(path=LISTED[1])  # seen before it could have been stored
    with citespan.run(inputs={"root": "."}):
        write(comment=LISTED[1])
        box.list_files(root=".")
        refused(box.patch_file, path=LISTED[1])
    assert box.ran == LISTED


def test_read_only_in_code_does_not_switch_enforcement_off(watch: Watch) -> None:
    ran: list[str] = []

    @citespan.tool(read_only=True)
    def read(path: str) -> None:
        ran.append(path)

    with citespan.run():
        refused(read, path=SECRET)
    assert ran == []


def test_the_policys_word_about_a_tool_wins_over_its_codes(watch: Watch) -> None:
    @citespan.tool(read_only=True)
    def read(comment: str) -> str:
        return "done"

    with citespan.run(policy=Policy(tools={"read": ToolRule(read_only=False)})):
        read(comment="a guess")
    assert watch.last.mutating


@pytest.mark.parametrize("word", ["model", "computed"])
def test_output_in_code_holds_unless_the_policy_says_otherwise(word: Any, box: Toolbox) -> None:
    @citespan.tool(output=word, read_only=True)
    def produce(comment: str) -> dict[str, str]:
        return {"path": LISTED[0]}

    with citespan.run():
        produce(comment="some words")
        refused(box.patch_file, path=LISTED[0])
    with citespan.run(policy=Policy(tools={"produce": ToolRule(output="data")})):
        produce(comment="some words")
        box.patch_file(path=LISTED[0])
    assert box.ran == LISTED[:1]


def test_what_code_confirms_makes_a_guess_citable(watch: Watch) -> None:
    ran: list[str] = []

    @citespan.tool(confirms=["user.mail"])
    def find_user(query: str) -> dict[str, Any]:
        return {"user": {"mail": query, "alias": "x-" + query}, "query": query}

    @citespan.tool
    def send(to: str) -> None:
        ran.append(to)

    with citespan.run(policy=Policy(tools={"find_user": ToolRule(mode="tag")})):
        find_user(query="ann@example.org")
        send(to="ann@example.org")
        refused(send, to="x-ann@example.org")
    assert ran == ["ann@example.org"]


def test_a_policy_that_is_not_there_is_no_policy_at_all(watch: Watch, tmp_path: Path) -> None:
    for missing in (tmp_path / "missing.toml", str(tmp_path / "missing.toml")):
        with pytest.raises(PolicyNotFound) as raised:
            citespan.run(policy=missing)
        assert isinstance(raised.value, citespan.PolicyError)
        assert raised.value.exit_code == 78
        assert "missing.toml" in str(raised.value)
        with pytest.raises(PolicyNotFound):
            citespan.TracedTools({}, policy=missing)
        with pytest.raises(PolicyNotFound):
            citespan.configure(missing, evidence=False)


def test_all_mistakes_of_a_policy_are_told_at_once(watch: Watch, tmp_path: Path) -> None:
    path = tmp_path / "citespan.toml"
    path.write_text(BROKEN)
    with pytest.raises(citespan.PolicyError) as raised:
        citespan.run(policy=path)
    problems = raised.value.problems
    assert [problem.key for problem in problems] == [
        "defaults.mode",
        "defaults.max_assumed",
        "tools.patch_file.colour",
    ]
    assert [problem.line for problem in problems] == [3, 4, 6]
    assert str(raised.value).count(f"{path}:") == 3
    assert raised.value.exit_code == 65


def test_a_policy_file_holds_for_the_run_that_names_it(box: Toolbox, tmp_path: Path) -> None:
    path = tmp_path / "citespan.toml"
    path.write_text('version = 1\n[tools."patch_*"]\nmode = "tag"\n')
    with citespan.run(policy=path) as run:
        box.patch_file(path=SECRET)
        path.write_text("version = 1\n")
        box.patch_file(path=SECRET)
    with pytest.raises(UsageError), run:
        pass
    with citespan.run(policy=path):
        refused(box.patch_file, path=SECRET)
    assert box.ran == [SECRET, SECRET]


def test_the_policy_named_by_the_environment_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "citespan.toml"
    path.write_text('version = 1\n[tools."patch_*"]\nmode = "tag"\n')
    monkeypatch.setenv("CITESPAN_POLICY", str(path))
    box = Toolbox()
    with citespan.run():
        box.patch_file(path=SECRET)
    assert box.ran == [SECRET]


def test_a_policy_in_the_working_directory_is_not_looked_for(
    box: Toolbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent may be able to write there."""
    (tmp_path / "citespan.toml").write_text('version = 1\n[defaults]\nmode = "off"\n')
    (tmp_path / "pyproject.toml").write_text('[tool.citespan]\nversion = 1\n[tool.citespan.defaults]\nmode = "off"\n')
    monkeypatch.chdir(tmp_path)
    with citespan.run():
        refused(box.patch_file, path=SECRET)
    assert box.ran == []


@pytest.mark.parametrize("content", [None, BROKEN], ids=["missing", "broken"])
def test_a_policy_named_by_the_environment_that_cannot_be_used_stops_the_program(
    content: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "citespan.toml"
    if content is not None:
        path.write_text(content)
    script = "import citespan\nran = []\ncitespan.tool(ran.append)\nprint('guarded?')"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "CITESPAN_POLICY": str(path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    assert done.stdout == ""
    assert "Policy" in done.stderr


def test_configure_sets_policy_spans_and_evidence(tmp_path: Path) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    evidence = tmp_path / "evidence.jsonl"
    configured = citespan.configure(Policy(max_assumed=1), evidence=evidence, tracer_provider=provider)
    box = Toolbox()
    with citespan.run():
        box.patch_file(path=SECRET)
        refused(box.patch_file, path=[SECRET, SECRET])
    configured.shutdown()
    names = [span.name for span in exporter.get_finished_spans()]
    assert names == ["execute_tool patch_file", "execute_tool patch_file", "invoke_agent"]
    assert len(evidence.read_bytes().splitlines()) == 2
    assert box.ran == [SECRET]


def test_configure_that_fails_changes_nothing(tmp_path: Path, spans: Spans) -> None:
    before = (registry.rulebook, registry.telemetry, registry.evidence, registry.configured)
    with pytest.raises(OSError, match="nowhere"):
        citespan.configure(Policy(mode="off"), evidence=tmp_path / "nowhere" / "x", tracer_provider=spans.provider)
    with pytest.raises(citespan.CitespanError):
        citespan.configure(Policy(mode="off"), "not a url", evidence=False, tracer_provider=spans.provider)
    assert (registry.rulebook, registry.telemetry, registry.evidence, registry.configured) == before
    judges_both_ways()


def test_the_package_loads_no_framework_and_no_exporter_by_itself() -> None:
    script = (
        "import sys, citespan; citespan.tool; citespan.run; citespan.TracedTools\n"
        "print([name for name in sys.modules if name.split('.')[0] in {'mcp', 'typer', 'rich', 'grpc', 'pydantic'}"
        " or 'exporter' in name])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"


def test_every_public_name_is_there() -> None:
    for name in citespan.__all__:
        assert getattr(citespan, name) is not None
        assert name in dir(citespan)
    with pytest.raises(AttributeError):
        citespan.nothing  # noqa: B018 - the access is the test
