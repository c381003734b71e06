"""Each rule, the traces around it, and the exit code."""

from __future__ import annotations

from itertools import combinations, product

import pytest
from tests.audit.cases import CASES, MORE, clean
from tests.audit.traces import audited, call, cites, run, span, span_id

from citespan import semconv
from citespan.audit import RULES, Audit, Auditor
from citespan.core.policy import Policy, ToolRule
from citespan.core.resolve import Rulebook
from citespan.errors import PolicyError, UsageError
from citespan.otel.digest import VARIABLE, Digester, find_key


def test_every_rule_has_its_trace() -> None:
    """The table of rules and that of traces have the same keys."""
    assert list(CASES) == list(RULES)


@pytest.mark.parametrize("rule", RULES)
def test_a_trace_breaks_its_rule_and_no_other(rule: str) -> None:
    """One finding, of that rule, with the rule's severity, family and exit code."""
    audit = audited(*CASES[rule])
    assert dict(audit.counts) == {rule: 1}
    (finding,) = audit.findings
    known = RULES[rule]
    assert (finding.rule, finding.severity, finding.family) == (rule, known.severity, known.family)
    assert audit.exit_code == known.exit_code
    assert audit.incomplete == (known.exit_code == 2)
    assert finding.message


@pytest.mark.parametrize("name", MORE)
def test_what_else_breaks_a_rule_and_what_breaks_none(name: str) -> None:
    """The borders of the rules."""
    case, expected = MORE[name]
    assert dict(audited(*case).counts) == expected


class TestExitCodes:
    """1 before 2 before 0."""

    @pytest.mark.parametrize("codes", [set(c) for n in range(4) for c in combinations((0, 1, 2), n)], ids=str)
    def test_every_combination_of_rules(self, codes: set[int]) -> None:
        """Every choice of rules, one of each code in the set."""
        groups = [[rule for rule in RULES.values() if rule.exit_code == code] for code in sorted(codes)]
        for chosen in product(*groups):
            counts = {rule.id: 1 for rule in chosen}
            expected = 1 if 1 in codes else 2 if 2 in codes else 0
            assert Audit((), counts=counts, incomplete=2 in codes).exit_code == expected

    @pytest.mark.parametrize(
        "first, second",
        [
            pair
            for pair in combinations(CASES, 2)
            if "no-calls" not in pair and not any(CASES[rule].policy for rule in pair)
        ],
    )
    def test_two_broken_rules_in_one_audit(self, first: str, second: str) -> None:
        """Two traces, each breaking its rule: the worse of the two codes."""
        moved = tuple(
            each._replace(
                trace_id="f" * 32 if each.trace_id.endswith("1") else each.trace_id,
                links=tuple(
                    link._replace(trace_id="f" * 32 if link.trace_id.endswith("1") else link.trace_id)
                    for link in each.links
                ),
            )
            for each in CASES[second].spans
        )
        audit = audited((*CASES[first].spans, *moved))
        assert dict(audit.counts) == {first: 1, second: 1}
        codes = {RULES[first].exit_code, RULES[second].exit_code}
        assert audit.exit_code == (1 if 1 in codes else 2 if 2 in codes else 0)

    def test_a_violation_is_an_error_of_provenance_and_nothing_else_is(self) -> None:
        """The code follows from severity and family, but for sources that are not here."""
        for rule in RULES.values():
            if rule.severity == "error":
                assert rule.exit_code == (1 if rule.family == "provenance" else 2)
            elif rule.id not in {"absent-trace", "untraced-source"}:
                assert rule.exit_code == 0


class TestFindings:
    """Where, and about what."""

    def test_it_names_tool_argument_trace_span_and_place(self) -> None:
        """Of the citing call."""
        (finding,) = audited((run(), call(3, "cut", said=cites(2)))).findings
        assert finding == (
            "dead-citation",
            "error",
            "provenance",
            "cites look (span 0000000000000002), which is missing from its trace",
            "cut",
            "path",
            "0" * 31 + "1",
            "0" * 15 + "3",
            "trace.jsonl:3",
        )

    def test_a_missing_parent_of_many_is_one_finding(self) -> None:
        """It says of how many, and names the first."""
        audit = audited((run(), call(2), *(span(number, parent=9) for number in (5, 4, 6))))
        (finding,) = audit.findings
        assert finding.span_id == span_id(4)
        assert "of 3 spans" in finding.message

    def test_calls_are_counted_once(self) -> None:
        """A framework's own span of a judged call is no second call."""
        assert audited(MORE["a framework's span around a judged call"][0].spans).calls == 1
        assert audited(MORE["one that says so"][0].spans).calls == 1
        assert audited(clean())[2:4] == (3, 2)

    def test_a_value_is_in_no_message(self) -> None:
        """Not even where the span has the arguments."""
        spans = (run(), call(2, status="flagged", said={semconv.TOOL_CALL_ARGUMENTS: '{"path": "secret"}'}))
        assert "secret" not in str(audited(spans))

    def test_ids_that_are_none_are_shown_as_they_are(self) -> None:
        """Whoever made the records by hand."""
        (finding,) = audited((run(), call(2, status="blocked")._replace(span_id="my span"))).findings
        assert finding.span_id == "my span"


