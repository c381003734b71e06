"""What a result becomes: the body's own object for the caller, a documented JSON reading or nothing for the ledger."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import functools
import uuid
from collections import OrderedDict, UserDict, deque, namedtuple
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Any

import pydantic
import pytest
from tests.api.recorded import calls

import citespan


@dataclasses.dataclass
class File:
    path: str
    size: int = 4711


class Model(pydantic.BaseModel):
    path: str
    nested: dict[str, int] = {"size": 4711}


class Colour(enum.Enum):
    RED = "red-one"


class Text(str):
    """A text that lies about itself."""

    __slots__ = ()

    def __str__(self) -> str:
        return "a lie"

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


class Scalar:
    """Looks like a numpy scalar to whoever cannot import numpy."""

    ndim = 0

    def __init__(self, value: Any) -> None:
        self._value = value

    def item(self) -> Any:
        return self._value


class Array(Scalar):
    ndim = 1


Scalar.__module__ = Array.__module__ = "numpy"
Pair = namedtuple("Pair", "path size")


class Trap:
    """Every way to look at it raises."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("do not look")

    def __str__(self) -> str:
        raise RuntimeError("do not look")

    __repr__ = __str__


class BadModel(pydantic.BaseModel):
    path: str = "src/app.py"

    @pydantic.model_serializer
    def fail(self) -> Any:
        raise RuntimeError("cannot be written")


def cycle() -> list[Any]:
    value: list[Any] = ["src/app.py"]
    value.append(value)
    return value


def odd_file() -> File:
    file = File("src/app.py")
    file.path = object()  # type: ignore[assignment]
    return file


#: (result, values that are citable from it, values that are not)
READABLE: dict[str, tuple[Callable[[], Any], list[Any], list[Any]]] = {
    "a path": (lambda: PurePosixPath("src/app.py"), ["src/app.py"], []),
    "a decimal": (lambda: decimal.Decimal("4711.5"), ["4711.5"], [4711.5]),
    "a text": (lambda: "src/app.py", ["src/app.py"], ["src", "result"]),
    "a number": (lambda: 4711, [4711, 4711.0], ["4711", 471]),
    "a float": (lambda: 0.1 + 0.2, [0.1 + 0.2], [0.3]),
    "a list": (lambda: ["src/app.py", {"a": 1234}], ["src/app.py", 1234], [12]),
    "a tuple": (lambda: ("src/app.py", (1234,)), ["src/app.py", 1234], []),
    "a named tuple": (lambda: Pair("src/app.py", 4711), ["src/app.py", 4711], []),
    "a dataclass": (lambda: File("src/app.py"), ["src/app.py", 4711], []),
    "a pydantic model": (lambda: Model(path="src/app.py"), ["src/app.py", 4711], []),
    "a list of models": (lambda: [Model(path="src/app.py")], ["src/app.py", 4711], []),
    "an enum": (lambda: {"c": Colour.RED}, ["red-one"], ["RED"]),
    "a uuid": (lambda: uuid.UUID(int=7), ["00000000-0000-0000-0000-000000000007"], []),
    "a date": (lambda: datetime.date(2024, 5, 6), ["2024-05-06"], ["06/05/2024", 2024]),
    "an ordered dict": (lambda: OrderedDict(path="src/app.py"), ["src/app.py"], []),
    "keys that are numbers": (lambda: {1234: "src/app.py"}, ["src/app.py", "1234"], [1234]),
    "a numpy scalar": (lambda: {"n": Scalar(4711)}, [4711], []),
    "a numpy scalar by itself": (lambda: Scalar("src/app.py"), ["src/app.py"], []),
    "an unsigned 64 bit number": (lambda: 2**64 - 1, [2**64 - 1], [2**64, 2**64 - 2, float(2**64)]),
    "the largest exact integer": (lambda: 2**53, [2**53], [2**53 + 1]),
    "a JSON document as text": (lambda: '{"path": "src/app.py"}', ["src/app.py"], []),
}
#: not recorded, and the span says so
UNREADABLE: dict[str, Callable[[], Any]] = {
    "bytes": lambda: b"src/app.py",
    "bytes inside": lambda: {"path": "src/app.py", "data": b"x"},
    "a set": lambda: {"src/app.py"},
    "an object": object,
    "an object that cannot be looked at": Trap,
    "an object inside": lambda: ["src/app.py", object()],
    "an exception": lambda: ValueError("src/app.py"),
    "an exception inside": lambda: {"path": "src/app.py", "error": ValueError()},
    "an iterator": lambda: iter(["src/app.py"]),
    "a map": lambda: map(str, ["src/app.py"]),
    "a view": {"src/app.py": 1}.keys,
    "a deque": lambda: deque(["src/app.py"]),
    "a user dict": lambda: UserDict(path="src/app.py"),
    "a function": lambda: print,
    "a class": lambda: File,
    "a numpy array": lambda: Array(["src/app.py"]),
    "a model that cannot be written": BadModel,
    "a dataclass with something odd in it": odd_file,
    "a cycle": cycle,
    "a lone surrogate": lambda: {"path": "src/app.py", "text": "\ud800"},
    "a lone surrogate as a key": lambda: {"path": "src/app.py", "\udfff": 1},
    "2000 levels": lambda: functools.reduce(lambda value, _: [value], range(2000), "src/app.py"),
}
#: read in a way that must not vouch for anything else
NEVER_WRONG: dict[str, tuple[Callable[[], Any], list[Any]]] = {
    "not a number": (lambda: {"n": float("nan")}, [None, "NaN", "nan", "null", 0]),
    "not a number by itself": (lambda: float("nan"), [None, "NaN", "null"]),
    "an infinity": (lambda: {"n": float("inf")}, [None, "Infinity", "inf"]),
    "an integer over 64 bits": (lambda: {"n": 2**70 + 1}, [2**70, float(2**70), str(2**70), 2**70 + 2]),
    "a huge integer": (lambda: {"n": 10**400}, [10**399, float(10**300), "inf", None]),
    "a text subclass": (lambda: {"path": Text("src/app.py")}, ["a lie", "src/other.py"]),
    "an integer too large for a float": (lambda: {"n": 2**53 + 1}, [2**53, float(2**53)]),
    "keys that become the same text": (lambda: {1: "src/app.py", "1": "src/other.py"}, [1]),
    "a boolean": (lambda: {"b": True}, [1, "true", "True", 1.0]),
    "null": (lambda: {"n": None}, ["null", "None", 0, False, ""]),
    "a number as text": (lambda: {"n": "4711"}, [4711]),
}


