"""The shipped JSON Schema says what the reader says, so that an editor can say it first."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import jsonschema
import pytest
from tests.policy_file.test_policy_loading import EVERYTHING

from citespan.errors import EXIT_OK, EXIT_USAGE, EXIT_VIOLATIONS, PolicyError
from citespan.policy_file import loads, schema

SHIPPED = json.loads(schema.PATH.read_text(encoding="utf-8"))


def accepts(document: dict[str, Any]) -> bool:
    return bool(jsonschema.Draft202012Validator(SHIPPED).is_valid(document))


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SHIPPED)


def test_it_is_up_to_date() -> None:
    assert schema.main(["--check"]) == EXIT_OK


def test_a_check_changes_nothing_and_fails_where_it_is_out_of_date(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(schema, "PATH", tmp_path / "citespan.schema.json")
    assert schema.main(["--check"]) == EXIT_VIOLATIONS
    assert "python -m citespan.policy_file.schema" in capsys.readouterr().err
    assert not schema.PATH.exists()
    assert schema.main([]) == EXIT_OK
    assert schema.main(["--check"]) == EXIT_OK
    assert schema.main(["--chekc"]) == EXIT_USAGE


def test_every_table_and_key_is_described() -> None:
    for table in (SHIPPED, *SHIPPED["$defs"].values()):
        assert table["description"]
        for name, key in table["properties"].items():
            described = key if "$ref" not in key else SHIPPED["$defs"][key["$ref"].rpartition("/")[2]]
            assert described["description"], name


def test_it_accepts_every_key() -> None:
    assert accepts(tomllib.loads(EVERYTHING))


@pytest.mark.parametrize(
    "line",
    [
        "version = 2",
        'version = "1"',
        "[defaults]\nmode = 'enforced'",
        "[defaults]\nmax_assumd = 1",
        "[defaults]\naccept = ['assumed']",
        "[defaults]\nallow = ['*']",
        "[run]\nmax_refused = -1",
        "[ledger]\nmax_bytes = 0",
        "[servers.a]\ntrust_hints = 1",
        "[tools.'']",
        "[tools.'a/']",
        "[tools.a]\ntext = ['json']",
        "[tools.a]\ntext = 'lines'",
        "[tools.a]\nallow = ['a.b']",
        "[tools.a]\ntext = ['regex:x']",
        "[tools.a]\ntext = [{ regex = 'a' }]",
        "[tools.a]\ntext = [{ regex = 'a', name = 'x y' }]",
        "[tools.a]\ntext = [{ regex = 'a', name = 'x', flags = 1 }]",
        "[tools.a.arguments.b]\nfrom = ['a.b/list']",
        "[tools.a.arguments.b]\nfrom = ['list']",
        "[tools.a.arguments.b]\nfrom = ['/list.files']",
        "[tools.a.arguments.b]\nfrom = ['list..files']",
        "[tools.a.arguments.b]\nvalues = [[1]]",
        "[tools.a.arguments.b]\nnormalize = 'lines'",
        "[tools.a.arguments.b]\nderive = [{}]",
        "[tools.a.arguments.b]\nderive = ['template']",
        "[tools.a.arguments.b]\nderive = ['total']",
        "[tools.a.arguments.b]\nderive = [{ total = ['a.b'] }]",
        "[tools.a.arguments.b]\nderive = [{ total = { of = ['a.b'] } }]",
        "[tools.a.arguments.b]\nderive = [{ total = { of = ['a.b'], records = 'c..d' } }]",
        "[tools.a.arguments.b]\nderive = [{ total = { of = ['a.b'], records = 'c', times = 'd.*' } }]",
        "[tools.a.arguments.b]\nderive = [{ summ = 2 }]",
        "[tools.a.arguments.b]\nderive = [{ sum = 5 }]",
        "[tools.a.arguments.b]\nderive = [{ sum = ['list'] }]",
        "[tools.a.arguments.b]\nderive = [{ sum = { digits = 2 } }]",
        "[tools.a.arguments.b]\nderive = [{ round = '2' }]",
        "[tools.a.arguments.b]\nderive = [{ percent = 'most' }]",
        "[tools.a.arguments.b]\nderive = [{ expression = false }]",
        "[tools.a.arguments.'b..c']",
    ],
)
def test_it_refuses_what_the_reader_refuses(line: str) -> None:
    text = line if line.startswith("version") else f"version = 1\n{line}\n"
    with pytest.raises(PolicyError):
        loads(text)
    assert not accepts(tomllib.loads(text))
