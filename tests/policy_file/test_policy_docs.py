"""The example policy and the page about policies are right, and neither leaves a key out."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from citespan.core.computation import COMPUTATIONS
from citespan.core.policy import Policy
from citespan.core.projections import PROJECTIONS
from citespan.core.resolve import digest, resolve
from citespan.errors import PolicyError
from citespan.policy_file import load, loads, models, problems, schema

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "citespan.toml"
PAGE = (ROOT / "docs" / "policy.md").read_text(encoding="utf-8")
SCHEMA = json.loads(schema.PATH.read_text(encoding="utf-8"))

_BLOCK = re.compile(r"^```toml ?(\w*)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
BLOCKS = [(found[1], found[2]) for found in _BLOCK.finditer(PAGE)]
GOOD = [text for kind, text in BLOCKS if kind != "error"]
WRONG = re.findall(r"^```toml error\n(.*?)^```\n\n```text\n(.*?)^```\n", PAGE, re.MULTILINE | re.DOTALL)


def whole(text: str) -> str:
    """A block as a file of its own; the blocks about one key leave the version out."""
    return text if "version = " in text else f"version = 1\n{text}"


def keys_of(document: dict[str, Any]) -> set[tuple[str, str]]:
    """(kind of table, key) for every key of a policy."""
    found = {("", key) for key in document}
    for name in ("defaults", "run", "ledger"):
        found |= {(name, key) for key in document.get(name, {})}
    for server in document.get("servers", {}).values():
        found |= {("servers.NAME", key) for key in server}
    for tool in document.get("tools", {}).values():
        found |= {('tools."glob"', key) for key in tool}
        for argument in tool.get("arguments", {}).values():
            found |= {('tools."glob".arguments.NAME', key) for key in argument}
    return found


def all_keys() -> set[tuple[str, str]]:
    tables: dict[str, type[models.Table]] = {"": models.PolicyTable, **problems.TABLES}
    return {
        (header, field.alias or name) for header, table in tables.items() for name, field in table.model_fields.items()
    }


class TestExample:
    def test_it_loads(self) -> None:
        policy = load(EXAMPLE)
        assert policy.tools["patch_file"].arguments["path"].sources == ("list_files.files.*",)

    def test_it_passes_the_shipped_schema(self) -> None:
        jsonschema.validate(tomllib.loads(EXAMPLE.read_text(encoding="utf-8")), SCHEMA)

    def test_it_has_every_key(self) -> None:
        assert keys_of(tomllib.loads(EXAMPLE.read_text(encoding="utf-8"))) == all_keys()

    def test_what_it_says_of_globs_is_so(self) -> None:
        policy = load(EXAMPLE)
        assert resolve(policy, "list_files", None).text == ("lines",)
        commits = resolve(policy, "list_commits", "github")
        assert (commits.mode, commits.text, commits.hint_trusted) == ("tag", ("git_sha",), True)
        assert resolve(policy, "get_issue", "github").confirms == ("id", "labels.*.name")
        assert resolve(policy, "get_issue", None).confirms == ()


class TestPage:
    @pytest.mark.parametrize("text", GOOD)
    def test_every_block_is_a_policy(self, text: str) -> None:
        loads(whole(text))
        jsonschema.validate(tomllib.loads(whole(text)), SCHEMA)

    def test_every_key_has_an_example(self) -> None:
        found = set[tuple[str, str]]().union(*(keys_of(tomllib.loads(whole(text))) for text in GOOD))
        assert found == all_keys()

    def test_the_defaults_are_as_it_says(self) -> None:
        (text,) = (text for kind, text in BLOCKS if kind == "defaults")
        assert loads(text) == Policy()

    def test_keys_merge_as_it_says(self) -> None:
        (text,) = (text for kind, text in BLOCKS if kind == "merge")
        rules = resolve(loads(text), "list_files", None)
        assert (rules.mode, rules.text, rules.max_assumed) == ("tag", ("lines",), 1)

    @pytest.mark.parametrize("text, said", WRONG)
    def test_mistakes_are_reported_as_it_says(self, text: str, said: str) -> None:
        with pytest.raises(PolicyError) as caught:
            loads(text, "citespan.toml")
        assert f"{caught.value}\n" == said

    def test_every_projection_is_listed_as_the_table_has_it(self) -> None:
        for row in PROJECTIONS.values():
            assert f"| `{row.name}` | {row.stage} | {row.brief} |\n" in PAGE

    def test_every_computation_is_listed_with_its_risk_where_the_page_says(self) -> None:
        assert "](projections.md#declared-computations)" in PAGE
        listed = (
            (ROOT / "docs" / "projections.md").read_text(encoding="utf-8").partition("\n## Declared computations\n")[2]
        )
        for row in COMPUTATIONS.values():
            assert f"| `{row.name}` | {row.brief} | {row.risk} |\n" in listed

    def test_every_link_inside_it_has_a_heading(self) -> None:
        headings = [
            re.sub(r"[^\w -]", "", line.lstrip("# ").lower()).replace(" ", "-")
            for line in re.sub(r"^```.*?^```", "", PAGE, flags=re.MULTILINE | re.DOTALL).splitlines()
            if line.startswith("#")
        ]
        anchors = {
            name if name not in headings[:at] else f"{name}-{headings[:at].count(name)}"
            for at, name in enumerate(headings)
        }
        assert set(re.findall(r"\]\(#([\w-]+)\)", PAGE)) <= anchors


def test_the_digest_of_a_policy_names_its_meaning_and_not_its_layout() -> None:
    first = 'version = 1\n[run]\nmax_refused = 3\n[tools.a]\nmode = "tag"\naccept = ["user", "observed"]\n'
    second = 'tools."a" = { accept = ["observed", "user"], mode = "tag" } # b\nrun.max_refused = 3\nversion = 1\n'
    assert digest(loads(first)) == digest(loads(second))
    assert digest(loads(first)) != digest(loads(first.replace("3", "4")))
