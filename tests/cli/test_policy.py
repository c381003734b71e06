"""`citespan policy check` says what is wrong with a policy, `citespan policy explain` which of its rules decides."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from citespan.cli import main, policy_explain
from citespan.core.leaves import Leaf
from citespan.core.resolve import digest, resolve
from citespan.policy_file import load, loads
from citespan.policy_file.lines import key_lines

POLICY = """\
version = 1

[defaults]
max_assumed = 1
allow = ["reason", "book_seat.note"]

[tools."*"]
text = ["lines"]

[tools."book*"]
accept = ["observed", "user"]
allow = ["remark"]
arguments.seat.weak = "ignore"

[tools.book_seat]
on_violation = "abort"

[tools.book_seat.arguments.flight]
accept = ["observed"]
from = ["search.flights.*.id"]

[tools.book_seat.arguments."passengers.*.name"]
accept = ["user"]

[tools.book_seat.arguments.seat]
values = ["12A", 7]

[tools."airline/book_seat"]
mode = "tag"

[tools.browse]
mode = "off"
"""
LINES = POLICY.splitlines()


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("book.toml").write_text(POLICY)
    return "book.toml"


def explain(argument: str, tool: str = "book_seat", text: str = POLICY) -> policy_explain.Explanation:
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

    def test_several_files_are_checked_each_and_the_worst_decides(
        self, file: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        Path("bad.toml").write_text("version = 2\n")
        assert main(["policy", "check", file, file]) == 0
        assert [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()] == [file, file]
        assert main(["policy", "check", "bad.toml", file]) == 65
        assert [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()] == ["bad.toml", file]
        assert main(["policy", "check", "bad.toml", "none.toml", file]) == 78
        assert len(capsys.readouterr().out.splitlines()) == 3

    def test_several_files_as_json_are_an_object_each(self, file: str, capsys: pytest.CaptureFixture[str]) -> None:
        Path("bad.toml").write_text("version = 2\n")
        assert main(["policy", "check", "--json", "bad.toml", file]) == 65
        decoder, text, found = json.JSONDecoder(), capsys.readouterr().out, []
        while text := text.lstrip():
            one, end = decoder.raw_decode(text)
            found.append((one["file"], one["ok"]))
            text = text[end:]
        assert found == [("bad.toml", False), (file, True)]

    def test_no_file_is_a_usage_mistake(self) -> None:
        assert main(["policy", "check"]) == 64


TEXT = """\
book_seat, flight: [tools.book_seat.arguments.flight], line 18 decides.
Accepted kinds: observed.
It counts as observed only in search.flights.*.id.
A call in which one of its leaves is not accepted is refused, whatever the budget.
Where the tool's own read-only hint is trusted, such a call runs, and its span says flagged.

Tables of book.toml that match (a later one wins, key by key):
  [tools."*"], line 7: 0 literal characters
  [tools."book*"], line 10: 4 literal characters
  [tools.book_seat], line 15: 9 literal characters, names the argument

