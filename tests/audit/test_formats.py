"""The formats: golden files, the official schemas, and names that try to break out of them.

`python -m tests.audit.test_formats` writes the golden files anew; look at the difference before you commit it.
"""

from __future__ import annotations

import json
import re
from importlib import metadata
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
import xmlschema
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.audit.cases import CASES, clean
from tests.audit.traces import audited, call, cites, run, span

from citespan import semconv
from citespan.audit import FORMATS, RULES, Audit, Finding, kept, render_github, render_json, render_junit, render_sarif
from citespan.audit.formats.places import split

HERE = Path(__file__).parent
SUFFIXES = {"text": "txt", "json": "json", "sarif": "sarif", "junit": "xml", "github": "github.txt"}
SARIF = json.loads((HERE / "schemas" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
JUNIT = xmlschema.XMLSchema(str(HERE / "schemas" / "junit-10.xsd"))

#: a violation with an argument, one without, warnings, a note, an incomplete trace, and one of all files
MIXED = audited(
    (
        run(),
        call(2, "list_files"),
        call(3, "patch_file", "blocked", place="traces/first run.jsonl:3"),
        call(4, "patch_file", said=cites(9, "list_files"), dropped=(2, 0, 1)),
        call(5, "send", status=None, said={semconv.TRUNCATED: ["leaves=4"]}),
        span(6, parent=7, trace=2),
        call(8, "late", said=cites(3, "patch_file"), trace=2, parent=None),
    )
)
NAMES = {
    "mixed": MIXED,
    "clean": audited(clean()),
    "empty": audited(()),
}


def rendered(audit: Audit, form: Any) -> bytes:
    return FORMATS[form](audit).replace(metadata.version("citespan").encode(), b"VERSION")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", NAMES)
def test_golden(name: str, form: Any) -> None:
    """Each format of each audit, byte by byte."""
    expected = (HERE / "golden" / f"{name}.{SUFFIXES[form]}").read_bytes()
    assert rendered(NAMES[name], form) == expected


HOSTILE = 'x\x1b[2J"\'<b>&]]>::error::%0A,:=\r\n\x00\ud800\u202e\ufffe{"a": 1}\\' + "é" * 400
EVIL = audited(
    (
        run(),
        call(2, HOSTILE, "blocked", place=f"{HOSTILE}:7"),
        call(3, HOSTILE, said=cites(9, HOSTILE, argument=HOSTILE)),
        call(4, HOSTILE, status=None, said={semconv.TRUNCATED: [HOSTILE]}),
    )
)
#: and a finding whose texts were never cleaned, as a caller might make it
RAW = Audit(
    (Finding("blocked", "error", "provenance", "m]]>&\"'<::%", 't,:"<', "a%", "t" * 32, "s" * 16, "a b%:,.jsonl:3"),),
    counts={"blocked": 1},
)


class TestSarif:
    """SARIF 2.1.0."""

    @pytest.mark.parametrize("audit", [*NAMES.values(), EVIL, RAW], ids=[*NAMES, "evil", "raw"])
    def test_it_holds_to_the_schema_of_the_standard(self, audit: Audit) -> None:
        """Formats such as `uri-reference` as well."""
        jsonschema.Draft7Validator(SARIF, format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER).validate(
            json.loads(render_sarif(audit))
        )

    def test_every_rule_has_help_and_the_results_point_at_it(self) -> None:
        """By index and by id."""
        (made,) = json.loads(render_sarif(MIXED))["runs"]
        rules = made["tool"]["driver"]["rules"]
        assert [rule["id"] for rule in rules] == list(RULES)
        assert all(rule["help"]["text"] and rule["shortDescription"]["text"] for rule in rules)
        assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in made["results"])
        assert made["invocations"][0]["exitCode"] == 1

    def test_a_place_is_an_escaped_reference(self) -> None:
        """A file name may hold a blank."""
        (made,) = json.loads(render_sarif(MIXED))["runs"]
        places = [result["locations"][0]["physicalLocation"] for result in made["results"] if "locations" in result]
        assert {"artifactLocation": {"uri": "traces/first%20run.jsonl"}, "region": {"startLine": 3}} in places

    def test_a_fingerprint_is_the_same_in_the_next_run(self) -> None:
        """Ids, times and lines are others there; two of a kind are told apart."""

        def prints(audit: Audit) -> list[str]:
            results = json.loads(render_sarif(audit))["runs"][0]["results"]
            return [result["partialFingerprints"]["citespan/v1"] for result in results]

        one = prints(audited((run(), call(2, status="blocked"), call(3, status="blocked"))))
        other = prints(audited((run(trace=8), call(5, status="blocked", trace=8), call(7, status="blocked", trace=8))))
        assert one == other
        assert len(set(one)) == len(one)


class TestJUnit:
    """JUnit XML, as its readers take it."""

    @pytest.mark.parametrize("audit", [*NAMES.values(), EVIL, RAW], ids=[*NAMES, "evil", "raw"])
    def test_it_holds_to_the_schema(self, audit: Audit) -> None:
        """That of Jenkins, which is the one that others read by."""
        JUNIT.validate(render_junit(audit).decode())

    def test_failures_are_violations_and_errors_what_is_missing(self) -> None:
        """The totals are those of the elements."""
        root = ElementTree.fromstring(render_junit(MIXED))
        for suite in root.iter("testsuite"):
            cases = list(suite.iter("testcase"))
            assert int(suite.get("tests", "")) == len(cases)
            assert int(suite.get("failures", "")) == len(suite.findall("testcase/failure"))
            assert int(suite.get("errors", "")) == len(suite.findall("testcase/error"))
        assert [suite.get("failures") for suite in root] == ["4", "0"]
        assert root[0].find("testcase/error") is None
        assert root[1].find("testcase/error") is not None

    @pytest.mark.parametrize("rule", RULES)
    def test_each_rule_fails_its_case_as_its_exit_code_says(self, rule: str) -> None:
        """1 a failure, 2 an error, 0 neither."""
        root = ElementTree.fromstring(render_junit(audited(*CASES[rule])))
        code = RULES[rule].exit_code
        assert (len(list(root.iter("failure"))), len(list(root.iter("error")))) == (int(code == 1), int(code == 2))


class TestGitHub:
    """Workflow commands."""

    @pytest.mark.parametrize("audit", [*NAMES.values(), EVIL, RAW], ids=[*NAMES, "evil", "raw"])
    def test_every_line_is_one_command(self, audit: Audit) -> None:
        """Whatever the names hold; a property ends at its comma, and the data at the line's end."""
        lines = render_github(audit).decode().split("\n")
        assert lines.pop() == ""
        assert len(lines) == len(audit.findings) + 1
        for line in lines:
            assert re.fullmatch(r"::(error|warning|notice) (\w+=[^:,\r\n]*)(,\w+=[^:,\r\n]*)*::[^\r\n]*", line), line

    def test_reserved_characters_are_escaped(self) -> None:
        """As the runner takes them back."""
        first = render_github(RAW).decode().partition("\n")[0]
        assert first.startswith("::error file=a b%25%3A%2C.jsonl,line=3,title=provenance%3A blocked::")
        assert 't,:"<.a%25: m]]>&"\'<::%25' in first

    def test_errors_come_first(self) -> None:
        """Few annotations are shown."""
        commands = [line.split()[0] for line in render_github(MIXED).decode().splitlines()]
        order = ["::error", "::warning", "::notice"]
        assert commands == sorted(commands, key=order.index)


class TestHostileNames:
    """Nothing in a trace breaks a format or drives a terminal."""

    @pytest.mark.parametrize("form", FORMATS)
    @settings(max_examples=25, deadline=None)
    @given(name=st.text(min_size=1))
    def test_any_name(self, form: Any, name: str) -> None:
        """Text is a line per finding at most, JSON and XML parse, and no control character is in any of them."""
        audit = audited(
            (run(), call(2, name, "blocked", place=name), call(3, name, said=cites(7, name, argument=name)))
        )
        text = FORMATS[form](audit).decode()
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\ufffe\uffff]", text)
        if form in {"json", "sarif"}:
            json.loads(text)
        if form == "junit":
            ElementTree.fromstring(text)

    def test_names_are_cut(self) -> None:
        """So that ten thousand findings take a bounded room."""
        assert all(len(text) <= 1000 for finding in EVIL.findings for text in finding)
        assert all(len(finding.tool) <= 10 * 200 for finding in EVIL.findings)


