"""An audit as JUnit XML: a suite for provenance and one for causality.

A test case is a call (or a trace) with findings, or a rule that found nothing. A violation is a failure; what makes the
files incomplete is an error; warnings and notes are output of a case that passes.
"""

from __future__ import annotations

from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from citespan.audit.model import Audit, Finding
from citespan.audit.rules import FAMILIES, RULES, Family
from citespan.errors import EXIT_INCOMPLETE, EXIT_VIOLATIONS

_ELEMENTS: Final = {EXIT_VIOLATIONS: "failure", EXIT_INCOMPLETE: "error"}


def render_junit(audit: Audit) -> bytes:
    """The audit as one `testsuites` document."""
    root = Element("testsuites", name="citespan audit")
    for family in FAMILIES:
        _suite(root, audit, family)
    indent(root)
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode").encode() + b"\n"


def _suite(root: Element, audit: Audit, family: Family) -> None:
    suite = SubElement(root, "testsuite", name=f"citespan.{family}")
    cases: dict[tuple[str, ...], list[Finding]] = {}
    for finding in audit.findings:
        if finding.family == family:
            cases.setdefault((finding.trace_id, finding.span_id, finding.tool, finding.place), []).append(finding)
    for (trace, span, tool, place), found in cases.items():
        name = f"{tool or 'span'} {span}" if span else tool or "files"
        case = SubElement(suite, "testcase", classname=f"citespan.{family}.{trace or 'files'}", name=name, time="0")
        _results(case, found, place)
    passed = [rule for rule in RULES.values() if rule.family == family and not audit.counts.get(rule.id)]
    for rule in passed:
        SubElement(suite, "testcase", classname=f"citespan.{family}.rules", name=rule.id, time="0")
    if audit.left_out:
        SubElement(suite, "system-out").text = f"{audit.left_out} more findings are counted, and not listed."
    suite.set("tests", str(len(cases) + len(passed)))
    for attribute, element in (("failures", "failure"), ("errors", "error")):
        suite.set(attribute, str(sum(case.find(element) is not None for case in suite.iter("testcase"))))


def _results(case: Element, found: list[Finding], place: str) -> None:
    """One element for all violations and one for all that is missing: readers take the first of each."""
    for code, element in _ELEMENTS.items():
        worst = [finding for finding in found if RULES[finding.rule].exit_code == code]
        if worst:
            text = "\n".join(_text(finding, place) for finding in worst)
            SubElement(case, element, type=worst[0].rule, message=worst[0].message).text = text
    rest = [finding for finding in found if RULES[finding.rule].exit_code not in _ELEMENTS]
    if rest:
        SubElement(case, "system-out").text = "\n".join(_text(finding, place) for finding in rest)


def _text(finding: Finding, place: str) -> str:
    argument = f" argument {finding.argument}:" if finding.argument else ""
    at = f"{place}: " if place else ""
    return f"{at}{finding.severity}: {finding.rule}:{argument} {finding.message}. {RULES[finding.rule].help}"
