"""The JSON Schema of a policy file, generated from the models.

Run `python -m citespan.policy_file.schema` after a change of the models, of the kinds or of the projections;
`--check` changes nothing and exits with 1 where the shipped file is out of date.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from citespan.errors import EXIT_OK, EXIT_USAGE, EXIT_VIOLATIONS
from citespan.policy_file.models import PolicyTable

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
PATH: Final = Path(__file__).with_name("citespan.schema.json")


class _TomlSchema(GenerateJsonSchema):
    """TOML has no null, so a key that may be left out is not a key that may be null."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        """A pattern for keys forbids other keys; pydantic's own form would let them through unchecked."""
        return {
            "type": "object",
            "propertyNames": self.generate_inner(schema["keys_schema"]),
            "additionalProperties": self.generate_inner(schema["values_schema"]),
        }


def schema() -> dict[str, Any]:
    """The schema as a document.

    Example:
        >>> schema()["required"]
        ['version']
    """
    generated = PolicyTable.model_json_schema(schema_generator=_TomlSchema)
    return {"$schema": DIALECT, **generated, "title": "citespan policy"}


def render() -> str:
    """The schema as the text of the shipped file."""
    return json.dumps(schema(), indent=2, sort_keys=True) + "\n"


def main(arguments: list[str]) -> int:
    """Write the shipped file, or with `--check` compare it; returns the exit code."""
    if arguments not in ([], ["--check"]):
        sys.stderr.write("usage: python -m citespan.policy_file.schema [--check]\n")
        return EXIT_USAGE
    text = render()
    current = PATH.read_text(encoding="utf-8") if PATH.exists() else ""
    if current == text:
        return EXIT_OK
    if arguments == ["--check"]:
        sys.stderr.write(f"{PATH.name} is out of date: run python -m citespan.policy_file.schema\n")
        return EXIT_VIOLATIONS
    PATH.write_text(text, encoding="utf-8", newline="\n")
    return EXIT_OK


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
