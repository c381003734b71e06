"""Outside any run there is no budget of a run to draw on; what a person approves is no refusal."""

from __future__ import annotations

import pytest

from citespan.core.decision import ProvenanceDenied
from citespan.core.policy import Policy
from citespan.guard.guard import begin
from citespan.guard.ports import Tool
from citespan.guard.registry import registry
from citespan.guard.run import Run

TOOL = Tool("patch_file", schema={"properties": {"path": {}}})


def test_uncited_calls_outside_any_run_get_no_free_leaf_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """One for each call would be one for as many calls as anybody likes; in a run it is one, once."""
    monkeypatch.setattr(registry, "policy", Policy(max_assumed=1, run_max_assumed=1))
    for _ in range(2):
        with pytest.raises(ProvenanceDenied):
            begin(TOOL, {"path": "x.py"})
    with Run():
        begin(TOOL, {"path": "x.py"})
        with pytest.raises(ProvenanceDenied):
            begin(TOOL, {"path": "y.py"})


def test_approved_calls_do_not_stop_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """`max_refused` stops an agent that keeps guessing, not one whose questions are answered with yes."""
    monkeypatch.setattr(registry, "reviewer", lambda decision: True)
    with Run(policy=Policy(on_violation="ask", run_max_refused=2)) as run:
        for number in range(5):
            begin(TOOL, {"path": f"{number}.py"}).finish("done")
        assert not run.state.budget.stopped
