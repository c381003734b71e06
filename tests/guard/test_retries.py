"""A framework that tries a failed call again: one call is judged, written down and charged once."""

from __future__ import annotations

from typing import Any

import pytest

from citespan.core.decision import ProvenanceDenied
from citespan.core.policy import Policy
from citespan.guard.guard import begin
from citespan.guard.ports import Tool
from citespan.guard.registry import registry
from citespan.guard.run import Run

PATCH = Tool("patch_file", schema={"properties": {"path": {"type": "string"}}})
ONE_FREE = Policy(max_assumed=1, run_max_assumed=1)


class Lines:
    def __init__(self) -> None:
        self.tools: list[str] = []

    def append(self, call: Any, decision: Any, span: Any) -> None:
        self.tools.append(call.tool)


@pytest.fixture
def evidence(monkeypatch: pytest.MonkeyPatch) -> Lines:
    lines = Lines()
    monkeypatch.setattr(registry, "evidence", lines)
    return lines


def test_a_second_try_after_the_body_raised_is_charged_and_written_down_once(evidence: Lines) -> None:
    """The run has one free leaf: a try that was judged anew would be refused."""
    with Run(policy=ONE_FREE):
        for _ in range(3):
            begin(PATCH, {"path": "x.py"}, call_id="c1").fail(OSError("disk"))
        begin(PATCH, {"path": "x.py"}, call_id="c1").finish("patched")
    assert evidence.tools == ["patch_file"]


@pytest.mark.parametrize(
    ("tool", "arguments", "call_id"),
    [
        (PATCH, {"path": "y.py"}, "c1"),
        (PATCH, {"path": "x.py"}, "c2"),
        (PATCH._replace(name="delete_file"), {"path": "x.py"}, "c1"),
        (PATCH._replace(server="other"), {"path": "x.py"}, "c1"),
    ],
    ids=["arguments", "id", "tool", "server"],
)
def test_another_call_is_no_second_try(tool: Tool, arguments: dict[str, Any], call_id: str) -> None:
    """What differs in anything is judged, and finds the budget used up."""
    with Run(policy=ONE_FREE):
        begin(PATCH, {"path": "x.py"}, call_id="c1").fail(OSError("disk"))
        with pytest.raises(ProvenanceDenied):
            begin(tool, arguments, call_id=call_id)


def test_an_id_that_comes_again_after_a_success_is_another_call() -> None:
    """Whoever writes ids must not get a verdict twice."""
    with Run(policy=ONE_FREE):
        begin(PATCH, {"path": "x.py"}, call_id="c1").finish("patched")
        with pytest.raises(ProvenanceDenied):
            begin(PATCH, {"path": "x.py"}, call_id="c1")


def test_one_failure_allows_one_more_try() -> None:
    """Of two tries at once only one is the second one."""
    with Run(policy=ONE_FREE):
        begin(PATCH, {"path": "x.py"}, call_id="c1").fail(OSError("disk"))
        begin(PATCH, {"path": "x.py"}, call_id="c1")
        with pytest.raises(ProvenanceDenied):
            begin(PATCH, {"path": "x.py"}, call_id="c1")


def test_another_run_knows_no_ids() -> None:
    """Calls of two conversations may have one id."""
    with Run(policy=ONE_FREE):
        begin(PATCH, {"path": "x.py"}, call_id="c1").fail(OSError("disk"))
    with Run(policy=Policy()), pytest.raises(ProvenanceDenied):
        begin(PATCH, {"path": "x.py"}, call_id="c1")


def test_each_try_gets_a_copy_of_its_own() -> None:
    """A body that changed what it was given does not change what the next try gets."""
    with Run(policy=Policy(max_assumed=9, run_max_assumed=9)):
        arguments = {"paths": ["x.py"]}
        first = begin(Tool("patch_files"), arguments, call_id="c1")
        first.arguments["paths"].append("prod.env")
        first.fail(OSError("disk"))
        assert begin(Tool("patch_files"), arguments, call_id="c1").arguments == {"paths": ["x.py"]}


def test_an_adapters_own_failure_denies_and_is_written_down(evidence: Lines) -> None:
    """Whoever translates may fail; then nobody has judged, and the body must not run."""
    with Run(inputs={"path": "a.py"}), pytest.raises(ProvenanceDenied) as refusal:
        begin(PATCH, {"path": "a.py"}, trouble="the arguments could not be read")
    assert refusal.value.decision.status == "blocked"
    assert evidence.tools == ["patch_file"]
