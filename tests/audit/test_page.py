"""docs/audit.md: its tables are those of the code, and its example is what the command prints."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.audit.traces import audited, call, run

from citespan.audit import FORMATS, RULES, render_json
from citespan.audit.citations import ALLOWANCE, SKEW
from citespan.audit.guarded import DEPTH
from citespan.audit.model import MAX_FINDINGS
from citespan.audit.rules import FAMILIES
from citespan.audit.store import CACHE_BYTES, MAX_BYTES

PAGE = (Path(__file__).parents[2] / "docs" / "audit.md").read_text(encoding="utf-8")


def test_the_table_of_rules_is_the_table_of_the_code() -> None:
    """Family by family: rule, severity, exit code, what it finds, what to do."""
    for family in FAMILIES:
        rows = [
            f"| `{rule.id}` | {rule.severity} | {rule.exit_code} | {rule.brief} | {rule.help} |"
            for rule in RULES.values()
            if rule.family == family
        ]
        assert "\n".join(rows) in PAGE


def test_the_example_is_what_is_printed() -> None:
    """Key by key."""
    (example,) = re.findall(r"^```json\n(.*?)^```\n", PAGE, re.MULTILINE | re.DOTALL)
    spans = (run(), call(3, "patch_file", status="blocked"))
    assert json.loads(example) == json.loads(render_json(audited(spans)))


def test_the_bounds_are_those_of_the_code() -> None:
    """Whoever changes one changes the page."""
    text = " ".join(PAGE.split())
    assert f"{MAX_FINDINGS:,} findings" in text
    assert f"up to {ALLOWANCE // 1_000_000} ms" in text
    assert f"less than {SKEW // 1_000_000_000} s" in text
    assert f"{DEPTH} spans" in text
    assert f"{CACHE_BYTES // 1024**2} MiB" in text
    assert f"at most {MAX_BYTES // 1024**3} GiB" in text


def test_every_format_is_on_the_page() -> None:
    """By its name on the command line."""
    assert all(f"| `{form}` |" in PAGE for form in FORMATS)
