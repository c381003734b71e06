"""The guard's own failure denies in enforce mode, and is tagged `error` in tag mode (design section 5.5).

Each collaborator fails in turn while a call is judged that would pass without the failure, and that needs them all.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from tests.guard.harness import SECRET, TAG, Spans, Watch, refused

import citespan
from citespan.core.decision import Decision, ProvenanceDenied
from citespan.core.kinds import SpanRef
from citespan.core.policy import Policy
from citespan.core.proposals import Proposal
from citespan.guard.ports import ToolCall
from citespan.guard.registry import NoSpan, NoTelemetry, registry

#: while judging: (module, name or class.name)
JUDGING = [
    ("citespan.core.resolve", "Rulebook.tool"),
    ("citespan.core.resolve", "Resolved.argument"),
    ("citespan.guard.examine", "snapshot"),
    ("citespan.guard.examine", "decide"),
    ("citespan.guard.examine", "current_run"),
    ("citespan.guard.examine", "Call"),
    ("citespan.guard.run", "RunState.pin"),
    ("citespan.guard.run", "RunState.scope"),
    ("citespan.guard.run", "RunState.moment"),
    ("citespan.core.schema", "Schema.names"),
    ("citespan.core.schema", "Schema.at"),
    ("citespan.core.schema", "Schema.supplies"),
    ("citespan.core.ledger", "Ledger.moment"),
    ("citespan.core.ledger", "Ledger.find"),
    ("citespan.core.ledger", "Ledger.looks_like_its_field"),
    ("citespan.core.uncited", "Marks.bars"),
    ("citespan.core.user", "UserText.cites"),
    ("citespan.core.proposals", "Approvals.approves"),
    ("citespan.core.proposals", "Approvals.use"),
    ("citespan.core.budget", "RunBudget.take"),
    ("citespan.core.classify", "forms"),
    ("citespan.core.uncited", "Given.echo"),
    ("citespan.core.judge", "classify"),
    ("citespan.core.judge", "verdict"),
]
#: tag mode takes nothing from the budget; and where run or rules are not known, nor is the mode: enforce is assumed
ENFORCED_ONLY = {"RunBudget.take", "Rulebook.tool", "current_run"}
#: after the verdict, before the body
CONCLUDING = [
    ("citespan.guard.examine", "uncited"),
    ("citespan.core.uncited", "Marks.add"),
]
#: only on the way to a refusal
REFUSING = [
    ("citespan.guard.guard", "advise"),
    ("citespan.core.decision", "explain"),
    ("citespan.core.budget", "RunBudget.refuse"),
]


class Fault:
    """Makes one collaborator raise, and counts how often it did."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module: str, name: str, text: str = "a bug") -> None:
        self.hits = 0
        self._text = text
        home: Any = importlib.import_module(module)
        *outer, last = name.split(".")
        for part in outer:
            home = getattr(home, part)
        monkeypatch.setattr(home, last, self._raise)

    def _raise(self, *args: Any, **kwargs: Any) -> Any:
        self.hits += 1
        raise RuntimeError(self._text)


class Rich:
    """A run in which one call needs every collaborator: echo, state, budget, approval, message, schema, field."""

    def __init__(self, policy: Policy) -> None:
        self.ran: list[str] = []

        @citespan.tool
        def file_note(comment: str) -> dict[str, Any]:
            return {"path": "src/app.py", "said": comment}

        @citespan.tool
        def patch_file(path: str, ticket: str, name: str, line: int, comment: str = "") -> str:
            self.ran.append(path)
            return "done"

        self.run = citespan.run(policy=policy)
        self.file_note = file_note
        self.patch_file = patch_file

    def prepare(self) -> None:
        self.run.user("please see OPS-4711")
        self.file_note(comment="written by nobody")
        self.run.state.approvals.add(Proposal("patch_file", "name", "notes.md"))

    def call(self) -> Any:
        return self.patch_file(path="src/app.py", ticket="OPS-4711", name="notes.md", line=4242, comment="free words")


