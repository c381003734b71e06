"""A forked child has a copy of the run: it may cite what was observed, but what is free or approved is the parent's."""

from __future__ import annotations

import contextlib
import json
import os
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from tests.guard.harness import LISTED, ONE, SECRET, TAG, Watch, refused

import citespan
from citespan.core.decision import ProvenanceDenied
from citespan.core.policy import ArgumentRule, Policy, ToolRule

NEW = ArgumentRule(accept=frozenset({"invented", "observed"}), propose_against="names.*")
PROPOSE = Policy(tools={"patch_file": ToolRule(arguments={"path": NEW})})


def in_child(work: Callable[[], Any]) -> Any:
    """What `work` returns in a forked child, as JSON; the child does nothing else."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a process with threads: the child only judges
        child = os.fork()
    if child == 0:
        try:
            os.write(writing, json.dumps(work()).encode())
        except BaseException as error:
            os.write(writing, json.dumps(f"{type(error).__name__}: {error}").encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        data = answer.read()
    os.waitpid(child, 0)
    return json.loads(data)


class Tools:
    """A listing and a sink whose body writes down which process it ran in."""

    def __init__(self) -> None:
        self.ran: list[str] = []

        @citespan.tool(read_only=True)
        def names() -> list[str]:
            return list(LISTED)

        @citespan.tool
        def patch_file(path: str) -> str:
            self.ran.append(path)
            return "done"

        self.names, self.patch_file = names, patch_file

    def attempt(self, path: str) -> list[str]:
        """Try to patch a path; what ran in this process."""
        with contextlib.suppress(ProvenanceDenied):
            self.patch_file(path=path)
        return self.ran


@pytest.fixture
def tools(watch: Watch) -> Tools:
    return Tools()


# the budget


def test_no_number_of_children_multiplies_the_budget(tools: Tools) -> None:
    with citespan.run(policy=ONE):
        assert [in_child(lambda: tools.attempt(SECRET)) for _ in range(3)] == [[], [], []]


def test_what_is_free_is_still_the_parents(tools: Tools) -> None:
    with citespan.run(policy=ONE):
        in_child(lambda: tools.attempt(SECRET))
        tools.patch_file(path=SECRET)
        refused(tools.patch_file, path=f"{SECRET}-2")
    assert tools.ran == [SECRET]


def test_a_child_of_a_child_has_none_either(tools: Tools) -> None:
    with citespan.run(policy=ONE):
        assert in_child(lambda: in_child(lambda: tools.attempt(SECRET))) == []


def test_a_run_that_is_nested_in_the_child_has_none(tools: Tools) -> None:
    def work() -> list[str]:
        with citespan.run(policy=ONE):
            return tools.attempt(SECRET)

    with citespan.run(policy=ONE):
        assert in_child(work) == []


def test_a_run_that_the_child_opens_itself_has_its_own(tools: Tools) -> None:
    def work() -> list[str]:
        with citespan.run(policy=ONE):
            tools.attempt(SECRET)
            return tools.attempt(f"{SECRET}-2")

    assert in_child(work) == [SECRET]


def test_a_child_may_cite_what_the_parent_observed(tools: Tools) -> None:
    with citespan.run(policy=ONE):
        tools.names()
        assert in_child(lambda: tools.attempt(LISTED[0])) == LISTED[:1]


def test_a_child_may_cite_what_it_observed_itself(tools: Tools) -> None:
    def work() -> list[str]:
        tools.names()
        return tools.attempt(LISTED[0])

    with citespan.run(policy=ONE):
        assert in_child(work) == LISTED[:1]


def test_in_tag_mode_a_child_goes_on(tools: Tools) -> None:
    with citespan.run(policy=TAG):
        assert in_child(lambda: tools.attempt(SECRET)) == [SECRET]


# approvals


def propose(run: citespan.Run) -> bool:
    return run.propose("patch_file", "path", SECRET, reviewer=lambda proposal: True)


def test_what_was_approved_in_the_parent_is_used_by_no_child(tools: Tools) -> None:
    with citespan.run(policy=PROPOSE) as run:
        tools.names()
        assert propose(run)
        assert [in_child(lambda: tools.attempt(SECRET)) for _ in range(2)] == [[], []]


def test_and_is_there_for_the_parent_afterwards(tools: Tools) -> None:
    with citespan.run(policy=PROPOSE) as run:
        tools.names()
        assert propose(run)
        in_child(lambda: tools.attempt(SECRET))
        tools.patch_file(path=SECRET)
        refused(tools.patch_file, path=SECRET)
    assert tools.ran == [SECRET]


def test_a_waiting_approval_does_not_keep_a_child_from_citing(tools: Tools) -> None:
    with citespan.run(policy=PROPOSE) as run:
        tools.names()
        assert propose(run)
        assert in_child(lambda: tools.attempt(LISTED[1])) == LISTED[1:]


# what the parent has stopped


def test_a_child_of_a_stopped_run_is_stopped(tools: Tools) -> None:
    with citespan.run(policy=Policy(run_max_refused=0)):
        tools.names()
        refused(tools.patch_file, path=SECRET)
        refused(tools.patch_file, path=LISTED[0])
        assert in_child(lambda: tools.attempt(LISTED[0])) == []