class Bench:
    def __init__(self, make: Callable[[], Any]) -> None:
        self.ran: list[Any] = []
        self.made: list[Any] = []

        def produce() -> Any:
            self.made.append(make())
            return self.made[-1]

        def consume(value: Any) -> None:
            self.ran.append(value)

        self.tools = citespan.TracedTools({"produce": produce, "consume": consume})

    def citable(self, value: Any) -> bool:
        before = len(self.ran)
        try:
            self.tools.call("consume", value=value)
        except PermissionError:
            assert len(self.ran) == before
            return False
        return True


@pytest.mark.parametrize("make,citable,others", READABLE.values(), ids=READABLE.keys())
def test_a_result_with_a_json_reading_can_be_cited(
    make: Callable[[], Any], citable: list[Any], others: list[Any]
) -> None:
    bench = Bench(make)
    assert bench.tools.call("produce") is bench.made[0]
    assert [bench.citable(value) for value in citable] == [True] * len(citable)
    assert [value for value in others if bench.citable(value)] == []
    (told,) = calls(bench.tools, "produce")
    assert "provenance.unrecorded" not in told


@pytest.mark.parametrize("make", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_result_without_one_is_returned_as_it_is_and_not_recorded(make: Callable[[], Any]) -> None:
    bench = Bench(make)
    assert bench.tools.call("produce") is bench.made[0]
    for value in ("src/app.py", 4711, 4711.5, None):
        assert not bench.citable(value)
    (told,) = calls(bench.tools, "produce")
    assert str(told["provenance.unrecorded"]).startswith("result not recorded")
    assert "src/app.py" not in str(told["provenance.unrecorded"])
    assert told["provenance.status"] == "ok"


@pytest.mark.parametrize("make,never", NEVER_WRONG.values(), ids=NEVER_WRONG.keys())
def test_a_reading_never_vouches_for_another_value(make: Callable[[], Any], never: list[Any]) -> None:
    bench = Bench(make)
    assert bench.tools.call("produce") is bench.made[0]
    assert [value for value in never if bench.citable(value)] == []


def test_an_iterator_is_not_used_up() -> None:
    bench = Bench(lambda: iter(["src/app.py", "src/other.py"]))
    assert next(bench.tools.call("produce")) == "src/app.py"


def test_a_generator_is_handed_through_step_by_step() -> None:
    steps: list[str] = []

    def produce() -> Iterator[str]:
        for path in ("src/app.py", "src/other.py"):
            steps.append(path)
            yield path

    ran: list[str] = []

    def consume(value: str) -> None:
        ran.append(value)

    tools = citespan.TracedTools({"produce": produce, "consume": consume})
    items = tools.call("produce")
    assert (next(items), steps) == ("src/app.py", ["src/app.py"])
    with pytest.raises(PermissionError):
        tools.call("consume", value="src/app.py")
    assert list(items) == ["src/other.py"]
    tools.call("consume", value="src/app.py")
    assert ran == ["src/app.py"]


@pytest.mark.parametrize("empty", [None, "", [], {}, ()])
def test_an_empty_result_is_no_source(empty: Any) -> None:
    bench = Bench(lambda: empty)
    assert bench.tools.call("produce") is bench.made[0]
    assert not bench.citable("files")
    assert not bench.citable("result")


def test_a_result_that_is_changed_later_is_kept_as_it_was() -> None:
    bench = Bench(lambda: {"path": "src/app.py"})
    result = bench.tools.call("produce")
    result["path"] = "src/guess.py"
    assert not bench.citable("src/guess.py")
    assert bench.citable("src/app.py")


def test_what_was_cited_keeps_its_type(tmp_path: Any) -> None:
    bench = Bench(lambda: {"n": 4711, "x": 1.5})
    bench.tools.call("produce")
    assert bench.citable(4711)
    assert bench.citable(1.5)
    assert [type(value) for value in bench.ran] == [int, float]
