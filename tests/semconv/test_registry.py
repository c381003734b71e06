"""The semantic-convention registry: valid in its format, and no reference leads nowhere."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

FOLDER = Path(__file__).parents[2] / "semconv"
SCHEMA = json.loads((FOLDER / "definition-2.schema.json").read_text())
REGISTRY = yaml.safe_load((FOLDER / "citespan.yaml").read_text())
#: an attribute that is a plain text
STRING = next(index for index, each in enumerate(REGISTRY["attributes"]) if each["type"] == "string")
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_the_registry_is_valid() -> None:
    """Every key, type, level and example is one that the format `definition/2` has."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert [error.message for error in VALIDATOR.iter_errors(REGISTRY)] == []


@pytest.mark.parametrize(
    "path, value",
    [
        (("file_format",), "definition/1"),
        (("attributes", 0, "stability"), "experimental"),
        (("attributes", 0, "colour"), "red"),
        (("attributes", STRING, "type"), "text"),
        (("attributes", STRING, "examples"), [1]),
        (("spans", 0, "kind"), "inner"),
        (("metrics", 0, "instrument"), "timer"),
    ],
    ids=str,
)
def test_a_mistake_is_seen(path: tuple[str | int, ...], value: Any) -> None:
    """The schema is closed: what the format does not have is refused."""
    changed = copy.deepcopy(REGISTRY)
    place: Any = changed
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    assert not VALIDATOR.is_valid(changed)


def test_every_reference_is_to_an_attribute_that_is_defined() -> None:
    """Once, in this registry."""
    keys = [attribute["key"] for attribute in REGISTRY["attributes"]]
    assert len(keys) == len(set(keys))
    for signal in (*REGISTRY["spans"], *REGISTRY["events"], *REGISTRY["metrics"]):
        assert {reference["ref"] for reference in signal.get("attributes", ())} <= set(keys)
