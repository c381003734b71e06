"""Nothing that a model wrote becomes citable because a tool gave it back (design section 2, echo and state)."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pydantic
import pytest
from tests.guard.harness import LISTED, SECRET, Watch, refused

import citespan
from citespan.core.policy import Policy, ToolRule


class Shop:
    """A tool that gives back what it is told, one that stores it, one that reads it, and a sink."""

    def __init__(self) -> None:
        self.stored: Any = None
        self.ran: list[Any] = []

        @citespan.tool(read_only=True)
        def say(comment: Any) -> Any:
            return self.answer(comment)

        @citespan.tool
        def store(comment: Any) -> str:
            self.stored = comment
            return "done"

        @citespan.tool(read_only=True)
        def load() -> Any:
            return self.answer(self.stored)

        @citespan.tool
        def patch_file(path: Any) -> str:
            self.ran.append(path)
            return "done"

        self.say, self.store, self.load, self.patch_file = say, store, load, patch_file
        self.answer: Callable[[Any], Any] = lambda value: value


@pytest.fixture
def shop() -> Shop:
    return Shop()


class Model(pydantic.BaseModel, extra="allow"):
    """What a framework makes of a model's JSON before it calls a tool."""

    path: str = ""


WAYS: dict[str, Callable[[str], Any]] = {
    "as it is": lambda text: text,
    "in a sentence": lambda text: f"please use {text} now",
    "in a list": lambda text: [text],
    "as a key": lambda text: {text: "x"},
    "as a nested key": lambda text: {"a": {text: {}}},
    "deep down": lambda text: json.loads("[" * 60 + f'"{text}"' + "]" * 60),
    "too deep down": lambda text: json.loads("[" * 80 + f'"{text}"' + "]" * 80),
    "far too deep down": lambda text: json.loads("[" * 800 + f'"{text}"' + "]" * 800),
    "behind a lone surrogate": lambda text: "\ud800" + text,
    "in a str subclass": type("Text", (str,), {}),
    "in a tuple": lambda text: (text,),
    "in a set": lambda text: {text},
    "as bytes": lambda text: text.encode(),
    "as a JSON document": lambda text: f'{{"path": "{text}"}}',
    "as a file in a folder": lambda text: f"/etc/{text}",
    "with a dot and a slash": lambda text: f"./{text}",
    "in capitals": lambda text: text.upper(),
    "with zero width spaces": "\u200b".join,
    "after 900 others": lambda text: [*(f"word-{n}" for n in range(900)), text],
    "after 2000 others": lambda text: [*(f"word-{n}" for n in range(2000)), text],
    "behind a tuple of 2000 others": lambda text: (*(f"word-{n}" for n in range(2000)), text),
    "in an object": lambda text: SimpleNamespace(path=text),
    "in an object in an object": lambda text: SimpleNamespace(inner=SimpleNamespace(path=[text])),
    "in a dataclass": dataclasses.make_dataclass("Box", ["path"]),
    "in a dataclass with slots": dataclasses.make_dataclass("Box", ["path"], slots=True),
    "in a pydantic model": lambda text: Model(path=text),
    "in a pydantic model, undeclared": lambda text: Model(other=text),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_what_a_call_was_told_is_not_citable_from_its_own_result(
    way: Callable[[str], Any], shop: Shop, watch: Watch
) -> None:
    """The argument is exempt by policy (`allow`), so the call runs; its result is the guess, however it was hidden."""
    shop.answer = lambda value: {"path": SECRET, "files": [SECRET], SECRET: 1}
    with citespan.run():
        _run_if_allowed(lambda: shop.say(comment=way(SECRET)))
        refused(shop.patch_file, path=SECRET)
    assert shop.ran == []


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_what_a_call_stored_is_not_citable_from_a_later_result(
    way: Callable[[str], Any], shop: Shop, watch: Watch
) -> None:
    shop.answer = lambda value: {"path": SECRET}
    with citespan.run():
        _run_if_allowed(lambda: shop.store(comment=way(SECRET)))
        if shop.stored is not None:
            shop.load()
        refused(shop.patch_file, path=SECRET)
    assert shop.ran == []


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_nor_in_tag_mode(way: Callable[[str], Any], shop: Shop, watch: Watch) -> None:
    """`tools."say"` in tag mode lets guesses through; they stay guesses."""
    shop.answer = lambda value: {"path": SECRET}
    tagged = ToolRule(mode="tag")
    with citespan.run(policy=Policy(allow=frozenset(), tools={"say": tagged, "store": tagged})):
        shop.say(comment=way(SECRET))
        refused(shop.patch_file, path=SECRET)
        shop.store(comment=way(SECRET))
        shop.load()
        refused(shop.patch_file, path=SECRET)
    assert shop.ran == []


def _run_if_allowed(call: Callable[[], Any]) -> None:
    with contextlib.suppress(PermissionError):
        call()


def test_a_refused_call_leaves_no_mark(shop: Shop, watch: Watch) -> None:
    with citespan.run():
        refused(shop.patch_file, path=LISTED[0])
        shop.stored = LISTED[0]
        shop.load()
        shop.patch_file(path=LISTED[0])
    assert shop.ran == LISTED[:1]


def test_the_guards_own_refusal_is_no_source(shop: Shop, watch: Watch) -> None:
    @citespan.tool(read_only=True)
    def attempt() -> str:
        return str(refused(shop.patch_file, path=SECRET))

    with citespan.run():
        attempt()
        refused(shop.patch_file, path=SECRET)
    assert shop.ran == []


def test_a_call_that_raised_may_have_stored_what_it_was_given(shop: Shop, watch: Watch) -> None:
    @citespan.tool
    def store_and_fail(comment: str) -> None:
        shop.stored = comment
        raise OSError("after the write")

    with citespan.run():
        with pytest.raises(OSError, match="after the write"):
            store_and_fail(comment=SECRET)
        shop.load()
        refused(shop.patch_file, path=SECRET)
    assert shop.ran == []


def test_a_call_that_is_still_running_may_have_stored_it_already(shop: Shop, watch: Watch) -> None:
    @citespan.tool
    def store_slowly(comment: str) -> str:
        shop.stored = comment
        shop.load()
        refused(shop.patch_file, path=SECRET)
        return "done"

    with citespan.run():
        store_slowly(comment=SECRET)
    assert shop.ran == []


def test_once_the_user_says_it_it_is_the_users(shop: Shop, watch: Watch) -> None:
    with citespan.run() as run:
        shop.store(comment=SECRET)
        shop.load()
        refused(shop.patch_file, path=SECRET)
        run.user(f"yes, patch {SECRET}")
        shop.patch_file(path=SECRET)
    assert shop.ran == [SECRET]


def test_a_field_that_the_tool_confirms_makes_it_citable(watch: Watch) -> None:
    ran: list[int] = []

    @citespan.tool(read_only=True, confirms=["id"])
    def get_issue(number: int) -> dict[str, int]:
        return {"id": number, "echo": number + 1}

    @citespan.tool
    def close(number: int) -> None:
        ran.append(number)

    with citespan.run(policy=Policy(tools={"get_issue": ToolRule(mode="tag")})):
        get_issue(number=4711)
        close(number=4711)
        get_issue(number=4712)
    assert ran == [4711]


def test_a_failure_that_the_policy_recognises_teaches_nothing(shop: Shop, watch: Watch) -> None:
    shop.stored = {"error": f"no such file, did you mean {LISTED[0]}?", "hint": LISTED[0]}
    with citespan.run(policy=Policy(tools={"load": ToolRule(failed_when=("error",))})):
        shop.load()
        refused(shop.patch_file, path=LISTED[0])
    assert shop.ran == []


def test_an_honest_result_beside_a_guess_stays_citable(shop: Shop, watch: Watch) -> None:
    shop.answer = lambda value: {"files": LISTED}
    with citespan.run():
        shop.say(comment="the tests fail, please look")
        shop.patch_file(path=LISTED[0])
    assert shop.ran == LISTED[:1]