@pytest.fixture
def scene(watch: Watch) -> Iterator[Rich]:
    rich = Rich(Policy(max_assumed=1))
    with rich.run:
        rich.prepare()
        yield rich


@pytest.fixture
def tagged(watch: Watch) -> Iterator[Rich]:
    rich = Rich(TAG)
    with rich.run:
        rich.prepare()
        yield rich


def test_without_a_bug_the_call_passes(scene: Rich, watch: Watch) -> None:
    assert scene.call() == "done"
    assert watch.kinds() == {
        "path": "observed",
        "ticket": "user",
        "name": "invented",
        "line": "assumed",
        "comment": "assumed",
    }


@pytest.mark.parametrize("module,name", JUDGING)
def test_a_bug_while_judging_denies(
    scene: Rich, watch: Watch, monkeypatch: pytest.MonkeyPatch, module: str, name: str
) -> None:
    fault = Fault(monkeypatch, module, name)
    denied = refused(scene.call)
    assert fault.hits
    assert scene.ran == []
    assert denied.decision.status == "blocked"
    assert any(violation.rule == "guard" for violation in denied.decision.violations)
    assert watch.last.status == "blocked"


@pytest.mark.parametrize("module,name", [entry for entry in JUDGING if entry[1] not in ENFORCED_ONLY])
def test_a_bug_while_judging_is_tagged_and_the_body_runs_in_tag_mode(
    tagged: Rich, watch: Watch, monkeypatch: pytest.MonkeyPatch, module: str, name: str
) -> None:
    fault = Fault(monkeypatch, module, name)
    assert tagged.call() == "done"
    assert fault.hits
    assert tagged.ran == ["src/app.py"]
    assert watch.last.status == "error"


