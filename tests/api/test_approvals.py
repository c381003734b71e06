"""A reviewer is a function, `deny`, recorded approvals, or an object with two methods."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from tests.guard.harness import SECRET, Toolbox, Watch, refused
from tests.guard.test_fork import in_child

import citespan
from citespan.core.policy import ArgumentRule, Policy, ToolRule
from citespan.core.proposals import Proposal
from citespan.errors import UsageError
from citespan.guard.registry import registry
from citespan.stores.approval_file import ApprovalsError

ASK = Policy(on_violation="ask", allow=frozenset())
NEW = ArgumentRule(accept=frozenset({"invented"}), propose_against="names.*")
PROPOSE = Policy(tools={"patch_file": ToolRule(arguments={"path": NEW})})
PATH = Proposal("patch_file", "path", SECRET)


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, watch: Watch) -> None:
    monkeypatch.delenv("CITESPAN_APPROVALS", raising=False)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "approvals.jsonl"


def provider() -> TracerProvider:
    """A provider that is not the process's."""
    return TracerProvider(shutdown_on_exit=False)


def use(reviewer: Any = None) -> None:
    """Name a reviewer as a host does."""
    citespan.configure(Policy(), evidence=False, reviewer=reviewer, tracer_provider=provider())


def proposed(box: Toolbox, **reviewer: Any) -> bool:
    """Propose the new path in a run of its own; use it where that was approved."""
    with citespan.run(policy=PROPOSE) as run:
        box.names()
        approved = run.propose("patch_file", "path", SECRET, **reviewer)
        if approved:
            box.patch_file(path=SECRET)
        else:
            refused(box.patch_file, path=SECRET)
        return approved


def asked(box: Toolbox, **arguments: Any) -> bool:
    """Call with uncited arguments where the policy asks; whether the body ran."""
    before = len(box.ran)
    with citespan.run(policy=ASK):
        try:
            box.patch_file(**(arguments or {"path": SECRET}))
        except citespan.ProvenanceDenied:
            assert len(box.ran) == before
            return False
    return len(box.ran) == before + 1


class Judge:
    """A reviewer that is an object: it remembers what it was asked."""

    def __init__(self, answer: bool) -> None:
        self.answer = answer
        self.seen: list[Any] = []

    def proposal(self, proposal: Proposal, /) -> bool:
        self.seen.append(proposal)
        return self.answer

    def call(self, decision: citespan.Decision, /) -> bool:
        self.seen.append(decision)
        return self.answer


# which reviewer is asked


@pytest.mark.parametrize("answer", [True, False])
def test_an_object_with_two_methods_decides_about_proposals_and_calls(answer: bool) -> None:
    judge = Judge(answer)
    use(judge)
    assert (proposed(Toolbox()), asked(Toolbox())) == (answer, answer)
    assert [type(question) for question in judge.seen] == [Proposal, citespan.Decision]


def test_deny_refuses_both() -> None:
    use(citespan.deny)
    assert (proposed(Toolbox()), asked(Toolbox())) == (False, False)


def test_nobody_refuses_both() -> None:
    use()
    assert (proposed(Toolbox()), asked(Toolbox())) == (False, False)


def test_a_function_that_was_made_for_calls_is_not_asked_about_proposals() -> None:
    use(lambda decision: True)
    assert (proposed(Toolbox()), asked(Toolbox())) == (False, True)


def test_the_reviewer_of_a_proposal_is_asked_in_place_of_the_configured_one() -> None:
    configured = Judge(True)
    use(configured)
    assert not proposed(Toolbox(), reviewer=citespan.deny)
    assert not proposed(Toolbox(), reviewer=lambda proposal: False)
    assert configured.seen == []


def test_something_that_can_decide_nothing_is_a_mistake_and_changes_nothing() -> None:
    before = registry.reviewer
    with pytest.raises(UsageError, match="reviewer must be"):
        use("approvals.jsonl")
    assert registry.reviewer is before


@pytest.mark.parametrize("value", [["a"], {"a": 1}, object(), float("nan")], ids=repr)
def test_what_is_no_leaf_is_not_shown_to_a_reviewer(value: Any) -> None:
    judge = Judge(True)
    box = Toolbox()
    with citespan.run(policy=PROPOSE) as run:
        box.names()
        assert not run.propose("patch_file", "path", value, reviewer=judge)
    assert judge.seen == []


