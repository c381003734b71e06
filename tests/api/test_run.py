"""`citespan.run`: what it declares, hears, is handed, proposes, and how it is opened and closed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from opentelemetry import context as otel_context
from tests.guard.harness import LISTED, SECRET, Spans, Toolbox, Watch, refused

import citespan
from citespan.core.policy import ArgumentRule, Policy, ToolRule
from citespan.core.proposals import Proposal
from citespan.errors import UsageError
from citespan.guard.context import current_run
from citespan.guard.registry import registry


@pytest.fixture
def box(watch: Watch) -> Toolbox:
    return Toolbox()


def test_it_is_current_inside_and_not_after(watch: Watch) -> None:
    before = otel_context.get_current()
    with citespan.run("agent") as run:
        assert current_run() is run
        assert run.name == "agent"
    assert current_run() is None
    assert otel_context.get_current() == before


async def test_it_is_an_async_context_as_well(box: Toolbox) -> None:
    async with citespan.run(inputs={"path": SECRET}) as run:
        assert current_run() is run
        await asyncio.sleep(0)
        box.patch_file(path=SECRET)
    assert current_run() is None
    assert box.ran == [SECRET]


def test_it_closes_when_an_exception_leaves_it(spans: Spans) -> None:
    error = ValueError(SECRET)
    with pytest.raises(ValueError, match=SECRET) as raised, citespan.run("agent"):
        raise error
    assert raised.value is error
    assert current_run() is None
    (span,) = spans.all()
    assert span.name == "invoke_agent agent"
    assert not span.status.is_ok
    assert SECRET not in spans.text()


def test_its_span_is_the_conventions(spans: Spans) -> None:
    with citespan.run("agent", run_id="conversation-1"):
        pass
    with citespan.run():
        pass
    named, plain = spans.all()
    assert (named.name, plain.name) == ("invoke_agent agent", "invoke_agent")
    assert dict(named.attributes or {}) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.conversation.id": "conversation-1",
        "gen_ai.agent.name": "agent",
    }
    assert named.instrumentation_scope is not None
    assert named.instrumentation_scope.name == "citespan"


def test_entering_it_twice_is_a_mistake(watch: Watch) -> None:
    with citespan.run() as run, pytest.raises(UsageError), run:
        raise AssertionError("entered")
    assert current_run() is None


async def test_entering_it_twice_is_a_mistake_in_async_code_too(watch: Watch) -> None:
    async with citespan.run() as run:
        with pytest.raises(UsageError):
            await run.__aenter__()
        assert current_run() is run
    assert current_run() is None


def test_declared_inputs_are_the_users_by_value_and_by_whole_token(box: Toolbox, watch: Watch) -> None:
    inputs = {"task": "fix README.md in acme/web", "issue": 51234, "deep": [{"path": "src/deep.py"}], "empty": ""}
    with citespan.run(inputs=inputs):
        for path in ("README.md", "acme/web", "src/deep.py", 51234):
            box.patch_file(path=path)
            assert watch.kinds() == {"path": "user"}
        for path in ("README", "web", "deep.py.bak", 5123, "51", SECRET):
            refused(box.patch_file, path=path)
    assert len(box.ran) == 4


def test_inputs_are_copied_when_they_are_declared(box: Toolbox) -> None:
    inputs: dict[str, Any] = {"paths": [LISTED[0]]}
    run = citespan.run(inputs=inputs)
    inputs["paths"].append(SECRET)
    inputs["more"] = SECRET
    with run:
        refused(box.patch_file, path=SECRET)
        box.patch_file(path=LISTED[0])
    assert box.ran == LISTED[:1]


def test_what_the_user_says_counts_from_then_on(box: Toolbox, watch: Watch) -> None:
    with citespan.run() as run:
        refused(box.patch_file, path="notes/todo.md")
        run.user("please fix notes/todo.md, thanks")
        box.patch_file(path="notes/todo.md")
    assert box.ran == ["notes/todo.md"]
    assert watch.kinds() == {"path": "user"}


def test_what_the_host_hands_in_is_the_users_under_its_name(box: Toolbox, spans: Spans) -> None:
    registry.telemetry = spans.telemetry
    with citespan.run() as run:
        run.observe("ticket", {"repo": "acme/web", "labels": ["urgent-fix"]})
        box.patch_file(path="acme/web")
        box.patch_file(path="urgent-fix")
        refused(box.patch_file, path="urgent")
    told = [dict(span.attributes or {}) for span in spans.of("patch_file")]
    assert [one.get("provenance.source_field.path") for one in told] == ["ticket.repo", "ticket.labels.*", None]
    assert [one["provenance.kind.path"] for one in told] == ["user", "user", "assumed"]


@pytest.mark.parametrize("text", [None, 1, b"bytes", ["text"], {"text": "x"}, type("Text", (str,), {})("x")])
def test_only_text_is_said(text: Any, watch: Watch) -> None:
    with citespan.run() as run, pytest.raises(UsageError):
        run.user(text)


UNREADABLE = [b"bytes", {1, 2}, object(), ValueError("x"), iter([]), lambda: None, "lone \ud800", float("nan")]


@pytest.mark.parametrize("value", UNREADABLE, ids=lambda value: type(value).__name__)
def test_inputs_that_are_no_json_are_a_mistake(value: Any, watch: Watch) -> None:
    with pytest.raises(UsageError):
        citespan.run(inputs={"value": value})
    with pytest.raises(UsageError):
        citespan.run(inputs={"value": [{"deep": value}]})
    with citespan.run() as run, pytest.raises(UsageError):
        run.observe("value", value)


def test_a_mistake_in_the_inputs_names_no_value(watch: Watch) -> None:
    with pytest.raises(UsageError) as raised:
        citespan.run("agent", inputs={"key": SECRET, "value": object()})
    assert SECRET not in str(raised.value)
    assert "agent" in str(raised.value)


INVENT = Policy(
    tools={
        "create_file": ToolRule(
            arguments={"path": ArgumentRule(accept=frozenset({"invented"}), propose_against="list_files.files.*")}
        )
    }
)


class Creation:
    def __init__(self) -> None:
        self.made: list[str] = []

        @citespan.tool
        def create_file(path: str) -> str:
            self.made.append(path)
            return "done"

        self.create_file = create_file


@pytest.fixture
def creation(watch: Watch) -> Creation:
    return Creation()


def yes(proposal: Proposal) -> bool:
    return True


def test_an_approved_proposal_may_be_used_once(creation: Creation, box: Toolbox, watch: Watch) -> None:
    seen: list[Proposal] = []

    def review(proposal: Proposal) -> bool:
        seen.append(proposal)
        return True

    with citespan.run(inputs={"root": "."}, policy=INVENT) as run:
        box.list_files(root=".")
        refused(creation.create_file, path="docs/new.md")
        assert run.propose("create_file", "path", "docs/new.md", reason="a page of its own", reviewer=review)
        creation.create_file(path="docs/new.md")
        assert watch.kinds() == {"path": "invented"}
        refused(creation.create_file, path="docs/new.md")
    assert creation.made == ["docs/new.md"]
    assert [(one.tool, one.argument, one.value, one.reason) for one in seen] == [
        ("create_file", "path", "docs/new.md", "a page of its own")
    ]


def test_an_approval_covers_one_tool_one_argument_one_value(creation: Creation, box: Toolbox) -> None:
    with citespan.run(inputs={"root": "."}, policy=INVENT) as run:
        box.list_files(root=".")
        assert run.propose("create_file", "path", "docs/new.md", reviewer=yes)
        refused(creation.create_file, path="docs/other.md")
        refused(box.patch_file, path="docs/new.md")
        creation.create_file(path="docs/new.md")
    assert creation.made == ["docs/new.md"]


def test_a_proposal_needs_a_reviewer_that_says_yes(creation: Creation, box: Toolbox) -> None:
    with citespan.run(inputs={"root": "."}, policy=INVENT) as run:
        box.list_files(root=".")
        assert not run.propose("create_file", "path", "docs/new.md")
        assert not run.propose("create_file", "path", "docs/new.md", reviewer=lambda proposal: False)
        refused(creation.create_file, path="docs/new.md")
    assert creation.made == []


@pytest.mark.parametrize("taken", ["src/app.py", "./src/app.py", "SRC/App.py", "src//app.py"])
def test_a_proposal_of_something_that_is_there_is_not_shown_to_the_reviewer(
    taken: str, creation: Creation, box: Toolbox
) -> None:
    with citespan.run(inputs={"root": "."}, policy=INVENT) as run:
        box.list_files(root=".")
        assert not run.propose("create_file", "path", taken, reviewer=yes)
        refused(creation.create_file, path=taken)
    assert creation.made == []


def test_a_proposal_needs_the_listing_to_have_been_seen(creation: Creation, box: Toolbox) -> None:
    with citespan.run(inputs={"root": "."}, policy=INVENT) as run:
        assert not run.propose("create_file", "path", "docs/new.md", reviewer=yes)
        box.list_files(root=".")
        assert run.propose("create_file", "path", "docs/new.md", reviewer=yes)


def test_a_listing_that_was_asked_for_with_a_guess_shows_nothing_absent(creation: Creation, box: Toolbox) -> None:
    policy = INVENT.evolve(tools={**INVENT.tools, "list_files": ToolRule(mode="tag")})
    with citespan.run(policy=policy) as run:
        box.list_files(root="somewhere/else")
        assert not run.propose("create_file", "path", "docs/new.md", reviewer=yes)


def test_a_proposal_for_an_argument_without_a_listing_in_the_policy_is_refused(box: Toolbox) -> None:
    with citespan.run(inputs={"root": "."}, policy=INVENT) as run:
        box.list_files(root=".")
        assert not run.propose("patch_file", "path", "docs/new.md", reviewer=yes)
        assert not run.propose("create_file", "comment", "docs/new.md", reviewer=yes)


def test_a_reviewer_that_fails_approves_nothing(creation: Creation, box: Toolbox) -> None:
    def review(proposal: Proposal) -> bool:
        raise RuntimeError("gone home")

    with citespan.run(inputs={"root": "."}, policy=INVENT) as run:
        box.list_files(root=".")
        with pytest.raises(RuntimeError, match="gone home"):
            run.propose("create_file", "path", "docs/new.md", reviewer=review)
        refused(creation.create_file, path="docs/new.md")
    assert creation.made == []