@pytest.mark.parametrize("name", ["Rulebook.tool", "resolve"])
def test_where_the_rules_cannot_be_read_enforcement_is_assumed(
    tagged: Rich, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    @citespan.tool(name="never_seen")
    def other(path: str) -> None:
        tagged.ran.append(path)

    Fault(monkeypatch, "citespan.core.resolve", name)
    refused(other, path=SECRET)
    assert tagged.ran == []


@pytest.mark.parametrize("module,name", CONCLUDING)
def test_a_bug_after_the_verdict_keeps_the_body_from_running(
    scene: Rich, monkeypatch: pytest.MonkeyPatch, module: str, name: str
) -> None:
    fault = Fault(monkeypatch, module, name)
    refused(scene.call)
    assert fault.hits
    assert scene.ran == []


@pytest.mark.parametrize("module,name", CONCLUDING)
def test_a_bug_after_the_verdict_does_not_stop_a_tool_in_tag_mode(
    tagged: Rich, watch: Watch, monkeypatch: pytest.MonkeyPatch, module: str, name: str
) -> None:
    fault = Fault(monkeypatch, module, name)
    assert tagged.call() == "done"
    assert fault.hits
    assert watch.last.status == "error"


@pytest.mark.parametrize("module,name", REFUSING)
def test_a_bug_on_the_way_to_a_refusal_still_refuses(
    scene: Rich, monkeypatch: pytest.MonkeyPatch, module: str, name: str
) -> None:
    fault = Fault(monkeypatch, module, name)
    with pytest.raises(Exception) as raised:  # noqa: PT011 - a refusal is best, any error is safe
        scene.patch_file(path=SECRET, ticket=SECRET, name=SECRET, line=1)
    assert fault.hits
    assert scene.ran == []
    assert isinstance(raised.value, ProvenanceDenied)


@pytest.mark.parametrize("module,name", [*JUDGING, *CONCLUDING])
def test_no_bug_lets_a_guessed_value_through(
    scene: Rich, monkeypatch: pytest.MonkeyPatch, module: str, name: str
) -> None:
    Fault(monkeypatch, module, name)
    with pytest.raises(PermissionError):
        scene.patch_file(path=SECRET, ticket=SECRET, name=SECRET, line=4242)
    assert scene.ran == []


class _Broken(NoTelemetry):
    """Telemetry that breaks its promise not to raise."""

    def __init__(self, where: str) -> None:
        self._where = where

    def start_call(self, call: ToolCall, decision: Decision, context: Any, *, guard_seconds: float) -> NoSpan:
        if self._where == "start_call":
            raise RuntimeError("telemetry broke")
        where = self._where

        class Span(NoSpan):
            def context(self, context: Any) -> Any:
                if where == "context":
                    raise RuntimeError("telemetry broke")
                return context

            def amend(self, decision: Decision) -> None:
                if where == "amend":
                    raise RuntimeError("telemetry broke")

            def end(self, *, error: BaseException | None = None, note: str | None = None, failed: bool = False) -> None:
                if where == "end":
                    raise RuntimeError("telemetry broke")

        return Span()


class _FullDisk:
    def append(self, call: ToolCall, decision: Decision, span: SpanRef | None) -> None:
        raise OSError(28, "no space left on device")


@pytest.mark.parametrize("where", ["start_call", "context", "amend", "end"])
def test_telemetry_that_breaks_its_promise_lets_no_guessed_value_through(scene: Rich, where: str) -> None:
    registry.telemetry = _Broken(where)
    registry.evidence = _FullDisk() if where == "amend" else None
    with pytest.raises((ProvenanceDenied, RuntimeError)):
        scene.patch_file(path=SECRET, ticket=SECRET, name=SECRET, line=1)
    assert scene.ran == []


@pytest.mark.parametrize("error", [OSError(28, "no space left"), ValueError("cannot encode"), RuntimeError("closed")])
def test_evidence_that_cannot_be_written_denies(scene: Rich, watch: Watch, error: Exception) -> None:
    class Evidence:
        def append(self, call: ToolCall, decision: Decision, span: SpanRef | None) -> None:
            raise error

    registry.evidence = Evidence()
    denied = refused(scene.call)
    assert scene.ran == []
    assert any(violation.rule == "guard" for violation in denied.decision.violations)
    assert watch.last.status == "blocked"


def test_evidence_that_cannot_be_written_is_tagged_in_tag_mode(tagged: Rich, watch: Watch) -> None:
    registry.evidence = _FullDisk()
    assert tagged.call() == "done"
    assert watch.last.status == "error"


@pytest.mark.parametrize("policy", [Policy(max_assumed=1), TAG])
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_while_judging_is_no_permission(
    policy: Policy, error: type[BaseException], watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    rich = Rich(policy)
    with rich.run:
        rich.prepare()

        def interrupted(*args: Any, **kwargs: Any) -> Any:
            raise error

        monkeypatch.setattr("citespan.guard.examine.decide", interrupted)
        with pytest.raises(error):
            rich.call()
    assert rich.ran == []


def test_a_call_that_could_not_be_judged_teaches_nothing(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its uncited values are not known, so an echo of one could not be told."""
    ran: list[str] = []

    @citespan.tool
    def say(words: str) -> dict[str, str]:
        return {"path": words}

    @citespan.tool
    def patch_file(path: str) -> None:
        ran.append(path)

    with citespan.run(policy=Policy(tools={"say": citespan.ToolRule(mode="tag")})):
        with monkeypatch.context() as broken:
            Fault(broken, "citespan.guard.examine", "decide")
            say(words=SECRET)
        refused(patch_file, path=SECRET)
    assert ran == []


@pytest.mark.parametrize(
    "module,name", [("citespan.guard.examine", "decide"), ("citespan.guard.ticket", "read_result")]
)
def test_what_the_guard_logs_of_its_failure_holds_no_value(
    spans: Spans,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    module: str,
    name: str,
) -> None:
    @citespan.tool
    def say(words: str) -> dict[str, str]:
        return {"path": words}

    Fault(monkeypatch, module, name, text=f"cannot read {SECRET!r}")
    with caplog.at_level(logging.DEBUG), citespan.run(policy=TAG):
        say(words=SECRET)
    assert caplog.records
    assert SECRET not in caplog.text
    assert SECRET not in spans.text()
