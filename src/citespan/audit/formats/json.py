"""An audit as one JSON object; its shape is in docs/audit.md, and does not change within `citespan.audit/1`."""

from __future__ import annotations

from typing import Final

import orjson

from citespan.audit.model import Audit
from citespan.audit.rules import RULES

SCHEMA: Final = "citespan.audit/1"


def render_json(audit: Audit) -> bytes:
    """The audit as JSON, one object and a line feed."""
    document = {
        "schema": SCHEMA,
        "exit_code": audit.exit_code,
        "incomplete": audit.incomplete,
        "spans": audit.spans,
        "calls": audit.calls,
        "counts": {rule: audit.counts[rule] for rule in RULES if audit.counts.get(rule)},
        "left_out": audit.left_out,
        "findings": [finding._asdict() for finding in audit.findings],
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
