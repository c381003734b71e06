"""A refusal says where, why and what next, and carries no value: not in its text, its span, its traceback's text."""

from __future__ import annotations

import copy
import pickle
import traceback
from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry import trace
from tests.guard.harness import SECRET, Spans, Toolbox, Watch, refused

import citespan
from citespan.core.decision import ProvenanceDenied
from citespan.core.policy import ArgumentRule, Policy, ToolRule
from citespan.core.proposals import Proposal
from citespan.guard.registry import registry

FROM = Policy(
    tools={"patch_file": ToolRule(arguments={"path": ArgumentRule(sources=("list_files.files.*",))})}, max_assumed=5
)


@pytest.fixture
def denied(watch: Watch) -> ProvenanceDenied:
    with citespan.run():
        return refused(Toolbox().patch_file, path=SECRET)


def test_it_is_a_permission_error(denied: ProvenanceDenied) -> None:
    assert isinstance(denied, PermissionError)
    assert denied.decision.deny
    assert denied.decision.tool == "patch_file"
    assert denied.decision.assumed_fields == ("path",)


def test_it_says_where_why_and_what_next(denied: ProvenanceDenied) -> None:
    text = str(denied)
    assert text.startswith("patch_file was not run.")
    assert "patch_file.path: in no result" in text
    assert "Call a tool" in text


def test_it_names_the_tool_that_the_policy_wants_called_first(watch: Watch) -> None:
    with citespan.run(policy=FROM):
        denied = refused(Toolbox().patch_file, path=SECRET)
    assert "call list_files first" in str(denied)
    assert denied.decision.violations[0].text == "required_source=[path]"


def test_a_tool_that_was_called_is_not_to_be_called_again(watch: Watch) -> None:
    """The run has a result of it: a value of that one is to be passed on."""
    box = Toolbox()
    with citespan.run(policy=FROM, inputs={"root": "."}):
        box.list_files(root=".")
        denied = refused(box.patch_file, path=SECRET)
    assert "For path: pass on a value of list_files.files.* exactly as returned" in str(denied)
    assert "first" not in str(denied)


def test_a_source_that_the_policy_names_is_demanded_whatever_the_budget(watch: Watch) -> None:
    box = Toolbox()
    with citespan.run(policy=FROM, inputs={"root": "."}):
        refused(box.patch_file, path=SECRET)
        box.patch_file(path=box.list_files(root=".")["files"][0])
        box.names()
    assert len(box.ran) == 1


def test_it_pickles_with_its_decision_and_its_text(denied: ProvenanceDenied) -> None:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(denied, protocol))
        assert type(again) is ProvenanceDenied
        assert str(again) == str(denied)
        assert again.decision == denied.decision
        assert again.hint == denied.hint
    assert str(copy.copy(denied)) == str(denied)


@pytest.mark.parametrize("value", [{"deep": [SECRET]}, [b"x"], float("nan"), "\ud800", 2**70, None, "", []])
def test_it_pickles_whatever_was_refused(value: Any, watch: Watch) -> None:
    @citespan.tool
    def patch(path: Any) -> None:
        raise AssertionError("ran")

    with citespan.run():
        denied = refused(patch, path=value)
    again = pickle.loads(pickle.dumps(denied))
    assert again.decision.status == "blocked"
    assert str(again).encode()


GUESSES: dict[str, dict[str, Any]] = {
    "a text": {"path": SECRET},
    "a nested text": {"path": [{"deep": SECRET}]},
    "a nested key": {"path": {SECRET: {SECRET: 1}}},
    "a name": {SECRET: 1},
    "a text subclass": {"path": type("Text", (str,), {})(SECRET)},
    "an object": {"path": ValueError(SECRET)},
    "bytes": {"path": SECRET.encode()},
}


@pytest.mark.parametrize("arguments", GUESSES.values(), ids=GUESSES.keys())
def test_it_carries_no_value(arguments: dict[str, Any], spans: Spans) -> None:
    @citespan.tool
    def patch(path: Any = "", **more: Any) -> None:
        raise AssertionError("ran")

    with citespan.run():
        denied = refused(patch, **arguments)
    for text in (
        str(denied),
        repr(denied),
        repr(denied.args),
        denied.hint,
        "".join(traceback.format_exception(denied)),
    ):
        assert SECRET not in text
    assert SECRET not in spans.text()