# recorded approvals


def test_a_recorded_proposal_is_approved_once(file: Path) -> None:
    citespan.record_approval(file, PATH)
    use(citespan.recorded_approvals(file))
    box = Toolbox()
    assert [proposed(box), proposed(box)] == [True, False]
    assert box.ran == [SECRET]


def test_a_recorded_call_is_approved_once(file: Path) -> None:
    citespan.record_approval(file, PATH)
    use(citespan.recorded_approvals(file))
    box = Toolbox()
    assert [asked(box), asked(box)] == [True, False]
    assert box.ran == [SECRET]


def test_a_line_is_good_for_a_proposal_or_a_call_and_not_for_both(file: Path) -> None:
    citespan.record_approval(file, PATH)
    use(citespan.recorded_approvals(file))
    assert [proposed(Toolbox()), asked(Toolbox())] == [True, False]


def test_the_reviewer_of_one_proposal_may_be_recorded(file: Path) -> None:
    citespan.record_approval(file, PATH)
    assert proposed(Toolbox(), reviewer=citespan.recorded_approvals(file))


@pytest.mark.parametrize(
    "other",
    [PATH._replace(value=f"{SECRET}-2"), PATH._replace(argument="comment"), PATH._replace(tool="mcp/patch_file")],
)
def test_an_approval_of_something_else_covers_nothing(other: Proposal, file: Path) -> None:
    citespan.record_approval(file, other)
    use(citespan.recorded_approvals(file))
    assert (proposed(Toolbox()), asked(Toolbox())) == (False, False)


def test_a_call_needs_an_approval_of_every_leaf_that_counts(file: Path) -> None:
    citespan.record_approval(file, PATH)
    use(citespan.recorded_approvals(file))
    assert not asked(Toolbox(), path=SECRET, comment="made up")
    assert asked(Toolbox()), "a call that was not covered has used nothing up"
    citespan.record_approval(file, PATH)
    citespan.record_approval(file, PATH._replace(argument="comment", value="made up"))
    use(citespan.recorded_approvals(file))
    assert asked(Toolbox(), path=SECRET, comment="made up")


def test_a_leaf_is_named_by_its_place(file: Path) -> None:
    ran: list[Any] = []

    @citespan.tool
    def send(to: list[str]) -> None:
        ran.append(to)

    citespan.record_approval(file, Proposal("send", "to.1", SECRET))
    citespan.record_approval(file, Proposal("send", "to.0", "rosa"))
    use(citespan.recorded_approvals(file))
    with citespan.run(policy=ASK):
        refused(send, to=[SECRET, "rosa"])
        send(to=["rosa", SECRET])
    assert ran == [["rosa", SECRET]]


def test_a_key_that_no_schema_names_cannot_be_approved(file: Path) -> None:
    ran: list[Any] = []

    @citespan.tool
    def label(**labels: str) -> None:
        ran.append(labels)

    for _ in range(2):
        citespan.record_approval(file, Proposal("label", "env", "env"))
        citespan.record_approval(file, Proposal("label", "labels.env", "env"))
    use(citespan.recorded_approvals(file))
    with citespan.run(policy=ASK):
        refused(label, env="env")
    assert ran == []


def test_a_value_of_a_class_that_can_forge_equality_cannot_be_approved(file: Path) -> None:
    class Text(str):
        """A text that is none."""

    citespan.record_approval(file, PATH)
    use(citespan.recorded_approvals(file))
    assert not asked(Toolbox(), path=Text(SECRET))


def test_a_run_that_has_stopped_is_not_started_again(file: Path) -> None:
    citespan.record_approval(file, PATH)
    use(citespan.recorded_approvals(file))
    box = Toolbox()
    with citespan.run(policy=ASK.evolve(run_max_refused=0)):
        refused(box.patch_file, path=SECRET)
    assert box.ran == []


def test_of_many_calls_at_once_each_line_lets_one_through(file: Path) -> None:
    for _ in range(3):
        citespan.record_approval(file, PATH)
    use(citespan.recorded_approvals(file))
    box = Toolbox()
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: let_through(box), range(24)))
    assert answers.count(True) == len(box.ran) == 3