class TestBound:
    """Findings that are kept, and those that are only counted."""

    def test_the_worst_and_the_first_are_kept_and_all_are_counted(self) -> None:
        """Errors before notes, early before late, in whatever order they came."""
        found = kept.Kept(3)
        for time in (5, 1, 4, 2, 3):
            found.add("truncated", "a note", time=time)
            found.add("blocked", f"at {time}", time=time)
        assert [finding.message for finding in found.findings()] == ["at 1", "at 2", "at 3"]
        assert dict(found.counts) == {"blocked": 5, "truncated": 5}

    def test_the_output_says_how_many_are_left_out(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """In every format."""
        monkeypatch.setattr(kept.Kept.__init__, "__defaults__", (2,))
        audit = audited((run(), *(call(number, status="blocked") for number in range(2, 7))))
        assert (len(audit.findings), audit.left_out, audit.counts["blocked"]) == (2, 3, 5)
        assert json.loads(render_json(audit))["left_out"] == 3
        for form, render in FORMATS.items():
            assert re.search(r"\b3\b", render(audit).decode()), form


@pytest.mark.parametrize(
    "place, expected",
    [
        ("a.jsonl:3", ("a.jsonl", 3)),
        ("C:\\runs\\a.jsonl:12", ("C:\\runs\\a.jsonl", 12)),
        ("a.jsonl", ("a.jsonl", 1)),
        ("a:b", ("a:b", 1)),
        ("a:0", ("a", 1)),
        ("", ("", 1)),
    ],
)
def test_a_place_is_a_file_and_a_line(place: str, expected: tuple[str, int]) -> None:
    """Where it has both."""
    assert split(place) == expected


if __name__ == "__main__":
    for name, audit in NAMES.items():
        for form in FORMATS:
            (HERE / "golden" / f"{name}.{SUFFIXES[form]}").write_bytes(rendered(audit, form))
