"""Every way to pass an argument is judged, and the body gets what it would have got unguarded."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable
from typing import Any, Literal

import pytest
from tests.guard.harness import LISTED, SECRET, Watch, refused

import citespan
from citespan.core.policy import Policy

INPUTS = {"one": LISTED[0], "two": LISTED[1], "keys": ["x", "a", "args", "extra", "self", "cls"]}
ANYTHING = Policy(mode="tag")

A, B = LISTED


def both(a: Any, b: Any = "b") -> Any:
    return ("both", a, b)


def keyword_only(*, a: Any, b: Any = "b") -> Any:
    return ("keyword_only", a, b)


def positional_only(a: Any, b: Any = "b", /) -> Any:
    return ("positional_only", a, b)


def variadic(*args: Any, **kwargs: Any) -> Any:
    return ("variadic", args, kwargs)


def mixed(a: Any, /, b: Any, *args: Any, extra: Any = "extra", **kwargs: Any) -> Any:
    return ("mixed", a, b, args, extra, kwargs)


def shadowed(a: Any, /, **kwargs: Any) -> Any:
    return ("shadowed", a, kwargs)


def nothing() -> Any:
    return ("nothing",)


CALLS: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = [
    (both, (A,), {}),
    (both, (A, B), {}),
    (both, (A,), {"b": B}),
    (both, (), {"a": A, "b": B}),
    (both, (), {"b": B, "a": A}),
    (both, ([A, [B]],), {}),
    (keyword_only, (), {"a": A}),
    (keyword_only, (), {"b": B, "a": A}),
    (positional_only, (A,), {}),
    (positional_only, (A, B), {}),
    (variadic, (), {}),
    (variadic, (A,), {}),
    (variadic, (A, B), {"x": A}),
    (variadic, (), {"x": A, "args": B}),
    (variadic, (A,), {"args": B}),
    (variadic, (), {"self": A, "cls": B}),
    (mixed, (A, B), {}),
    (mixed, (A, B, A, B), {"extra": A, "x": B}),
    (mixed, (A,), {"b": B}),
    (shadowed, (A,), {"x": B}),
    (shadowed, (A,), {"a": B}),
    (nothing, (), {}),
]
IDS = [f"{fn.__name__}-{len(args)}-{'-'.join(kwargs)}" for fn, args, kwargs in CALLS]


@pytest.mark.parametrize("fn,args,kwargs", CALLS, ids=IDS)
def test_cited_arguments_arrive_as_python_would_pass_them(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], watch: Watch
) -> None:
    with citespan.run(inputs=INPUTS):
        assert citespan.tool(fn)(*args, **kwargs) == fn(*args, **kwargs)


def _swaps(value: Any) -> list[Any]:
    """Every variant of an argument in which one text was replaced by a guess."""
    if isinstance(value, list):
        return [[*value[:at], swap, *value[at + 1 :]] for at in range(len(value)) for swap in _swaps(value[at])]
    return [SECRET]


@pytest.mark.parametrize("fn,args,kwargs", CALLS, ids=IDS)
def test_one_guess_anywhere_refuses_the_call(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], watch: Watch
) -> None:
    ran: list[Any] = []

    def body(*args: Any, **kwargs: Any) -> None:
        ran.append((args, kwargs))

    body.__signature__ = inspect.signature(fn)  # type: ignore[attr-defined]
    tool = citespan.tool(name="body")(body)
    with citespan.run(inputs=INPUTS, policy=Policy(run_max_refused=1000)):
        for at, value in enumerate(args):
            for swap in _swaps(value):
                with pytest.raises(PermissionError):
                    tool(*args[:at], swap, *args[at + 1 :], **kwargs)
        for name, value in kwargs.items():
            for swap in _swaps(value):
                with pytest.raises(PermissionError):
                    tool(*args, **{**kwargs, name: swap})
    assert ran == []


@pytest.mark.parametrize(
    "fn,args,kwargs",
    [
        (both, (), {}),
        (both, (A, B, A), {}),
        (both, (A,), {"a": B}),
        (both, (A,), {"x": B}),
        (keyword_only, (A,), {}),
        (positional_only, (), {"a": A}),
        (nothing, (A,), {}),
    ],
)
def test_a_call_that_python_rejects_is_rejected_as_python_does(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], watch: Watch
) -> None:
    with citespan.run(inputs=INPUTS, policy=ANYTHING), pytest.raises(TypeError):
        citespan.tool(fn)(*args, **kwargs)


class Files:
    """Tools as methods of an object that holds state."""

    def __init__(self) -> None:
        self.ran: list[Any] = []

    @citespan.tool
    def patch(self, path: str, *rest: str, mode: str = "r") -> Any:
        self.ran.append((path, rest, mode))
        return self

    @classmethod
    @citespan.tool
    def check(cls, path: str) -> Any:
        return (cls, path)

    @staticmethod
    @citespan.tool
    def norm(path: str) -> str:
        return path


def test_a_method_gets_its_object_and_its_arguments_are_judged(watch: Watch) -> None:
    files = Files()
    with citespan.run(inputs=INPUTS):
        assert files.patch(A, B, mode="r") is files
        assert files.patch(path=A) is files
        assert Files.patch(files, A) is files
        assert Files.check(A) == (Files, A)
        assert Files.norm(A) == A
        for guess in (
            lambda: files.patch(SECRET),
            lambda: files.patch(A, SECRET),
            lambda: files.patch(A, mode=SECRET),
            lambda: Files.patch(files, SECRET),
            lambda: Files.check(SECRET),
            lambda: Files.norm(SECRET),
        ):
            refused(guess)
    assert [entry[0] for entry in files.ran] == [A, A, A]
    assert set(watch.kinds()) == {"path"}


def test_self_and_cls_of_a_plain_function_are_arguments_like_any_other(watch: Watch) -> None:
    """A factory's inner function has a dot in its qualified name, too, and is no method."""
    ran: list[str] = []

    @citespan.tool
    def tag_class(cls: str) -> None:
        ran.append(cls)

    @citespan.tool
    def tag_self(self: str) -> None:
        ran.append(self)

    with citespan.run(inputs=INPUTS):
        for tool in (tag_class, tag_self):
            tool(A)
            refused(tool, SECRET)
    refused(tag_class, cls=SECRET)
    refused(tag_self, self=SECRET)
    assert ran == [A, A]


