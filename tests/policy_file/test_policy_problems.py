"""A policy with mistakes is refused with all of them at once: key, line, and what would be right."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from citespan.core.computation import Computation
from citespan.core.projections import PROJECTIONS, Projection
from citespan.errors import EXIT_BAD_INPUT, PolicyError, Problem
from citespan.policy_file import MAX_BYTES, load, loads


def problems(text: str) -> tuple[Problem, ...]:
    with pytest.raises(PolicyError) as caught:
        loads(text)
    return caught.value.problems


def only(text: str) -> Problem:
    (problem,) = problems(text)
    return problem


def message(line: str, table: str = "tools.x") -> str:
    """What is said of one line in one table."""
    return only(f"version = 1\n[{table}]\n{line}\n").message


THREE_MISTAKES = """\
version = 1

[defaults]
mode = "enforced"
max_assumd = 1

[tools.patch_file.arguments.path]
accept = [
    "observed",
    "assumed",
]
"""


def test_three_mistakes_are_three_problems_each_with_its_key_and_line() -> None:
    found = problems(THREE_MISTAKES)
    assert [(problem.line, problem.key) for problem in found] == [
        (4, "defaults.mode"),
        (5, "defaults.max_assumd"),
        (10, "tools.patch_file.arguments.path.accept"),
    ]


def test_the_text_is_one_line_per_problem_that_an_editor_can_follow(tmp_path: Path) -> None:
    path = tmp_path / "citespan.toml"
    path.write_text(THREE_MISTAKES, encoding="utf-8")
    with pytest.raises(PolicyError) as caught:
        load(path)
    first, second, third = str(caught.value).splitlines()
    assert first == (
        f'{path}:4: defaults.mode: must be "enforce", "tag" or "off", not "enforced"; did you mean "enforce"?'
    )
    assert second == f'{path}:5: defaults.max_assumd: unknown key; did you mean "max_assumed"?'
    assert third.startswith(f'{path}:10: tools.patch_file.arguments.path.accept: "assumed" cannot be accepted')
    assert caught.value.exit_code == EXIT_BAD_INPUT
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_assumed_is_no_kind_to_accept_and_the_problem_says_what_to_use_instead() -> None:
    said = message('accept = ["observed", "assumed"]')
    assert "max_assumed" in said
    assert 'mode = "tag"' in said


class TestUnknownKeys:
    def test_the_nearest_known_key_is_suggested(self) -> None:
        assert only("version = 1\n[tool.x]\n") == Problem("tool", 'unknown key; did you mean "tools"?', 2)
        assert message("read-only = true") == 'unknown key; did you mean "read_only"?'

    def test_without_a_near_one_all_known_keys_are_listed(self) -> None:
        assert message("qqq = 1", "run") == "unknown key; known here: max_assumed, max_refused"

    def test_a_key_of_another_table_is_sent_there(self) -> None:
        assert message("max_bytes = 1", "run") == "unknown key here; it belongs in [ledger]"
        assert message('mode = "tag"', "servers.x") == ('unknown key here; it belongs in [defaults] or [tools."glob"]')

    def test_every_table_refuses_them(self) -> None:
        for table in ("defaults", "run", "ledger", "servers.a", "tools.a", "tools.a.arguments.b"):
            found = only(f"version = 1\n[{table}]\nzzzz = 1\n")
            assert (found.key, found.line) == (f"{table}.zzzz", 3)

    def test_a_leaf_inside_an_argument_needs_quotes(self) -> None:
        found = only('version = 1\n[tools.x.arguments.files.path]\naccept = ["observed"]\n')
        assert found.message.endswith('named by one quoted key: arguments."files.path"')

    def test_a_pyproject_table_in_a_file_of_its_own_is_explained(self) -> None:
        misplaced, missing = problems("[tool.citespan]\nversion = 1\n")
        assert missing.key == "version"
        assert "pyproject.toml" in misplaced.message


class TestTypes:
    def test_a_wrong_type_deep_in_an_inline_table_has_its_key_and_line(self) -> None:
        inline = 'arguments = { a = { weak = "count", from = "l.f" }, "b.c" = { derive = 3 } }'
        text = f"version = 1\n[tools.x]\n\n{inline}\n"
        assert problems(text) == (
            Problem('tools.x.arguments."b.c".derive', "must be an array, not a whole number", 4),
            Problem("tools.x.arguments.a.from", 'must be an array, not a string: write ["l.f"]', 4),
        )

    def test_nothing_is_converted(self) -> None:
        assert message('max_assumed = "1"') == "must be a whole number, not a string"
        assert message("max_assumed = true") == "must be a whole number, not a boolean"
        assert message("max_assumed = 1.0") == "must be a whole number, not a number with a fraction"
        assert message("read_only = 1") == "must be true or false, not a whole number"
        assert message("mode = 2000-01-01") == 'must be "enforce", "tag" or "off", not a date or time'
        assert message("arguments = []") == "must be a table, not an array"

    def test_an_item_is_named_by_its_position(self) -> None:
        found = only('version = 1\n[tools.x]\nconfirms = [\n  "id",\n  { a = 1 },\n]\n')
        assert found == Problem("tools.x.confirms", "item 2 must be a string, not a table", 5)

    def test_a_table_is_a_table(self) -> None:
        assert only("version = 1\nrun = 3\n") == Problem("run", "must be a table, not a whole number", 2)
        assert only("version = 1\n[[tools]]\n") == Problem("tools", "must be a table, not an array", 2)

    def test_a_server_has_a_name(self) -> None:
        assert only('version = 1\n[servers.""]\n') == Problem('servers.""', "a name cannot be empty", 2)

    def test_counts_are_not_negative_and_bounds_are_not_zero(self) -> None:
        assert message("max_assumed = -1") == "must be 0 or more"
        assert message("max_refused = -1", "run") == "must be 0 or more"
        assert message("max_bytes = 0", "ledger") == "must be 1 or more"
        assert message("max_assumed = 9223372036854775808") == "must be 9223372036854775807 or less"


class TestVersion:
    @pytest.mark.parametrize(
        "text, said",
        [
            ("", "is missing: start the file with version = 1"),
            ("version = 2", "2 is a version that is not known: this citespan reads version 1"),
            ("version = true", "must be a whole number, not a boolean"),
            ('version = "1"', "must be a whole number, not a string"),
            ("version = 1.0", "must be a whole number, not a number with a fraction"),
        ],
    )
    def test_it_is_the_number_one_and_it_is_there(self, text: str, said: str) -> None:
        assert only(text) == Problem("version", said, 1)


class TestNames:
    @pytest.mark.parametrize("row", PROJECTIONS.values(), ids=lambda row: row.name)
    def test_a_projection_is_taken_at_its_stage(self, row: Projection) -> None:
        text = f'version = 1\n[tools.x]\ntext = ["{row.name}"]\n'
        argument = f'version = 1\n[tools.x.arguments.y]\nprojections = ["{row.name}"]\n'
        if row.name == "regex":
            assert only(text).message.startswith("a pattern is declared as { regex = ")
        elif row.stage == "text":
            assert loads(text).tools["x"].text == (row.name,)
        else:
            assert loads(argument).tools["x"].arguments["y"].projections == (row.name,)
        if row.stage == "default":
            assert only(text).message == f'"{row.name}" is always admitted and need not be declared'
        elif row.stage == "argument":
            assert "declared for an argument" in only(text).message
        else:
            assert "declared for a tool's output" in only(argument).message

    def test_a_misspelt_name_is_answered_with_the_nearest(self) -> None:
        assert message('text = ["linez"]') == '"linez" is no text projection; did you mean "lines"?'
        assert message('accept = ["Observed"]') == '"Observed" is no kind; did you mean "observed"?'
        assert message('normalize = "lower"', "tools.x.arguments.y") == (
            '"lower" is no normalization; use "posix_path", "casefold" or "number"'
        )

    def test_what_is_quoted_back_is_short_and_on_one_line(self) -> None:
        said = message(f'text = ["a\\u001b[31m\\n{"x" * 500}"]')
        assert said.startswith('"a\\x1b[31m\\nxxx')
        assert len(said) < 300


class TestGlobs:
    @pytest.mark.parametrize(
        "glob", ["list_*", "github/list_*", "github/*", "*", "get_?", "read_[ab]", "[]]x", "[!]]", "a[[]b"]
    )
    def test_these_match_tools(self, glob: str) -> None:
        assert list(loads(f'version = 1\n[tools."{glob}"]\n').tools) == [glob]

    @pytest.mark.parametrize("glob", ["", " ", " list", "list\\n", "/list", "github/", "read_[ab", "[]", "[!]"])
    def test_these_match_none_and_are_refused(self, glob: str) -> None:
        found = only(f'version = 1\n[tools."{glob}"]\n')
        assert found.line == 2
        assert found.key.startswith('tools."')

    def test_two_that_match_the_same_tools_would_always_tie(self) -> None:
        found = only('version = 1\n[tools."list_*"]\n[tools."list_**"]\n')
        assert (found.line, found.key) == (3, 'tools."list_**"')
        assert '"list_*"' in found.message

    def test_the_same_table_twice_is_no_toml(self) -> None:
        found = only("version = 1\n[tools.a]\n[tools.a]\n")
        assert found == Problem("", "not valid TOML: Cannot declare tools.a twice (column 9)", 3)


class TestFields:
    @pytest.mark.parametrize(
        "field",
        [
            "list_files.files.*",
            "github/list_files.files.*",
            "ls.*",
            "ls.result",
            "get.*.items.*.id",
            "a-b.c_d",
            "list_*.files.*",
            "tools.example.com/list_files.files.*",
            "tools.example.com:8080/list.*",
            "*.id",
        ],
    )
    def test_these_are_fields(self, field: str) -> None:
        lines = f'from = ["{field}"]\npropose_against = "{field}"\n'
        rule = loads(f"version = 1\n[tools.x.arguments.y]\n{lines}").tools["x"].arguments["y"]
        assert rule.sources == (field,)
        assert rule.propose_against == field

    @pytest.mark.parametrize(
        "field, said",
        [
            ("", "cannot be empty"),
            ("list_files", "names a tool but no field of its result"),
            ("git*/list.files", "no other glob"),
            ("list_?.files", "no other glob"),
            ("/list.files", "does not start with a tool's name"),
            ("tools.example.com/list", "names a tool but no field of its result"),
            ("tools.example.com/.files", "does not start with a tool's name"),
            ("tools.*.com/list.files", "no other glob"),
            (".files", "does not start with a tool's name"),
            ("list..files", "has an empty step"),
            ("list.files.", "has an empty step"),
            ("list.files.0", '"0" is an index, which a field writes as *'),
            ("list.a@b:org.x", "a key that is data, which a field writes as *"),
            ("list.files ", "outer blanks"),
        ],
    )
    def test_these_would_never_match_and_are_refused(self, field: str, said: str) -> None:
        for line in (f'from = ["{field}"]', f'propose_against = "{field}"'):
            assert said in message(line, "tools.x.arguments.y")

    def test_an_empty_list_takes_back_what_a_less_specific_table_says(self) -> None:
        text = "version = 1\n[tools.x]\ntext = []\n[tools.x.arguments.y]\nfrom = []\n"
        rule = loads(text).tools["x"]
        assert rule.text == ()
        assert rule.arguments["y"].sources == ()

    def test_a_confirmed_field_is_one_of_the_tool_s_own_result(self) -> None:
        assert loads('version = 1\n[tools.x]\nconfirms = ["id", "items.*.id"]\n').tools["x"].confirms == (
            "id",
            "items.*.id",
        )
        assert '"0" is an index' in message('confirms = ["items.0.id"]')
        assert "empty step" in message('confirms = ["items..id"]')

    def test_a_failure_is_a_path_a_path_with_a_value_or_the_start_of_a_text(self) -> None:
        marks = ("error", "status=failed", "^Error: ")
        text = 'version = 1\n[tools.x]\nfailed_when = ["error", "status=failed", "^Error: "]\n'
        assert loads(text).tools["x"].failed_when == marks
        assert "needs the text" in message('failed_when = ["^"]')
        assert "leave them out" in message('failed_when = ["^ Error"]')
        assert "empty step" in message('failed_when = ["a..b=1"]')
        assert "cannot be empty" in message('failed_when = ["=1"]')


class TestArguments:
    def test_an_argument_or_a_leaf_pattern_inside_it_may_have_rules(self) -> None:
        policy = loads('version = 1\n[tools.x.arguments]\npath = {}\n"files.*.path" = {}\n')
        assert list(policy.tools["x"].arguments) == ["path", "files.*.path"]

    @pytest.mark.parametrize(
        "name, said", [("", "empty"), ("a..b", "empty step"), ("files.0.path", "which is written *")]
    )
    def test_other_names_are_refused(self, name: str, said: str) -> None:
        assert said in message("weak = 'count'", f'tools.x.arguments."{name}"')

    def test_allowed_arguments_are_whole_and_named(self) -> None:
        policy = loads('version = 1\n[defaults]\nallow = ["reason", "send.body"]\n')
        assert policy.allow == {"reason", "send.body"}
        assert "globs are not read here" in message('allow = ["*"]', "defaults")
        assert "neither" in message('allow = [".body"]', "defaults")
        assert "the argument alone" in message('allow = ["send.body"]')

    def test_declared_values_are_json_scalars(self) -> None:
        text = 'version = 1\n[tools.x.arguments.y]\nvalues = ["a", 1, 1.5, true]\n'
        assert loads(text).tools["x"].arguments["y"].values == ("a", 1, 1.5, True)
        for value in ("nan", "-inf", "[1]", "{ a = 1 }", "1979-05-27"):
            assert message(f"values = [1, {value}]", "tools.x.arguments.y").startswith("item 2: ")

    def test_a_computation_is_a_name_or_a_table_of_one(self) -> None:
        where = "tools.x.arguments.y"
        assert "is no computation; did you mean" in message('derive = ["summ"]', where)
        assert "exactly one" in message("derive = [{ round = 2, sum = 1 }]", where)
        assert "its name" in message("derive = [3]", where)

    @pytest.mark.parametrize(
        "line, said",
        [
            ("derive = [{ round = 99 }]", "from -6 to 12"),
            ("derive = [{ sum = ['list_files'] }]", "names a tool but no field of its result"),
            ("derive = [{ date_offset = 'soon' }]", "no quantity of time"),
            ("derive = [{ date_offset = { by = 'a.0', unit = 'days' } }]", '"0" is an index'),
            ("derive = ['template']", "a template is a text"),
            ("derive = [{ template = '{id}' }]", "needs literal text"),
            ("derive = [{ template = 'x{a.0}' }]", '"0" is an index'),
            ("derive = ['total']", "total is a table with of and records"),
            ("derive = [{ total = { of = ['a.*.b'] } }]", "total is a table with of and records"),
            ("derive = [{ total = { of = ['a.0.b'], records = 'c' } }]", '"0" is an index'),
            ("derive = [{ total = { of = ['a.*.b'], records = 'c.0.d' } }]", "a rule holds for every index"),
            ("derive = [{ total = { of = ['a.*.b'], records = 'c', times = 'd.*' } }]", "a list is named itself"),
            ("derive = [{ percent = { digits = 1 } }]", "percent has no 'digits'; it reads of, form, round"),
        ],
    )
    def test_its_parameter_is_checked(self, line: str, said: str) -> None:
        assert said in message(line, "tools.x.arguments.y")

    def test_computations_reach_the_policy_as_the_core_reads_them(self) -> None:
        lines = 'derive = ["round", { sum = ["get_rent.amount", "user"] }, { template = "image_{id}.jpg" }]'
        rule = loads(f"version = 1\n[tools.x.arguments.y]\n{lines}\n").tools["x"].arguments["y"]
        assert rule.derive == (
            Computation("round", digits=0),
            Computation("sum", of=("get_rent.amount", "user")),
            Computation("template", template="image_{id}.jpg"),
        )

    def test_a_pattern_of_a_text_is_named_and_linear(self) -> None:
        line = """text = ["lines", { regex = '#(\\d+)', name = "issue" }]"""
        assert loads(f"version = 1\n[tools.x]\n{line}\n").tools["x"].text == ("lines", r"regex:issue=#(\d+)")
        assert "needs a name" in message("text = [{ regex = 'a' }]")
        assert "needs regex" in message("text = [{ name = 'a' }]")
        assert "has no key" in message("text = [{ regex = 'a', name = 'a', flags = 'i' }]")
        assert "only a single character or class" in message("text = [{ regex = '(a+)+', name = 'a' }]")
        assert "can start with" in message("text = [{ regex = '.*b', name = 'a' }]")
        assert "must be a projection's name" in message("text = [3]")


class TestSyntax:
    @pytest.mark.parametrize(
        "text, line",
        [
            ("version = 1\n[defaults\n", 2),
            ("version = 1\n\nmode = enforce\n", 3),
            ("version = 1\nmode =", 2),
            ("version = 1\na = '''\n\n\n", 2),
            ("version = 1\nversion = 1\n", 2),
            ("version = 1\r\n\r\nx = \r\n", 3),
        ],
    )
    def test_a_syntax_error_has_its_line(self, text: str, line: int) -> None:
        found = only(text)
        assert (found.key, found.line) == ("", line)
        assert found.message.startswith("not valid TOML: ")

    def test_hostile_files_are_refused_and_not_followed(self) -> None:
        assert "larger than" in only("#" * (MAX_BYTES + 1)).message
        assert "nested too deep" in only("a = " + "[" * 50_000 + "]" * 50_000).message
        assert "parts" in only("a" + ".a" * 100_000 + " = 1").message
        assert "thousands of digits" in only("a = " + "9" * 5_000).message
        assert only('version = 1\na = "\ud800"').line == 2

    def test_a_file_that_is_not_text_is_refused_with_the_line(self, tmp_path: Path) -> None:
        path = tmp_path / "citespan.toml"
        path.write_bytes(b"version = 1\n# \xff\n")
        with pytest.raises(PolicyError) as caught:
            load(path)
        assert str(caught.value) == f"{path}:2: is not UTF-8 text"
