"""An audit as SARIF 2.1.0 (OASIS), for code scanning and its viewers."""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from importlib import metadata
from pathlib import PurePath
from typing import Any, Final
from urllib.parse import quote

import orjson

from citespan.audit.formats.places import split
from citespan.audit.formats.text import OUTCOMES
from citespan.audit.model import Audit, Finding
from citespan.audit.rules import RULES

SCHEMA_URI: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_INDEX: Final = {rule: position for position, rule in enumerate(RULES)}


def render_sarif(audit: Audit) -> bytes:
    """The audit as one SARIF log with one run."""
    seen: Counter[str] = Counter()
    run = {
        "tool": {
            "driver": {"name": "citespan", "semanticVersion": _version(), "rules": [_rule(rule) for rule in RULES]}
        },
        "invocations": [
            {
                "executionSuccessful": True,
                "exitCode": audit.exit_code,
                "exitCodeDescription": OUTCOMES[audit.exit_code],
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, seen) for finding in audit.findings],
        "properties": {
            "spans": audit.spans,
            "calls": audit.calls,
            "counts": dict(audit.counts),
            "leftOut": audit.left_out,
            "incomplete": audit.incomplete,
        },
    }
    log = {"$schema": SCHEMA_URI, "version": "2.1.0", "runs": [run]}
    return orjson.dumps(log, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _rule(identity: str) -> dict[str, Any]:
    rule = RULES[identity]
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.brief},
        "help": {"text": rule.help},
        "defaultConfiguration": {"level": rule.severity},
        "properties": {"tags": [rule.family], "exitCode": rule.exit_code},
    }


def _result(finding: Finding, seen: Counter[str]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": _INDEX[finding.rule],
        "level": finding.severity,
        "message": {"text": finding.message},
        "partialFingerprints": {"citespan/v1": _fingerprint(finding, seen)},
        "properties": {"family": finding.family, "traceId": finding.trace_id, "spanId": finding.span_id},
    }
    location: dict[str, Any] = {}
    file, line = split(finding.place)
    if file:
        location["physicalLocation"] = {
            "artifactLocation": {"uri": _uri(file)},
            "region": {"startLine": line},
        }
    if finding.tool:
        location["logicalLocations"] = [_logical(finding)]
    if location:
        result["locations"] = [location]
    return result


def _logical(finding: Finding) -> dict[str, Any]:
    if not finding.argument:
        return {"name": finding.tool, "fullyQualifiedName": finding.tool, "kind": "function"}
    return {
        "name": finding.argument,
        "fullyQualifiedName": f"{finding.tool}.{finding.argument}",
        "kind": "parameter",
    }


def _fingerprint(finding: Finding, seen: Counter[str]) -> str:
    """The same for the same thing in the next run: ids, times and lines change, and are left out."""
    said = "\0".join((finding.rule, finding.tool, finding.argument))
    digest = blake2b(said.encode(), digest_size=8).hexdigest()
    seen[digest] += 1
    return f"{digest}:{seen[digest]}"


def _uri(file: str) -> str:
    """A file as a URI reference: relative where it is."""
    path = PurePath(file)
    if path.is_absolute():
        return path.as_uri()
    relative = quote(path.as_posix())
    return f"./{relative}" if ":" in relative.partition("/")[0] else relative


def _version() -> str:
    try:
        return metadata.version("citespan")
    except metadata.PackageNotFoundError:
        return "0"
