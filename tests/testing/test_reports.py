"""`--citespan-report DIR`: a trace file for each watched test, a page for each that fails."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from tests.testing.conftest import Project, files, text_of

from citespan.calls import call_of
from citespan.testing.reports import name_of
from citespan.traces.reader import read_spans

pytest_plugins = ["pytester"]

TESTS = (
    "pytestmark = pytest.mark.citespan(policy='citespan.toml')\n"
    "@pytest.mark.parametrize('name', ['a/b', 'a-b', 'A/b', '../../up', '\\x00', 'n' * 300])\n"
    "def test_fine(name): careful()\n"
    "@pytest.mark.parametrize('number', range(4))\n"
    "def test_guess(number): guessing()\n"
)


def test_each_watched_test_has_a_trace_and_each_failed_one_a_page(project: Project) -> None:
    project.tests(TESTS + "def test_own_fault():\n    careful()\n    assert False\n")
    project.tests("def test_it(): pass\n", "test_plain.py")
    result = project.run("--citespan-report", "out/deep")
    result.assert_outcomes(passed=7, failed=5)
    out = project.folder / "out" / "deep"
    assert len(files(out, ".jsonl")) == 11
    assert len(files(out, ".html")) == 5
    assert len(list(out.iterdir())) == 16
    for trace in out.glob("*.jsonl"):
        spans = list(read_spans(trace))
        assert [call.tool for call in map(call_of, spans) if call] == ["list_files", "patch_file"]
        assert len(spans) == 3  # the run, closed
    text = text_of(result)
    pages = re.findall(r"^test_agent.py::(test_guess\[\d\]|test_own_fault): (.*\.html)$", text, re.MULTILINE)
    assert [name for name, _ in pages] == [*(f"test_guess[{number}]" for number in range(4)), "test_own_fault"]
    assert all(Path(page).is_file() for _, page in pages)
    assert f"11 trace files and 5 pages of failed tests in {out}" in text


def test_workers_write_files_of_their_own_and_the_summary_comes_once(project: Project) -> None:
    """pytest-xdist: the same names, and what each worker wrote reaches the terminal."""
    project.tests(TESTS)
    done = project.spawn("-n", "2", "--citespan-report", "out", "-q")
    assert done.code == 1
    assert "4 failed, 6 passed" in done.text
    out = project.folder / "out"
    assert len(files(out, ".jsonl")) == 10
    assert len(files(out, ".html")) == 4
    assert done.text.count("10 trace files and 4 pages of failed tests in") == 1
    assert len(re.findall(r"^test_agent.py::test_guess\[\d\]: .*\.html$", done.text, re.MULTILINE)) == 4


def test_nothing_that_is_there_is_deleted_but_a_page_of_a_test_that_passes_now(project: Project) -> None:
    out = project.folder / "out"
    out.mkdir()
    (out / "mine.html").write_text("mine")
    project.tests(
        "@pytest.mark.citespan(policy='citespan.toml')\ndef test_it():\n"
        "    from pathlib import Path\n    careful() if Path('fixed').exists() else guessing()\n"
    )
    project.run("--citespan-report", "out")
    assert len(files(out, ".html")) == 2
    (project.folder / "fixed").touch()
    project.run("--citespan-report", "out").assert_outcomes(passed=1)
    assert files(out, ".html") == ["mine.html"]
    assert len(files(out, ".jsonl")) == 1


def test_a_test_whose_fixture_failed_has_its_files(project: Project) -> None:
    project.tests(
        "@pytest.fixture\ndef broken(citespan_run):\n    citespan_run.observe('root', '.')\n    guessing()\n    1 / 0\n"
        "def test_it(broken): pass\n"
    )
    project.run("--citespan-report", "out").assert_outcomes(errors=2)
    assert (len(files(project.folder / "out", ".jsonl")), len(files(project.folder / "out", ".html"))) == (1, 1)


def test_a_folder_that_cannot_be_made_is_a_usage_error(project: Project) -> None:
    project.tests("def test_it(): pass\n")
    (project.folder / "taken").write_text("")
    result = project.run("--citespan-report", "taken")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "ERROR: --citespan-report" in "\n".join(result.errlines)


def test_files_that_cannot_be_written_are_said_and_fail_nothing(project: Project) -> None:
    """The folder goes away while the tests run."""
    project.tests(
        "import shutil\n@pytest.mark.citespan(policy='citespan.toml')\ndef test_it():\n"
        "    careful()\n    shutil.rmtree('out')\n"
    )
    result = project.run("--citespan-report", "out")
    result.assert_outcomes(passed=1)
    assert "not written: No such file or directory" in text_of(result)


def test_the_page_is_about_its_test(project: Project) -> None:
    project.tests("@pytest.mark.citespan(policy='citespan.toml')\ndef test_it(): guessing()\n")
    project.run("--citespan-report", "out")
    (page,) = (project.folder / "out").glob("*.html")
    text = page.read_text(encoding="utf-8")
    assert text.lower().startswith("<!doctype html>")
    assert "test_agent.py::test_it" in text
    assert "patch_file" in text


@pytest.mark.parametrize("one, other", [("t.py::a[b/c]", "t.py::a[b-c]"), ("t.py::A", "t.py::a"), ("a::b", "a--b")])
def test_names_of_files_do_not_collide(one: str, other: str) -> None:
    assert name_of(one).lower() != name_of(other).lower()


@pytest.mark.parametrize("nodeid", ["../../etc/x::y", "t.py::t[\x00\n/:*?]", "t.py::t[\ud800]", "é" * 400, "", "-" * 9])
def test_names_of_files_are_safe_everywhere(nodeid: str) -> None:
    """One step of a path, short, no dot or dash first, the same each time."""
    name = name_of(nodeid)
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", name)
    assert len(name) <= 113
    assert os.sep not in name
    assert name == name_of(nodeid)