def test_a_default_that_was_not_sent_is_the_bodys_own_and_a_sent_one_is_of_the_schema(watch: Watch) -> None:
    marker = object()

    @citespan.tool
    def patch(path: str, mode: str = "append", hook: Any = marker) -> Any:
        return (mode, hook)

    with citespan.run(inputs=INPUTS):
        assert patch(A) == ("append", marker)
        assert watch.kinds() == {"path": "user"}
        assert patch(A, "append") == ("append", marker)
        assert watch.kinds() == {"path": "user", "mode": "schema"}
        refused(patch, A, "overwrite")


class Unit(enum.Enum):
    CELSIUS = "C"
    KELVIN = "K"


def test_the_choices_that_a_signature_names_are_of_the_schema(watch: Watch) -> None:
    @citespan.tool
    def heat(unit: Unit | str, speed: Literal["fast", "slow"], often: list[Literal["daily"]]) -> str:
        return "done"

    with citespan.run():
        assert heat(unit="C", speed="slow", often=["daily"]) == "done"
        assert set(watch.kinds().values()) == {"schema"}
        refused(heat, unit="F", speed="slow", often=["daily"])
        refused(heat, unit="C", speed="slow", often=["hourly"])


def test_a_boolean_type_alone_supplies_no_value(watch: Watch) -> None:
    @citespan.tool
    def delete(force: bool) -> str:
        return "done"

    with citespan.run():
        refused(delete, force=True)


def test_a_name_that_the_signature_does_not_declare_is_judged_itself(watch: Watch) -> None:
    ran: list[Any] = []

    @citespan.tool
    def update(**fields: Any) -> None:
        ran.append(fields)

    with citespan.run(inputs=INPUTS):
        update(x=A)
        refused(update, **{SECRET: A})
        refused(update, x=A, **{SECRET: A})
    assert ran == [{"x": A}]
    assert SECRET not in str(watch.last.assumed_fields)
