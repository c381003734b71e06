"""The page about the evidence file names every reason and every variable."""

from __future__ import annotations

import re
from pathlib import Path

from citespan.core.kinds import REASONS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8")


def test_every_reason_is_listed_in_its_own_words() -> None:
    assert [why for why, text in REASONS.items() if f"| `{why}` | {text} |\n" not in PAGE] == []


def test_every_variable_that_the_code_reads_is_listed() -> None:
    read = {
        name
        for source in (ROOT / "src").glob("**/*.py")
        for name in re.findall(r"\"((?:CITESPAN|OTEL)_[A-Z_]+)\"", source.read_text(encoding="utf-8"))
    }
    table = PAGE.partition("## Environment variables")[2]
    assert {name for name in read if f"`{name}`" not in table} == set()
    assert len(read) > 6
