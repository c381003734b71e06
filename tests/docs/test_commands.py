"""Every command of the pages and of `--help` is one that can be typed: it is run here, or parsed."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.docs.desk import lay
from tests.docs.helps import HELPS, ROOT_COMMAND

from citespan.cli import UsageMistake

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("docs/frameworks/*.md")])
_FENCE = re.compile(r"^```(?:console|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: a file that the page has the reader save
_FILE = re.compile(r"^```\w+ title=\"([\w./-]+)\"\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_EXAMPLES = re.compile(r"^Examples:\n\n((?: {4}.*\n?|\n)+)", re.MULTILINE)

#: beginnings of commands that are not run here, and what shows that they work
ELSEWHERE = {
    "pip install": "`.ci/run` installs from nothing",
    "apt-get install": "`.ci/run`",
    "make ": "`.ci/run`",
    ".venv/bin/python -m benchmarks": "tests/benchmarks",
    ".venv-tools/bin/nox": "`make test-frameworks`",
    "docker compose up": "tests/collector checks the file; there is no engine here",
    "otelcol-contrib ": "tests/collector",
    "curl -sG http://localhost:16686": "tests/collector",
    "uv run ": "tests/launch",
    "citespan run -- uvicorn": "a server does not end; tests/launch runs commands of environments",
    "citespan serve": "a server does not end; tests/serve",
    "curl http://127.0.0.1:4318": "tests/serve",
    "while read -r line; do printf": "tests/serve/test_http.py",
    "citespan --install-completion": "it writes to the reader's own shell; tests/cli/test_help.py shows the completion",
}  # fmt: skip
#: exit codes of commands that did what the page says
FINE = {0, 1, 2}


class Line(NamedTuple):
    """One command line, and where it stands."""

    page: str
    number: int
    text: str


def commands(page: str, text: str) -> Iterator[Line]:
    """The command lines of a page, those that go on in the next line as one."""
    for block in _FENCE.finditer(text):
        first = text.count("\n", 0, block.start(1)) + 1
        waiting = ""
        for offset, line in enumerate(block[1].splitlines()):
            waiting += line
            if waiting.endswith("\\"):
                waiting = waiting[:-1]
                continue
            if waiting.strip() and not waiting.lstrip().startswith("#"):
                yield Line(page, first + offset, waiting.strip())
            waiting = ""


def all_lines() -> list[Line]:
    found: list[Line] = []
    for page in PAGES:
        found += commands(str(page.relative_to(ROOT)), page.read_text(encoding="utf-8"))
    return found


def by_page() -> dict[str, list[Line]]:
    pages: dict[str, list[Line]] = {}
    for line in all_lines():
        pages.setdefault(line.page, []).append(line)
    return pages


def elsewhere(line: Line) -> bool:
    return line.text.startswith(tuple(ELSEWHERE))


def words(text: str) -> Iterator[list[str]]:
    """Each call of citespan in a command line, as its words."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    part: list[str] = []
    for word in [*lexer, "|"]:
        if word not in {"|", "||", "&&", ";", "&"}:
            part.append(word)
            continue
        while part and (re.fullmatch(r"[A-Z_]+=\S*", part[0]) or part[:2] == ["uv", "run"]):
            del part[: 2 if part[0] == "uv" else 1]
        if part and part[0] == "citespan":
            yield part[1:]
        part = []


def parse(arguments: list[str]) -> None:
    """Let the command's own parser read its arguments; nothing runs.

    Raises:
        UsageMistake: an option or an argument that the command does not have.
    """
    command, name = ROOT_COMMAND, "citespan"
    rest = arguments[: arguments.index(">")] if ">" in arguments else arguments
    while hasattr(command, "commands") and rest and not rest[0].startswith("-"):
        assert rest[0] in command.commands, f"no command {rest[0]}"
        command, name, rest = command.commands[rest[0]], rest[0], rest[1:]
    if not hasattr(command, "commands"):
        command.make_context(name, rest)


@pytest.mark.parametrize("command", HELPS)
def test_each_command_shows_examples_that_it_understands(command: str) -> None:
    """The block at the end of `--help`: indented lines, each a command line that parses."""
    found = _EXAMPLES.search(HELPS[command] + "\n")
    assert found is not None
    examples = [line.strip() for line in found[1].splitlines() if line.strip()]
    assert examples
    for example in examples:
        for arguments in words(example):
            parse(arguments)
    assert any(f"citespan {command}" in example for example in examples)


@pytest.mark.parametrize("page", sorted(by_page()))
def test_each_citespan_line_of_a_page_parses(page: str) -> None:
    """Checked against the commands' own options: what is renamed there is renamed here."""
    for line in by_page()[page]:
        for arguments in words(line.text):
            try:
                parse(arguments)
            except UsageMistake as mistake:
                pytest.fail(f"{page}:{line.number}: {line.text}: {mistake}")


def test_what_is_run_elsewhere_is_on_a_page() -> None:
    lines = all_lines()
    assert [start for start in ELSEWHERE if not any(line.text.startswith(start) for line in lines)] == []


@pytest.mark.parametrize("page", sorted(by_page()))
def test_each_command_of_a_page_runs(page: str, tmp_path: Path) -> None:
    """In order, in a folder with what the pages name, each by a shell of its own."""
    lay(tmp_path)
    for name, text in _FILE.findall((ROOT / page).read_text(encoding="utf-8")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    folders = [str(Path(sys.executable).parent), os.environ["PATH"]]
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "CITESPAN_"))}
    environment |= {"PATH": os.pathsep.join(folders), "HOME": str(tmp_path), "NO_COLOR": "1"}
    state = tmp_path / ".local" / "state" / "citespan"
    state.mkdir(parents=True)
    (state / "evidence.jsonl").touch()
    (tmp_path / "evidence.jsonl").touch()
    for line in by_page()[page]:
        if elsewhere(line):
            continue
        for written in re.findall(r" -o (\S+)", line.text):
            (tmp_path / written).unlink(missing_ok=True)  # a reader has not written it yet
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", line.text],
            check=False,
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert done.returncode in FINE, f"{page}:{line.number}: {line.text}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr, f"{page}:{line.number}: {line.text}\n{done.stderr}"
