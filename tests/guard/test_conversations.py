"""One conversation is one run: what ended is over, what interleaves stays apart, and what was stopped stays stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import Any

import pytest
from opentelemetry import context as otel_context
from tests.guard.harness import LISTED, SECRET, Toolbox, Watch, refused

import citespan
from citespan.core.decision import ProvenanceDenied
from citespan.core.policy import Policy, ToolRule
from citespan.errors import UsageError

ANNAS = "berth-20931"


@pytest.fixture
def box(watch: Watch) -> Toolbox:
    return Toolbox()


@pytest.fixture(autouse=True)
def _own_context() -> Any:
    """Conversations that end out of order leave a context behind; it must not reach the next test."""
    token = otel_context.attach(otel_context.Context())
    yield
    otel_context.detach(token)


# a run that has ended


def serve_later(box: Toolbox, ask: Callable[[], None], **second: Any) -> list[str]:
    """Start a worker inside conversation 1, end that, and let the worker serve conversation 2."""

    async def main() -> list[str]:
        over, outcome = asyncio.Event(), list[str]()

        async def worker() -> None:
            await over.wait()
            with citespan.run("second", **second):
                try:
                    ask()
                    outcome.append("ran")
                except ProvenanceDenied:
                    outcome.append("refused")

        async def first() -> asyncio.Task[None]:
            with citespan.run("first", run_id="anna") as run:
                run.user(f"my place is {ANNAS}")
                box.names()
                return asyncio.create_task(worker())

        started = await first()
        over.set()
        await started
        return outcome

    return asyncio.run(main())


@pytest.mark.parametrize("second", [{}, {"run_id": "bert"}, {"run_id": "anna"}], ids=["no id", "another", "the same"])
@pytest.mark.parametrize("value", [LISTED[0], ANNAS], ids=["observed", "said"])
def test_a_worker_that_outlives_a_conversation_cites_nothing_of_it_in_the_next(
    value: str, second: dict[str, Any], box: Toolbox
) -> None:
    assert serve_later(box, lambda: box.patch_file(path=value), **second) == ["refused"]
    assert box.ran == []


def test_such_a_worker_serves_its_own_conversation(box: Toolbox) -> None:
    asked = serve_later(box, lambda: box.patch_file(path="quay-7.md"), inputs={"file": "quay-7.md"})
    assert (asked, box.ran) == (["ran"], ["quay-7.md"])


def test_what_it_learns_there_does_not_go_back_into_the_ended_one(box: Toolbox) -> None:
    with citespan.run() as first:
        context = otel_context.get_current()
    token = otel_context.attach(context)
    try:
        with citespan.run() as second:
            box.names()
    finally:
        otel_context.detach(token)
    assert second.state is not first.state
    assert not first.state.ledger.tools()


def test_a_worker_of_an_open_conversation_still_joins_it(box: Toolbox) -> None:
    async def helper() -> None:
        with citespan.run("helper"):
            box.patch_file(path=LISTED[0])

    async def main() -> None:
        with citespan.run("boss"):
            box.names()
            await asyncio.create_task(helper())

    asyncio.run(main())
    assert box.ran == LISTED[:1]


def test_a_run_object_is_entered_once(box: Toolbox) -> None:
    run = citespan.run()
    with run:
        run.user(f"my place is {ANNAS}")
    with pytest.raises(UsageError, match="over"), run:
        box.patch_file(path=ANNAS)
    assert box.ran == []


def test_nor_is_it_entered_again_after_its_block_raised(box: Toolbox) -> None:
    run = citespan.run()
    with pytest.raises(KeyError), run:
        raise KeyError("the agent's own")
    with pytest.raises(UsageError, match="over"), run:
        box.names()


def test_nor_an_asynchronous_one(box: Toolbox) -> None:
    async def main() -> None:
        run = citespan.run()
        async with run:
            box.names()
        with pytest.raises(UsageError, match="over"):
            async with run:
                box.patch_file(path=LISTED[0])

    asyncio.run(main())
    assert box.ran == []


def test_a_refused_second_entry_leaves_no_run_open(box: Toolbox) -> None:
    run = citespan.run(inputs={"file": LISTED[0]})
    with run:
        box.patch_file(path=LISTED[0])
    with pytest.raises(UsageError):
        run.__enter__()
    refused(box.patch_file, path=LISTED[0])
    assert box.ran == LISTED[:1]


# conversations that interleave in one thread


def conversation(run_id: str, message: str, act: Callable[[], Any]) -> Generator[str, None, None]:
    """A conversation that is suspended after its message, and after each of its attempts."""
    with citespan.run("chat", run_id=run_id) as run:
        run.user(message)
        yield "heard"
        while True:
            try:
                act()
                yield "ran"
            except ProvenanceDenied:
                yield "refused"


def test_two_interleaved_conversations_do_not_share_what_was_said(box: Toolbox) -> None:
    anna = conversation("anna", f"my place is {ANNAS}", box.names)
    bert = conversation("bert", "good morning", lambda: box.patch_file(path=ANNAS))
    assert [next(anna), next(bert), next(bert)] == ["heard", "heard", "refused"]
    bert.close()
    anna.close()
    assert box.ran == []


def test_nor_what_was_observed(box: Toolbox) -> None:
    anna = conversation("anna", "good morning", box.names)
    bert = conversation("bert", "good morning", lambda: box.patch_file(path=LISTED[0]))
    assert [next(anna), next(anna), next(bert), next(bert)] == ["heard", "ran", "heard", "refused"]
    bert.close()
    anna.close()
    assert box.ran == []


def test_each_of_them_hears_its_own_user(box: Toolbox) -> None:
    anna = conversation("anna", "good morning", box.names)
    bert = conversation("bert", f"my place is {ANNAS}", lambda: box.patch_file(path=ANNAS))
    assert [next(anna), next(bert), next(bert)] == ["heard", "heard", "ran"]
    bert.close()
    anna.close()
    assert box.ran == [ANNAS]


def test_conversations_with_one_id_are_one(box: Toolbox) -> None:
    with citespan.run(run_id="anna") as outer:
        outer.user(f"my place is {ANNAS}")
        with citespan.run(run_id="anna"):
            box.patch_file(path=ANNAS)
    assert box.ran == [ANNAS]


@pytest.mark.parametrize("after", [{}, {"run_id": "carl"}], ids=["no id", "another id"])
def test_conversations_that_end_out_of_order_leave_nothing_citable_to_the_next(
    after: dict[str, Any], box: Toolbox
) -> None:
    anna = conversation("anna", f"my place is {ANNAS}", box.names)
    bert = conversation("bert", f"open {SECRET}", box.names)
    assert [next(anna), next(bert), next(anna), next(bert)] == ["heard", "heard", "ran", "ran"]
    anna.close()
    bert.close()
    with citespan.run(**after):
        for path in (ANNAS, SECRET, LISTED[0]):
            refused(box.patch_file, path=path)
    assert box.ran == []


def test_nor_to_a_call_outside_any_run(box: Toolbox) -> None:
    anna = conversation("anna", f"my place is {ANNAS}", box.names)
    bert = conversation("bert", f"open {SECRET}", box.names)
    assert [next(anna), next(bert), next(anna), next(bert)] == ["heard", "heard", "ran", "ran"]
    anna.close()
    bert.close()
    for path in (ANNAS, SECRET, LISTED[0]):
        refused(box.patch_file, path=path)
    assert box.ran == []


# a run that is used by the name it was made under


class Inner:
    """A run inside another one, entered with `as` or without."""

    def __init__(self, how: str) -> None:
        self._made = citespan.run("inner")
        self._how = how

    def __enter__(self) -> citespan.Run:
        entered = self._made.__enter__()
        return entered if self._how == "as" else self._made

    def __exit__(self, *error: Any) -> None:
        self._made.__exit__(*error)


BOTH = pytest.mark.parametrize("how", ["as", "by its own name"])


@BOTH
def test_a_nested_run_hears_a_human(how: str, box: Toolbox) -> None:
    with citespan.run(), Inner(how) as inner:
        inner.user(f"my place is {ANNAS}")
        box.patch_file(path=ANNAS)
    assert box.ran == [ANNAS]


@BOTH
def test_a_nested_run_takes_what_the_host_vouches_for(how: str, box: Toolbox) -> None:
    with citespan.run(), Inner(how) as inner:
        inner.observe("session", {"place": ANNAS})
        box.patch_file(path=ANNAS)
    assert box.ran == [ANNAS]


@BOTH
def test_the_outer_run_knows_what_a_nested_one_heard(how: str, box: Toolbox) -> None:
    with citespan.run():
        with Inner(how) as inner:
            inner.user(f"my place is {ANNAS}")
        box.patch_file(path=ANNAS)
    assert box.ran == [ANNAS]


@BOTH
def test_a_step_of_a_nested_run_keeps_its_calls_apart(how: str, box: Toolbox) -> None:
    with citespan.run(), Inner(how) as inner:
        inner.step()
        box.names()
        refused(box.patch_file, path=LISTED[0])
        inner.step()
        box.patch_file(path=LISTED[0])
    assert box.ran == LISTED[:1]


@BOTH
def test_a_step_that_is_a_block_does_so_too(how: str, box: Toolbox) -> None:
    with citespan.run(), Inner(how) as inner:
        with inner.step():
            box.names()
            refused(box.patch_file, path=LISTED[0])
        box.patch_file(path=LISTED[0])
    assert box.ran == LISTED[:1]


@BOTH
def test_a_nested_run_inside_a_body_hears_nobody(how: str, box: Toolbox) -> None:
    @citespan.tool
    def delegate(comment: str) -> str:
        with Inner(how) as inner:
            inner.user(comment)
            inner.observe("task", comment)
            refused(box.patch_file, path=comment)
        return "done"

    with citespan.run():
        delegate(comment=SECRET)
    assert box.ran == []


# a run that has had too many refusals

FEW = Policy(run_max_refused=2)


def stopped(box: Toolbox) -> None:
    """Guess until the run stops; then a cited call is refused."""
    box.names()
    for number in range(3):
        refused(box.patch_file, path=f"{SECRET}-{number}")


def test_after_too_many_refusals_not_even_a_cited_call_runs(box: Toolbox) -> None:
    with citespan.run(policy=FEW):
        stopped(box)
        denied = refused(box.patch_file, path=LISTED[0])
        refused(box.names)
    assert box.ran == []
    assert {violation.rule for violation in denied.decision.violations} == {"refusals"}
    assert "the run stops" in str(denied)


def test_as_many_refusals_as_the_policy_grants_stop_nothing(box: Toolbox) -> None:
    with citespan.run(policy=FEW):
        box.names()
        for number in range(2):
            refused(box.patch_file, path=f"{SECRET}-{number}")
        box.patch_file(path=LISTED[0])
    assert box.ran == LISTED[:1]


def test_a_nested_run_of_a_stopped_one_is_stopped(box: Toolbox) -> None:
    with citespan.run(policy=FEW):
        stopped(box)
        with citespan.run(policy=Policy()):
            refused(box.patch_file, path=LISTED[0])
    assert box.ran == []


def test_a_tool_in_tag_mode_goes_on_in_a_stopped_run(box: Toolbox) -> None:
    policy = FEW.evolve(tools={"names": ToolRule(mode="tag")})
    with citespan.run(policy=policy):
        stopped(box)
        assert box.names() == LISTED
        refused(box.patch_file, path=LISTED[0])
    assert box.ran == []


def test_in_tag_mode_nothing_ever_stops(box: Toolbox) -> None:
    guesses = [f"{SECRET}-{number}" for number in range(5)]
    with citespan.run(policy=FEW.evolve(mode="tag")):
        for guess in guesses:
            box.patch_file(path=guess)
    assert box.ran == guesses


def test_the_next_run_starts_anew(box: Toolbox) -> None:
    with citespan.run(policy=FEW):
        stopped(box)
    with citespan.run(policy=FEW, inputs={"file": LISTED[0]}):
        box.patch_file(path=LISTED[0])
    assert box.ran == LISTED[:1]
