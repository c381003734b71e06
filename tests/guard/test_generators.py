"""Generators: items count when the stream ends normally, and the context is attached around each step only."""

from __future__ import annotations

import contextvars
import gc
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from opentelemetry import context as otel_context
from opentelemetry import trace
from tests.guard.harness import LISTED, SECRET, Spans, Watch, refused

import citespan
from citespan.guard.context import current_call, current_run


class Boom(Exception):
    """Somebody's own failure."""


@pytest.fixture(autouse=True)
def _no_leaked_context(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Nothing in this file may leave a context attached, or detach one that is not its own."""
    before = otel_context.get_current()
    with caplog.at_level(logging.DEBUG):
        yield
        gc.collect()
    assert "detach" not in caplog.text
    assert otel_context.get_current() == before


@pytest.fixture
def sunk() -> list[str]:
    return []


@pytest.fixture
def patch_file(sunk: list[str], watch: Watch) -> Callable[..., None]:
    @citespan.tool
    def patch_file(path: str) -> None:
        sunk.append(path)

    return patch_file


def names(trail: list[str]) -> Callable[[], Iterator[Any]]:
    """A generator tool that writes down what happens to it, and survives a `Boom` thrown in."""

    @citespan.tool
    def names() -> Iterator[Any]:
        try:
            for name in LISTED:
                try:
                    got = yield name
                    if got is not None:
                        trail.append(f"got {got}")
                except Boom:
                    trail.append("caught")
        finally:
            trail.append("closed")
        return "the end"

    return names


def test_items_are_citable_only_once_the_stream_has_ended(patch_file: Callable[..., None], sunk: list[str]) -> None:
    with citespan.run():
        steps = names([])()
        assert next(steps) == LISTED[0]
        refused(patch_file, path=LISTED[0])
        assert list(steps) == LISTED[1:]
        patch_file(path=LISTED[0])
    assert sunk == LISTED[:1]


def test_a_stream_that_is_left_early_teaches_nothing(
    patch_file: Callable[..., None], sunk: list[str], watch: Watch
) -> None:
    trail: list[str] = []
    with citespan.run():
        for name in names(trail)():
            assert name == LISTED[0]
            break
        gc.collect()
        assert trail == ["closed"]
        assert [type(told.error) for told in watch.endings[0]] == [GeneratorExit]
        refused(patch_file, path=LISTED[0])
    assert sunk == []


def test_an_exception_in_the_middle_teaches_nothing(patch_file: Callable[..., None], sunk: list[str]) -> None:
    error = Boom()

    @citespan.tool
    def names() -> Iterator[str]:
        yield LISTED[0]
        raise error

    with citespan.run():
        steps = names()
        next(steps)
        with pytest.raises(Boom) as raised:
            next(steps)
        assert raised.value is error
        refused(patch_file, path=LISTED[0])
    assert sunk == []


def test_what_is_thrown_in_and_not_caught_teaches_nothing(patch_file: Callable[..., None], sunk: list[str]) -> None:
    trail: list[str] = []
    error = KeyError("theirs")
    with citespan.run():
        steps = names(trail)()
        next(steps)
        with pytest.raises(KeyError) as raised:
            steps.throw(error)  # type: ignore[attr-defined]
        assert raised.value is error
        refused(patch_file, path=LISTED[0])
    assert (sunk, trail) == ([], ["closed"])


def test_what_is_thrown_in_reaches_the_body(watch: Watch) -> None:
    trail: list[str] = []
    with citespan.run():
        steps: Any = names(trail)()
        next(steps)
        assert steps.throw(Boom()) == LISTED[1]
        with pytest.raises(StopIteration) as end:
            next(steps)
    assert end.value.value == "the end"
    assert trail == ["caught", "closed"]


def test_what_is_sent_in_reaches_the_body(watch: Watch) -> None:
    trail: list[str] = []
    with citespan.run():
        steps: Any = names(trail)()
        next(steps)
        steps.send("a value")
    assert trail[0] == "got a value"


def test_the_consumers_context_is_its_own_between_steps(spans: Spans) -> None:
    inside: list[Any] = []

    @citespan.tool
    def names() -> Iterator[str]:
        for name in LISTED:
            call = current_call()
            inside.append((call and call.tool, trace.get_current_span().get_span_context().span_id))
            yield name

    with citespan.run() as run:
        before = otel_context.get_current()
        for _ in names():
            assert otel_context.get_current() == before
            assert current_run() is run
            assert current_call() is None
    (span,) = spans.of("names")
    assert inside == [("names", span.context.span_id)] * 2


def test_a_stream_may_be_finished_in_another_context(patch_file: Callable[..., None], sunk: list[str]) -> None:
    trail: list[str] = []
    with citespan.run():
        steps = names(trail)()
        next(steps)
        elsewhere = contextvars.Context()
        assert elsewhere.run(list, steps) == LISTED[1:]
        patch_file(path=LISTED[0])
    assert sunk == LISTED[:1]


def test_two_streams_may_be_stepped_in_turns(patch_file: Callable[..., None], sunk: list[str]) -> None:
    with citespan.run():
        pairs = list(zip(names([])(), names([])(), strict=True))
        assert pairs == [(name, name) for name in LISTED]
        patch_file(path=LISTED[1])
    assert sunk == LISTED[1:]


def test_an_item_changed_by_its_consumer_is_kept_as_it_was_yielded(
    patch_file: Callable[..., None], sunk: list[str]
) -> None:
    @citespan.tool
    def names() -> Iterator[dict[str, str]]:
        for name in LISTED:
            yield {"path": name}

    with citespan.run():
        for item in names():
            item["path"] = SECRET
        refused(patch_file, path=SECRET)
        patch_file(path=LISTED[0])
    assert sunk == LISTED[:1]


def test_an_item_without_a_json_form_leaves_the_whole_stream_unrecorded(
    patch_file: Callable[..., None], sunk: list[str], watch: Watch
) -> None:
    odd = object()

    @citespan.tool
    def names() -> Iterator[Any]:
        yield LISTED[0]
        yield odd

    with citespan.run():
        assert list(names()) == [LISTED[0], odd]
        assert "not recorded" in str(watch.ending.note)
        refused(patch_file, path=LISTED[0])
    assert sunk == []


@pytest.mark.parametrize("how", ["close", "throw", "drop"])
def test_what_a_body_does_when_it_is_left_early_is_inside_its_call(
    how: str, patch_file: Callable[..., None], sunk: list[str]
) -> None:
    """Its cleanup may open a nested run: what that is told is an argument of the call, no human's word."""

    @citespan.tool
    def delegate(comment: str) -> Iterator[str]:
        try:
            yield "started"
        finally:
            with citespan.run(inputs={"task": comment}):
                pass

    with citespan.run():
        steps: Any = delegate(comment=SECRET)
        next(steps)
        if how == "close":
            steps.close()
        elif how == "throw":
            with pytest.raises(Boom):
                steps.throw(Boom())
        del steps
        gc.collect()
        refused(patch_file, path=SECRET)
    assert sunk == []


def test_a_guessed_stream_is_refused_when_it_is_first_stepped(watch: Watch) -> None:
    ran: list[str] = []

    @citespan.tool
    def names(root: str) -> Iterator[str]:
        ran.append(root)
        yield root

    with citespan.run():
        steps = names(root=SECRET)
        refused(next, steps)
        assert list(steps) == []
    assert ran == []
