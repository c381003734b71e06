"""docs/show.md says what `citespan show` prints."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGE = (Path(__file__).parents[2] / "docs" / "show.md").read_text(encoding="utf-8")
GOLDEN = Path(__file__).parent / "golden"


def keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, member in value.items():
            yield key
            if key not in {"matching", "run_statuses"}:  # their keys are verdicts
                yield from keys(member)
    elif isinstance(value, list):
        for member in value:
            yield from keys(member)


def test_the_page_shows_what_is_printed() -> None:
    """Its example is a golden file."""
    (block,) = re.findall(r"^```text blocked\n(.*?)^```\n", PAGE, re.MULTILINE | re.DOTALL)
    assert block == (GOLDEN / "blocked.txt").read_text(encoding="utf-8")


def test_every_key_of_the_document_is_explained() -> None:
    """In the tables of the page."""
    named = set(re.findall(r"`(\w+)`", PAGE.partition("## JSON")[2]))
    for file in GOLDEN.glob("*.json"):
        assert set(keys(json.loads(file.read_bytes()))) <= named


def test_every_reason_for_a_hint_is_explained() -> None:
    """Those that the golden files have, and the two that need a policy or none."""
    for why in ("held", "accepts", "nearest", "elsewhere", "other_run", "undeclared", "general"):
        assert f"`{why}`" in PAGE.partition("## JSON")[2]