class TestContent:
    """Arguments that stand on the span, held against the digests."""

    @pytest.fixture
    def digester(self, monkeypatch: pytest.MonkeyPatch) -> Digester:
        monkeypatch.setenv(VARIABLE, "a key for tests")
        return Digester(find_key({VARIABLE: "a key for tests"}))

    @pytest.mark.parametrize(
        "content, found",
        [
            ('{"path": "a.py"}', {}),
            ('{"path": {"deep": ["x", "a.py"]}}', {}),
            ('{"path": {"a.py": 1}}', {}),
            ('{"other": 1}', {}),
            ('{"path": "b.py"}', {"digest-mismatch": 1}),
            ('{"path": ["a", "py"]}', {"digest-mismatch": 1}),
            ('{"path": "a.p', {}),
            ('["a.py"]', {}),
            (7, {}),
        ],
    )
    def test_a_digest_is_of_a_value_in_it(self, content: object, found: dict[str, int], digester: Digester) -> None:
        """What is cut, or is no object, says nothing."""
        said = cites(2, digest=digester.digest("a.py"), **{semconv.DIGEST_KEY: digester.key_id})
        spans = (run(), call(2), call(3, said={**said, semconv.TOOL_CALL_ARGUMENTS: content}))
        assert dict(audited(spans).counts) == found

    def test_without_the_key_nothing_is_said(self, monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
        """And none is made."""
        monkeypatch.delenv(VARIABLE, raising=False)
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        spans = (run(), call(2), call(3, said={**cites(2), semconv.TOOL_CALL_ARGUMENTS: '{"path": "b"}'}))
        assert dict(audited(spans).counts) == {}
        assert list(__import__("pathlib").Path(str(tmp_path)).iterdir()) == []


class TestPolicy:
    """What the audit's own policy says."""

    def test_the_policy_that_judged_says_nothing_twice(self) -> None:
        """A flagged call under it is one finding."""
        policy = Policy(mode="tag")
        said = {semconv.POLICY: Rulebook(policy).digest}
        assert dict(audited((run(), call(2, status="flagged", said=said)), policy).counts) == {"flagged": 1}

    def test_rules_that_tie_are_an_error(self) -> None:
        """As everywhere."""
        policy = Policy(tools={"l*": ToolRule(max_assumed=1), "*k": ToolRule(max_assumed=2)})
        spans = (run(), call(2, said={semconv.KIND + "path": "user", semconv.COUNT + "user": 1}))
        with pytest.raises(PolicyError, match="ties"):
            audited(spans, policy)

    def test_another_citation_may_be_of_a_named_field(self) -> None:
        """The span has the field of the first source only, so a second one is given the benefit of the doubt."""
        case = MORE["a field that the policy does not name"][0]
        both = [*cites(2)["links"], *cites(4)["links"]]
        spans = (
            run(),
            call(2),
            call(4, start=2.1, end=2.2),
            call(3, "cut", said={**cites(2, field="hint"), "links": both}),
        )
        assert dict(audited(spans, case.policy).counts) == {}


class TestAuditor:
    """The machine itself."""

    def test_nothing_can_be_added_once_it_is_finished(self) -> None:
        """And finishing again gives the same."""
        with Auditor() as auditor:
            audit = auditor.finish()
            assert auditor.finish() is audit
            with pytest.raises(UsageError, match="finished"):
                auditor.add(run())

    def test_closing_twice_is_nothing(self) -> None:
        """Whether it was finished or not."""
        auditor = Auditor()
        auditor.add(run())
        auditor.close()
        auditor.close()
