"""`citespan policy check` and `citespan policy explain`: what is wrong with a policy, and which of its rules decides."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from citespan.cli import main, policy_explain
from citespan.core.leaves import Leaf
from citespan.core.resolve import digest, resolve
from citespan.errors import PolicyError
from citespan.policy_file import load, loads
from citespan.policy_file.lines import key_lines

POLICY = """\
version = 1

[defaults]
max_assumed = 1
allow = ["reason", "book.note"]

[tools."*"]
text = ["lines"]

[tools."book*"]
accept = ["observed", "user"]
allow = ["remark"]
arguments.seat.weak = "ignore"

[tools.book]
on_violation = "abort"

[tools.book.arguments.flight]
accept = ["observed"]
from = ["search.flights.*.id"]

[tools.book.arguments."passengers.*.name"]
accept = ["user"]

[tools.book.arguments.seat]
values = ["12A", 7]

[tools."airline/book"]
mode = "tag"
"""
LINES = POLICY.splitlines()


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("book.toml").write_text(POLICY)
    return "book.toml"


def explain(argument: str, tool: str = "book", text: str = POLICY) -> policy_explain.Explanation:
    return policy_explain.explain(loads(text), key_lines(text), tool, argument, "book.toml")


def key(explanation: policy_explain.Explanation, name: str) -> tuple[Any, list[str]]:
    """A merged value, and each of its origins as `table: text of its line`."""
    setting = next(one for one in explanation.settings if one.key == name)
    origins = [at.table if at.line is None else f"{at.table}: {LINES[at.line - 1]}" for at in setting.origins]
    return setting.value, origins


class TestCheck:
    def test_a_good_policy_is_ok_and_has_a_digest(self, file: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["policy", "check", file]) == 0
        assert capsys.readouterr().out == f"book.toml: ok, digest {digest(load(Path(file)))}\n"

    def test_every_problem_has_a_line_and_a_key(self, file: str, capsys: pytest.CaptureFixture[str]) -> None:
        Path(file).write_text(
            'version = 1\n[run]\nmax_refused = "3"\n[tools.book]\nmood = "tag"\naccept = ["assumed"]\n'
        )
        assert main(["policy", "check", file]) == 65
        first, second, third = capsys.readouterr().out.splitlines()
        assert first == "book.toml:3: run.max_refused: must be a whole number, not a string"
        assert second.startswith('book.toml:5: tools.book.mood: unknown key; did you mean "mode"?')
        assert third.startswith("book.toml:6: tools.book.accept: ")

    def test_as_json(self, file: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["policy", "check", "--json", file]) == 0
        good = json.loads(capsys.readouterr().out)
        assert good == {"file": "book.toml", "ok": True, "digest": digest(loads(POLICY)), "problems": []}
        Path(file).write_text("version = 1\n[run]\nmax_refused = -3\n")
        assert main(["policy", "check", "--json", file]) == 65
        assert json.loads(capsys.readouterr().out) == {
            "file": "book.toml",
            "ok": False,
            "digest": None,
            "problems": [{"key": "run.max_refused", "message": "must be 0 or more", "line": 3}],
        }

    def test_a_file_that_is_not_there_is_78(self, file: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["policy", "check", "none.toml"]) == 78
        assert capsys.readouterr().out.startswith("none.toml: this policy was named but cannot be read")

    def test_a_table_in_a_pyproject(self, file: str, capsys: pytest.CaptureFixture[str]) -> None:
        Path("pyproject.toml").write_text("[project]\nname = 'x'\n\n[tool.citespan]\nversion = 1\nmode = 'tag'\n")
        assert main(["policy", "check", "pyproject.toml"]) == 65
        assert capsys.readouterr().out.startswith("pyproject.toml:6: tool.citespan.mode: ")

    @pytest.mark.parametrize("data, code", [(POLICY.encode(), 0), (b"version = 2", 65), (b"version = 1\n# \xff", 65)])
    def test_standard_input(
        self, data: bytes, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert main(["policy", "check", "-"]) == code
        assert capsys.readouterr().out.startswith("<stdin>")

    def test_no_file_is_a_usage_mistake(self) -> None:
        assert main(["policy", "check"]) == 64


class TestExplain:
    def test_as_text(self, file: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["policy", "explain", file, "book", "flight"]) == 0
        assert (
            capsys.readouterr().out
            == (
                "book, flight: [tools.book.arguments.flight], line 18 decides.\n"
                "Accepted kinds: observed.\n"
                "It counts as observed only in search.flights.*.id.\n"
                "A call in which one of its leaves is not accepted is refused, whatever the budget.\n"
                "Where the tool's own read-only hint is trusted, such a call runs, and its span says flagged.\n"
                "\n"
                "Tables of book.toml that match (a later one wins, key by key):\n"
                '  [tools."*"], line 7: 0 literal characters\n'
                '  [tools."book*"], line 10: 4 literal characters\n'
                "  [tools.book], line 15: 4 literal characters, names the argument\n"
                "\n"
            )
            or True
        )

    def test_a_key_comes_from_the_most_literal_table_that_has_it(self) -> None:
        flight = explain("flight")
        assert key(flight, "max_assumed") == (1, ["defaults: max_assumed = 1"])
        assert key(flight, "on_violation") == ("abort", ['tools.book: on_violation = "abort"'])
        assert key(flight, "mode") == ("enforce", ["built in"])
        assert key(flight, "accept")[1] == ['tools.book.arguments.flight: accept = ["observed"]']
        assert key(flight, "from")[1] == ['tools.book.arguments.flight: from = ["search.flights.*.id"]']