def test_the_spans_around_it_record_no_value(spans: Spans) -> None:
    """Ancestors record exceptions with their whole chain, whatever the span of the call itself does."""
    tracer = trace.get_tracer("agent", tracer_provider=spans.provider)
    box = Toolbox()

    def agent() -> None:
        with tracer.start_as_current_span("agent"):
            try:
                raise ValueError(f"{SECRET} is not there, trying again")
            except ValueError:
                box.patch_file(path=SECRET)

    with citespan.run(), pytest.raises(ProvenanceDenied):
        agent()
    (span,) = [span for span in spans.all() if span.name == "agent"]
    assert [event.name for event in span.events] == ["exception"]
    assert SECRET not in spans.text()


def _judging(call: Callable[[], Any]) -> Callable[[], Any]:
    return call


def _telling(call: Callable[[], Any]) -> Callable[[], Any]:
    class Full:
        def append(self, *args: Any) -> None:
            raise OSError(SECRET)

    registry.evidence = Full()
    return call


def _broken(call: Callable[[], Any]) -> Callable[[], Any]:
    class Evidence:
        def append(self, *args: Any) -> None:
            try:
                raise KeyError(SECRET)
            except KeyError as error:
                raise ValueError(SECRET) from error

    registry.evidence = Evidence()
    return call


@pytest.mark.parametrize("setting", [_judging, _telling, _broken])
@pytest.mark.parametrize("retrying", [False, True], ids=["by itself", "while another exception is handled"])
def test_it_is_raised_from_none(setting: Any, retrying: bool, watch: Watch) -> None:
    box = Toolbox()
    call = setting(lambda: box.patch_file(path=SECRET))

    def retry() -> None:
        try:
            raise ValueError(SECRET)
        except ValueError:
            call()

    with citespan.run(), pytest.raises(ProvenanceDenied) as raised:
        (retry if retrying else call)()
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None or raised.value.__suppress_context__
    assert SECRET not in "".join(traceback.format_exception(raised.value))


def test_a_bug_of_the_guard_is_no_context_of_the_refusal(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    def bug(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(SECRET)

    monkeypatch.setattr("citespan.guard.examine.decide", bug)
    with citespan.run():
        denied = refused(Toolbox().patch_file, path=SECRET)
    assert denied.__cause__ is None
    assert denied.__context__ is None
    assert SECRET not in str(denied)
    assert "RuntimeError" in str(denied)


def test_abort_is_said(watch: Watch) -> None:
    with citespan.run(policy=Policy(on_violation="abort")):
        denied = refused(Toolbox().patch_file, path=SECRET)
    assert denied.decision.abort
    assert "The run stops here." in str(denied)


@pytest.mark.parametrize("on_violation", ["tell", "abort", "ask"])
def test_without_a_reviewer_every_way_refuses(on_violation: Any, watch: Watch) -> None:
    box = Toolbox()
    with citespan.run(policy=Policy(on_violation=on_violation)):
        refused(box.patch_file, path=SECRET)
    assert box.ran == []


@pytest.mark.parametrize("answer", [True, False])
def test_a_reviewer_that_is_asked_decides(answer: bool, watch: Watch) -> None:
    asked: list[Any] = []
    registry.reviewer = lambda decision: bool(asked.append(decision)) or answer
    box = Toolbox()
    with citespan.run(policy=Policy(on_violation="ask")):
        if answer:
            box.patch_file(path=SECRET)
        else:
            refused(box.patch_file, path=SECRET)
    assert len(asked) == 1
    assert box.ran == ([SECRET] if answer else [])


def test_an_approval_is_used_up_by_a_call_that_a_reviewer_let_through(watch: Watch) -> None:
    ran: list[str] = []

    @citespan.tool
    def create_file(path: str, owner: str = "") -> None:
        ran.append(path)

    registry.reviewer = lambda decision: True
    with citespan.run(policy=Policy(on_violation="ask")) as run:
        run.state.approvals.add(Proposal("create_file", "path", SECRET))
        create_file(path=SECRET, owner="nobody")
        registry.reviewer = None
        refused(create_file, path=SECRET)
    assert ran == [SECRET]


def test_a_reviewer_that_fails_approves_nothing(watch: Watch) -> None:
    def reviewer(decision: Any) -> bool:
        raise RuntimeError("gone home")

    registry.reviewer = reviewer
    box = Toolbox()
    with citespan.run(policy=Policy(on_violation="ask")):
        refused(box.patch_file, path=SECRET)
    assert box.ran == []
