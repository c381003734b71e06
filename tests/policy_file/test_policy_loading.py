"""A policy is read from where it was named, and from nowhere else."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from citespan.core.computation import Computation
from citespan.core.policy import ArgumentRule, Bounds, Policy, ToolRule
from citespan.errors import EXIT_NOT_GUARDED, PolicyError, PolicyNotFound
from citespan.policy_file import ENVIRONMENT_VARIABLE, MAX_BYTES, find, load, loads, models

TAG = 'version = 1\n[defaults]\nmode = "tag"\n'


@pytest.fixture(autouse=True)
def _no_policy_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENVIRONMENT_VARIABLE, raising=False)


@pytest.fixture
def policy_file(tmp_path: Path) -> Path:
    path = tmp_path / "a policy.toml"
    path.write_text(TAG, encoding="utf-8")
    return path


class TestFind:
    def test_without_a_name_there_is_no_policy(self) -> None:
        assert find() is None

    def test_the_working_directory_is_never_searched(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The agent may be able to write there."""
        for name in ("citespan.toml", ".citespan.toml"):
            (tmp_path / name).write_text(TAG, encoding="utf-8")
        (tmp_path / "pyproject.toml").write_text("[tool.citespan]\nversion = 1\n", encoding="utf-8")
        monkeypatch.chdir(tmp_path)
        assert find() is None

    def test_an_argument_names_it(self, policy_file: Path) -> None:
        assert find(policy_file) == find(str(policy_file)) == loads(TAG)

    def test_the_environment_names_it(self, policy_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(policy_file))
        assert find() == loads(TAG)

    def test_an_argument_wins_over_the_environment(self, policy_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(ENVIRONMENT_VARIABLE, "missing.toml")
        assert find(policy_file) == loads(TAG)

    def test_an_empty_variable_is_an_unset_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(ENVIRONMENT_VARIABLE, "")
        assert find() is None

    @pytest.mark.parametrize("name", ["missing.toml", "", ".", "a = 1", "nul\0byte"])
    def test_named_but_not_there_is_an_error_of_its_own(self, name: str) -> None:
        with pytest.raises(PolicyNotFound) as caught:
            find(name)
        assert caught.value.exit_code == EXIT_NOT_GUARDED == 78

    def test_named_by_the_environment_but_not_there_is_the_same(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(ENVIRONMENT_VARIABLE, "missing.toml")
        with pytest.raises(PolicyNotFound, match=r"missing\.toml: this policy was named but cannot be read"):
            find()


class TestLoad:
    def test_a_path_is_a_file_and_so_is_a_text_that_looks_like_one(self, policy_file: Path) -> None:
        assert load(policy_file) == load(str(policy_file)) == loads(TAG)

    def test_a_text_with_a_line_break_or_an_equals_sign_is_the_policy_itself(self) -> None:
        assert load(TAG) == loads(TAG)
        assert load("version = 1") == Policy()

    def test_a_path_with_an_equals_sign_in_it_is_a_file(self, tmp_path: Path) -> None:
        path = tmp_path / "a=b.toml"
        path.write_text(TAG, encoding="utf-8")
        assert load(path) == find(str(path)) == loads(TAG)

    def test_a_byte_order_mark_and_windows_line_breaks_do_no_harm(self, tmp_path: Path) -> None:
        path = tmp_path / "citespan.toml"
        path.write_bytes(b"\xef\xbb\xbf" + TAG.replace("\n", "\r\n").encode())
        assert load(path) == loads(TAG)

    def test_a_file_of_more_than_a_mebibyte_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "citespan.toml"
        path.write_bytes(TAG.encode() + b"#" * MAX_BYTES)
        with pytest.raises(PolicyError, match="larger than 1048576 bytes"):
            load(path)

    def test_a_problem_in_a_text_names_the_source_it_is_given(self) -> None:
        with pytest.raises(PolicyError, match=r"^runs\.jsonl:1: version: "):
            loads("", "runs.jsonl")


class TestPyproject:
    def write(self, tmp_path: Path, text: str) -> Path:
        path = tmp_path / "pyproject.toml"
        path.write_text(text, encoding="utf-8")
        return path

    def test_the_policy_is_its_table(self, tmp_path: Path) -> None:
        path = self.write(
            tmp_path,
            '[project]\nname = "agent"\n[[tool.other]]\nx = 1\n[tool.citespan]\nversion = 1\n'
            '[tool.citespan.defaults]\nmode = "tag"\n',
        )
        assert load(path) == loads(TAG)

    def test_keys_and_lines_are_those_of_the_file(self, tmp_path: Path) -> None:
        path = self.write(
            tmp_path,
            '[tool.ruff]\nselect = ["E"]\n\n[tool.citespan]\n\n[tool.citespan.tools."list_*"]\ntxt = ["lines"]\n',
        )
        with pytest.raises(PolicyError) as caught:
            load(path)
        assert [(problem.line, problem.key) for problem in caught.value.problems] == [
            (4, "tool.citespan.version"),
            (7, 'tool.citespan.tools."list_*".txt'),
        ]

    def test_without_the_table_the_policy_that_was_named_is_not_there(self, tmp_path: Path) -> None:
        for text in ("", "[tool.other]\n"):
            with pytest.raises(PolicyNotFound, match=r"has no table \[tool\.citespan\]"):
                load(self.write(tmp_path, text))

    def test_a_table_that_is_none_is_refused_with_its_line(self, tmp_path: Path) -> None:
        with pytest.raises(PolicyError, match=r"pyproject\.toml:2: tool\.citespan: must be a table"):
            load(self.write(tmp_path, "[tool]\ncitespan = 3\n"))
        with pytest.raises(PolicyError, match=r"pyproject\.toml:1: tool: must be a table"):
            load(self.write(tmp_path, "tool = 3\n"))


EVERYTHING = """\
version = 1
[defaults]
mode = "tag"
on_violation = "abort"
max_assumed = 2
accept = ["observed", "observed"]
weak = "ignore"
allow = []
events = "both"
previews = true
[run]
max_assumed = 7
max_refused = 8
[ledger]
max_bytes = 9
max_leaves = 10
[servers.github]
trust_hints = true
[servers.other]
[tools."list_*"]
mode = "off"
on_violation = "ask"
max_assumed = 3
accept = []
weak = "same_name"
allow = ["note"]
text = ["lines", "paths", { regex = 'v\\d+', name = "version" }]
output = "computed"
confirms = ["id"]
failed_when = ["error"]
read_only = false
[tools."list_*".arguments.path]
accept = ["user", "derived"]
derive = ["sum", { round = 2 }]
from = ["list_files.files.*"]
normalize = "posix_path"
projections = ["basename"]
values = ["main"]
propose_against = "list_files.files.*"
weak = "count"
[tools.empty]
"""


class TestMeaning:
    def test_every_key_reaches_the_policy(self) -> None:
        policy = loads(EVERYTHING)
        assert policy == Policy(
            mode="tag",
            on_violation="abort",
            max_assumed=2,
            accept=frozenset({"observed"}),
            weak="ignore",
            allow=frozenset(),
            events="both",
            previews=True,
            run_max_assumed=7,
            run_max_refused=8,
            bounds=Bounds(bytes=9, leaves=10),
            servers={"github": True, "other": False},
            tools={
                "list_*": ToolRule(
                    mode="off",
                    on_violation="ask",
                    max_assumed=3,
                    accept=frozenset(),
                    weak="same_name",
                    allow=frozenset({"note"}),
                    text=("lines", "paths", "regex:version=v\\d+"),
                    output="computed",
                    confirms=("id",),
                    failed_when=("error",),
                    read_only=False,
                    arguments={
                        "path": ArgumentRule(
                            accept=frozenset({"user", "derived"}),
                            derive=(Computation("sum"), Computation("round", digits=2)),
                            sources=("list_files.files.*",),
                            normalize="posix_path",
                            projections=("basename",),
                            values=("main",),
                            propose_against="list_files.files.*",
                            weak="count",
                        )
                    },
                ),
                "empty": ToolRule(),
            },
        )

    def test_the_file_has_the_keys_that_the_core_has(self) -> None:
        """A rule that the core learns must be writable, and one that can be written must mean something."""
        for table, rule in ((models.ToolTable, ToolRule), (models.ArgumentTable, ArgumentRule)):
            assert set(table.model_fields) == {field.name for field in fields(rule)}
        assert set(models.DefaultsTable.model_fields) <= {field.name for field in fields(Policy)}

    def test_what_the_file_does_not_say_is_the_rule_itself(self) -> None:
        assert loads("version = 1\n[tools]\n[servers]\n[defaults]\n[run]\n[ledger]\n") == Policy()

    def test_a_policy_cannot_be_changed_after_it_was_read(self) -> None:
        policy = loads(EVERYTHING)
        with pytest.raises(TypeError):
            policy.tools["x"] = ToolRule()  # type: ignore[index]
        with pytest.raises(TypeError):
            policy.tools["list_*"].arguments["x"] = ArgumentRule()  # type: ignore[index]
        with pytest.raises(AttributeError):
            policy.mode = "off"  # type: ignore[misc]


def test_pydantic_is_not_loaded_before_a_policy_is_read() -> None:
    code = "import sys, citespan.policy_file as p; p.find(); sys.exit('pydantic' in sys.modules)"
    environment = {name: value for name, value in os.environ.items() if name != ENVIRONMENT_VARIABLE}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
