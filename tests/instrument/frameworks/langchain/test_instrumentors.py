"""Other people's instrumentors of LangChain at the same time, each combination in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.instrument.contract import SECRET

from citespan import semconv

BOTH = "openinference+openllmetry"
#: (those before ours, those after, how the agent is run)
COMBINATIONS = [
    ("openinference", "", "invoke"),
    ("", "openinference", "astream"),
    ("openllmetry", "", "invoke"),
    ("", "openllmetry", "astream"),
    ("", BOTH, "ainvoke-async-tools"),
    (BOTH, "", "astream_events"),
    ("openinference", "openllmetry", "stream"),
]


@pytest.fixture(params=COMBINATIONS, ids=" ".join, scope="module")
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What came of it; see `instrumented_agent.py`."""
    evidence = tmp_path_factory.mktemp("instrumented") / "evidence.jsonl"
    module = "tests.instrument.frameworks.langchain.instrumented_agent"
    done = subprocess.run(
        [sys.executable, "-m", module, str(evidence), *request.param],
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[4],
        env={**os.environ, "CITESPAN_DIGEST_KEY": "a key for tests", "CITESPAN_POLICY": ""},
    )
    return json.loads(done.stdout.splitlines()[-1])


def ours(told: Any) -> list[Any]:
    return [span for span in told["spans"] if span["scope"] == semconv.SCOPE]


def theirs(told: Any) -> list[Any]:
    return [span for span in told["spans"] if span["scope"] != semconv.SCOPE]


def test_nothing_breaks_and_a_call_is_judged_once(told: Any) -> None:
    """Their spans are there too; the verdicts are on ours."""
    assert told["output"] == "done"
    assert told["ran"] == ["list_files", "patch_file"]
    assert told["judged"] == {"list_files": 1, "patch_file": 2}
    assert [span["status"] for span in ours(told) if span["status"]] == ["ok", "blocked", "ok"]
    assert len(theirs(told)) > 3


def test_nothing_raw_leaves_through_our_exporter(told: Any) -> None:
    """No argument, no result and no message is on any span, whoever put it there."""
    assert told["spans"]
    assert not [raw for raw in (SECRET, "a.py", "do go on") if raw in told["text"]]


def test_all_spans_are_of_one_trace(told: Any) -> None:
    """Whoever opened them."""
    assert len({span["trace"] for span in told["spans"]}) == 1


def test_their_span_of_a_judged_call_is_not_called_unguarded(told: Any) -> None:
    """It tells of the same call."""
    assert "unguarded" not in {span["status"] for span in theirs(told)}