def let_through(box: Toolbox) -> bool:
    """One call in a run of its own."""
    with citespan.run(policy=ASK):
        try:
            box.patch_file(path=SECRET)
        except citespan.ProvenanceDenied:
            return False
    return True


def test_a_forked_child_has_nothing_of_its_parents(file: Path) -> None:
    citespan.record_approval(file, PATH)
    use(citespan.recorded_approvals(file))
    box = Toolbox()
    assert [in_child(lambda: asked(box)) for _ in range(2)] == [False, False]
    assert asked(box)


def test_a_forked_child_may_read_the_file_itself(file: Path) -> None:
    citespan.record_approval(file, PATH)

    def work() -> bool:
        registry.reviewer = citespan.recorded_approvals(file)
        return asked(Toolbox())

    assert in_child(work) is True


# how the file is named


def test_a_name_that_is_used_first_leaves_configure_a_function() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import citespan; citespan.record_approval; citespan.configure(evidence=False)"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_environment_names_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    citespan.record_approval(file, PATH)
    monkeypatch.setenv("CITESPAN_APPROVALS", str(file))
    use()
    assert proposed(Toolbox())


def test_a_reviewer_that_is_named_in_code_wins(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    citespan.record_approval(file, PATH)
    monkeypatch.setenv("CITESPAN_APPROVALS", str(file))
    use(citespan.deny)
    assert not proposed(Toolbox())


def test_an_empty_variable_names_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITESPAN_APPROVALS", "")
    use()
    assert not proposed(Toolbox())


@pytest.mark.parametrize("content", [None, "no line\n"])
def test_a_file_that_cannot_be_used_is_an_error_and_changes_nothing(
    content: str | None, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if content is not None:
        file.write_text(content)
        file.chmod(0o600)
    monkeypatch.setenv("CITESPAN_APPROVALS", str(file))
    policy = registry.policy
    with pytest.raises(ApprovalsError, match=re.escape(str(file))):
        citespan.configure(Policy(max_assumed=7), evidence=False, tracer_provider=provider())
    assert registry.policy is policy


def test_another_digest_key_is_an_error(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    citespan.record_approval(file, PATH)
    monkeypatch.setenv("CITESPAN_DIGEST_KEY", "another key")
    with pytest.raises(ApprovalsError, match="CITESPAN_DIGEST_KEY"):
        citespan.recorded_approvals(file)


def test_where_no_digest_key_can_be_kept_nothing_can_be_recorded(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITESPAN_DIGEST_KEY", "")
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null")
    with pytest.raises(UsageError, match="set CITESPAN_DIGEST_KEY"):
        citespan.record_approval(file, PATH)
    assert not file.exists()


# what a refusal says


def test_a_refusal_logs_what_would_approve_it_and_no_value(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    file.touch(0o600)
    recorded = citespan.recorded_approvals(file)
    use(recorded)
    with caplog.at_level(logging.WARNING, logger="citespan"):
        proposed(Toolbox())
        asked(Toolbox())
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 2
    for text in told:
        assert recorded.digest(PATH) in text
        assert f"citespan approve {file} --tool patch_file --argument path" in text
        assert SECRET not in text
    assert citespan.record_approval(file, PATH).digest == recorded.digest(PATH)


def test_a_name_cannot_break_the_line_or_the_command(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    file.touch(0o600)
    with caplog.at_level(logging.WARNING, logger="citespan"):
        citespan.recorded_approvals(file).proposal(Proposal("a; rm b\nc", "$(d)", SECRET))
    (text,) = [record.getMessage() for record in caplog.records]
    assert "\n" not in text
    assert "--argument '$(d)'," in text
    assert "; rm b" not in re.sub(r"'[^']*'|\"[^\"]*\"", "", text)


def test_what_was_read_is_logged_with_its_digest(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    citespan.record_approval(file, PATH)
    with caplog.at_level(logging.INFO, logger="citespan"):
        recorded = citespan.recorded_approvals(file)
    assert f"1 approvals from {file}, digest {recorded.file_digest}" in caplog.text
