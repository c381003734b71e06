"""What is done before, around and after a test that is watched."""

from __future__ import annotations

import contextvars
import functools
import inspect
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from citespan.core.decision import ProvenanceDenied
from citespan.errors import CitespanError
from citespan.testing.marker import asked, said
from citespan.testing.run import CitespanRun
from citespan.testing.verdict import findings, message


def opened(item: pytest.Item, marker: str) -> CitespanRun:
    """Open the run of a test.

    Raises:
        pytest.fail.Exception: a marker is wrong, or the policy cannot be used; says which test's.
    """
    try:
        return CitespanRun(asked(item, marker))
    except CitespanError as error:
        why = said(error, item, marker)
    pytest.fail(why, pytrace=False)


def called(item: pytest.Item, run: CitespanRun) -> Generator[None, Any, Any]:
    """Run the test's body inside its run.

    A body that raises keeps its exception, and what its tools did stands in a section of the failure.

    Raises:
        pytest.fail.Exception: the body ended well, but its tool calls do not let it pass.
    """
    try:
        with _inside(item, run):
            result = yield
    except (KeyboardInterrupt, pytest.exit.Exception):
        run.close()  # there will be no teardown
        raise
    except pytest.skip.Exception:
        text = _verdict(run)
        if text:
            pytest.fail(text, pytrace=False)
        raise
    except BaseException as error:
        if isinstance(error, ProvenanceDenied):
            _cut(error)
        _add(item, _verdict(run))
        raise
    text = _verdict(run)
    if text and getattr(item, "_excinfo", None):  # a TestCase keeps its exceptions to itself
        _add(item, text)
    elif text:
        pytest.fail(text, pytrace=False)
    return result


def torn_down(run: CitespanRun) -> Generator[None, Any, Any]:
    """Close the run.

    Raises:
        pytest.fail.Exception: fixtures made calls, before or after the body, that do not let the test pass.
    """
    try:
        result = yield
        text = _verdict(run)
    finally:
        run.close()
    if text:
        pytest.fail(text, pytrace=False)
    return result


def _verdict(run: CitespanRun) -> str:
    """What is wrong by now and was not said yet; "" for nothing. The trace is closed."""
    run.finish()
    happened = run.happened
    found = findings(happened, run.asked, run.full)
    news = tuple(finding for finding in found if finding.text not in run.told)
    run.told |= {finding.text for finding in found}
    return message(news, happened, run.asked) if news else ""


def _cut(refusal: ProvenanceDenied) -> None:
    """Let the traceback of a refusal end where the agent called the tool: what follows is the guard's."""
    last, step = None, refusal.__traceback__
    while step is not None:
        if not step.tb_frame.f_globals.get("__name__", "").startswith("citespan."):
            last = step
        step = step.tb_next
    if last is not None:
        last.tb_next = None


def _add(item: pytest.Item, text: str) -> None:
    if text:
        item.add_report_section("call", "citespan", text)


@contextmanager
def _inside(item: pytest.Item, run: CitespanRun) -> Iterator[None]:
    """See to it that an async test runs inside its run.

    A sync test does, as the fixtures do. The task of an async one may be older: a fixture of the module started it. A
    TestCase that is async has a context of its own, as old as the collection of the tests.
    """
    case: Any = getattr(item, "instance", None)
    if hasattr(case, "_asyncioTestContext"):
        case._asyncioTestContext = contextvars.copy_context()
    if not isinstance(item, pytest.Function) or not inspect.iscoroutinefunction(item.obj):
        yield
        return
    body = item.obj

    @functools.wraps(body)
    async def inside(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        with run.inside():
            return await body(*args, **kwargs)

    item.obj = inside
    try:
        yield
    finally:
        item.obj = body