mode             enforce               built in
on_violation     abort                 [tools.book_seat], line 16
max_assumed      1                     [defaults], line 4
accept           observed              [tools.book_seat.arguments.flight], line 19
weak             count                 built in
allow            note, reason, remark  [defaults], line 5
from             search.flights.*.id   [tools.book_seat.arguments.flight], line 20
run.max_assumed  5                     built in
run.max_refused  20                    built in
digest           DIGEST
"""


class TestExplain:
    def test_as_text(self, file: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["policy", "explain", file, "book_seat", "flight"]) == 0
        assert capsys.readouterr().out == TEXT.replace("DIGEST", digest(loads(POLICY)))

    def test_as_json(self, file: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["policy", "explain", "--json", file, "book_seat", "seat"]) == 0
        said = json.loads(capsys.readouterr().out)
        assert said["decides"] == {"table": "tools.book_seat.arguments.seat", "line": 25}
        assert said["tables"][1] == {"glob": "book*", "literal": 4, "names_argument": True, "line": 10}
        assert said["keys"]["values"] == {
            "value": ["12A", 7],
            "origins": [{"table": "tools.book_seat.arguments.seat", "line": 26}],
        }
        assert said["keys"]["accept"]["value"] == ["observed", "user"]
        assert said["keys"]["from"] == {"value": None, "origins": []}

    def test_a_key_comes_from_the_most_literal_table_that_has_it(self) -> None:
        flight = explain("flight")
        assert key(flight, "max_assumed") == (1, ["defaults: max_assumed = 1"])
        assert key(flight, "on_violation") == ("abort", ['tools.book_seat: on_violation = "abort"'])
        assert key(flight, "mode") == ("enforce", ["built in"])
        assert key(flight, "accept")[1] == ['tools.book_seat.arguments.flight: accept = ["observed"]']
        assert key(flight, "from")[1] == ['tools.book_seat.arguments.flight: from = ["search.flights.*.id"]']

    def test_what_an_argument_does_not_say_its_tool_does(self) -> None:
        assert key(explain("class"), "accept")[1] == ['tools."book*": accept = ["observed", "user"]']
        assert key(explain("class", "fly"), "accept")[1] == ["built in"]

    def test_tables_of_one_argument_are_merged_too(self) -> None:
        seat = explain("seat")
        assert key(seat, "weak") == ("ignore", ['tools."book*".arguments.seat: arguments.seat.weak = "ignore"'])
        assert key(seat, "values") == (("12A", 7), ['tools.book_seat.arguments.seat: values = ["12A", 7]'])

    @pytest.mark.parametrize("leaf", ["passengers.0.name", "passengers.*.name"])
    def test_a_leaf_inside_an_argument_has_the_rule_of_its_own_pattern(self, leaf: str) -> None:
        assert explain(leaf).decides.table == 'tools.book_seat.arguments."passengers.*.name"'
        assert key(explain(leaf), "accept")[0] == {"user"}

    def test_without_one_it_has_its_arguments(self) -> None:
        assert explain("flight.code").decides.table == "tools.book_seat.arguments.flight"
        assert explain("passengers.0.age").decides.table == "tools.book_seat"

    def test_an_allowed_argument_is_settled_by_what_allows_it(self) -> None:
        assert explain("remark").decides.table == 'tools."book*"'
        assert explain("note").decides.table == "defaults"
        assert explain("reason", "fly").why == ("The argument is allowed: it is tagged, and never counted.",)
        assert "tagged" not in str(explain("note", "fly").why)

    def test_a_table_that_says_nothing_of_arguments_settles_nothing(self) -> None:
        assert explain("x", "fly").decides == policy_explain.Origin("defaults", 3)
        assert explain("x", "fly", "version = 1\n").decides.render() == "built in"

    def test_modes_in_words(self) -> None:
        assert explain("x", "browse").decides.table == "tools.browse"
        assert explain("x", "browse").why == ('Nothing is held against a call of this tool: mode is "off".',)
        assert "A call with more runs all the same, and its span says flagged." in explain("x", "airline/book_seat").why
        assert "Others: at most 1 in a call, all its arguments together, and at most 5 in a run." in explain("x").why

    def test_a_tool_may_be_named_with_its_server(self) -> None:
        tables = [match.glob for match in explain("x", "airline/book_seat").matches]
        assert tables == ["*", "book*", "book_seat", "airline/book_seat"]
        assert [match.glob for match in explain("x").matches] == tables[:3]

    @pytest.mark.parametrize("tool", ["book_seat", "airline/book_seat", "book", "fly", "browse"])
    @pytest.mark.parametrize("argument", ["flight", "seat", "note", "passengers.0.name", "x"])
    def test_it_says_what_the_guard_goes_by(self, tool: str, argument: str) -> None:
        server, _, name = tool.rpartition("/")
        rules = resolve(loads(POLICY), name, server or None)
        path = tuple(int(step) if step.isdecimal() else step for step in argument.split("."))
        rule = rules.argument(Leaf(path, None, "value", path))
        explanation = explain(argument, tool)
        assert {setting.key: setting.value for setting in explanation.settings} == {
            **{name: getattr(rules, name) for name in ("mode", "on_violation", "max_assumed", "read_only", "allow")},
            "accept": rules.accept if rule.accept is None else rule.accept,
            "weak": rule.weak or rules.weak,
            "from": rule.sources,
            "values": rule.values or None,
            **{name: getattr(rule, name) or None for name in ("normalize", "projections", "derive", "propose_against")},
            "run.max_assumed": 5,
            "run.max_refused": 20,
        }

    def test_tables_that_tie_are_an_error_with_the_line_of_the_later(
        self, file: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        Path(file).write_text('version = 1\n[tools."book*"]\n[tools."*seat"]\n[tools."*_bag"]\n')
        assert main(["policy", "explain", file, "book_bag", "x"]) == 65
        assert main(["policy", "explain", file, "rent_bag", "x"]) == 0
        capsys.readouterr()
        assert main(["policy", "explain", file, "book_seat", "x"]) == 65
        assert capsys.readouterr().err == (
            'citespan: book.toml:3: tools."*seat": ties with tools."book*" for book_seat: '
            "both have 4 literal characters\n"
        )

    @pytest.mark.parametrize("text, code", [("version = 2\n", 65), (None, 78)])
    def test_a_policy_that_cannot_be_used(self, text: str | None, code: int, file: str) -> None:
        Path(file).unlink()
        if text is not None:
            Path(file).write_text(text)
        assert main(["policy", "explain", file, "book_seat", "x"]) == code

    def test_a_table_in_a_pyproject(self, file: str, capsys: pytest.CaptureFixture[str]) -> None:
        Path("pyproject.toml").write_text('[tool.citespan]\nversion = 1\n[tool.citespan.tools.fly]\nmode = "tag"\n')
        assert main(["policy", "explain", "pyproject.toml", "fly", "to"]) == 0
        assert capsys.readouterr().out.startswith("fly, to: [tools.fly], line 3 decides.\n")
