"""The body gets the very copy that was judged; values that cannot be copied as JSON are refused and break nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from tests.guard.harness import ENFORCE, LISTED, SECRET, TAG, Spans, Watch, refused

import citespan
from citespan.core.decision import Decision, ProvenanceDenied
from citespan.core.kinds import SpanRef
from citespan.core.policy import Policy
from citespan.guard.guard import begin
from citespan.guard.ports import Tool, ToolCall
from citespan.guard.registry import registry


class Meddler:
    """Evidence is written after judging and before the body: here another thread changes the arguments just then."""

    def __init__(self, change: Any) -> None:
        self._change = change

    def append(self, call: ToolCall, decision: Decision, span: SpanRef | None) -> None:
        thread = threading.Thread(target=self._change)
        thread.start()
        thread.join()


@pytest.fixture
def seen() -> list[Any]:
    return []


@pytest.mark.parametrize("policy", [ENFORCE, TAG])
def test_arguments_changed_after_judging_do_not_reach_the_body(
    policy: Policy, seen: list[Any], watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    @citespan.tool
    def patch_files(paths: list[str], options: dict[str, Any]) -> None:
        seen.append((paths, options))

    paths, options = list(LISTED), {"deep": {"mode": LISTED[0]}}

    def change() -> None:
        paths[0] = SECRET
        paths.append(SECRET)
        options["deep"]["mode"] = SECRET
        options["more"] = SECRET

    with citespan.run(inputs={"paths": LISTED, "keys": ["deep", "mode"]}, policy=policy):
        registry.evidence = Meddler(change)
        patch_files(paths, options)
    assert seen == [(LISTED, {"deep": {"mode": LISTED[0]}})]
    assert paths[0] == SECRET


def test_the_body_gets_a_copy_by_keyword_and_by_position(seen: list[Any], watch: Watch) -> None:
    @citespan.tool
    def patch_files(paths: list[str]) -> None:
        seen.append(paths)

    with citespan.run(inputs={"paths": LISTED}):
        patch_files(LISTED)
        patch_files(paths=LISTED)
    assert seen == [LISTED, LISTED]
    assert all(paths is not LISTED for paths in seen)


def test_a_body_that_changes_its_arguments_changes_nobody_elses(seen: list[Any], watch: Watch) -> None:
    @citespan.tool
    def patch_files(paths: list[str]) -> str:
        paths.append(SECRET)
        return "done"

    mine = list(LISTED)
    with citespan.run(inputs={"paths": LISTED}):
        patch_files(mine)
    assert mine == LISTED
    assert [tag.leaf.value for tag in watch.last.tags] == LISTED


def test_a_result_changed_after_it_was_returned_is_kept_as_it_was(seen: list[Any], watch: Watch) -> None:
    @citespan.tool
    def patch_file(path: str) -> None:
        seen.append(path)

    @citespan.tool
    def list_files() -> list[str]:
        return list(LISTED)

    with citespan.run():
        listed = list_files()
        listed[0] = SECRET
        refused(patch_file, path=SECRET)
        patch_file(path=LISTED[0])
    assert seen == LISTED[:1]


class Forged(str):
    """Equal to everything."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash(LISTED[0])


class ForgedNumber(int):
    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 4711


class Mute:
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class Trap(dict[str, Any]):
    def items(self) -> Any:
        raise RuntimeError("no members")

    keys = values = __iter__ = items


class Swap(list[Any]):
    """Shows one content to whoever looks first, another one to the next."""

    def __iter__(self) -> Iterator[Any]:
        items = list(LISTED) if not getattr(self, "looked", False) else [SECRET]
        self.looked = True
        return iter(items)


def cyclic_dict() -> Any:
    value: dict[str, Any] = {"path": LISTED[0]}
    value["self"] = value
    return value


def cyclic_list() -> Any:
    value: list[Any] = []
    value += [value, value]
    return value


def deep(levels: int) -> Any:
    value: Any = LISTED[0]
    for _ in range(levels):
        value = [value]
    return value


HOSTILE = {
    "a cyclic dict": cyclic_dict,
    "a cyclic list": cyclic_list,
    "2000 levels of lists": lambda: deep(2000),
    "100,000 levels of lists": lambda: deep(100_000),
    "an object without a text": Mute,
    "a lone surrogate": lambda: "src/\ud800app.py",
    "a lone surrogate as a nested key": lambda: {"\udfff": LISTED[0]},
    "an integer over 64 bits": lambda: 2**70,
    "an integer of 5000 digits": lambda: 10**5000,
    "not a number": lambda: float("nan"),
    "an infinity": lambda: float("-inf"),
    "bytes": lambda: b"src/app.py",
    "a str subclass": lambda: Forged(LISTED[0]),
    "an int subclass": lambda: ForgedNumber(4711),
    "a dict subclass": lambda: Trap(path=LISTED[0]),
    "a list subclass": lambda: Swap(LISTED),
    "a tuple": lambda: tuple(LISTED),
    "a set": lambda: set(LISTED),
    "keys that are no text": lambda: {1: LISTED[0], None: LISTED[0], (1, 2): LISTED[0]},
    "a generator": lambda: (path for path in LISTED),
    "an exception": lambda: ValueError(LISTED[0]),
    "a class": lambda: Mute,
    "20,000 leaves": lambda: [LISTED[0]] * 20_000,
}


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("nested", [False, True], ids=["by itself", "in a list"])
def test_a_value_without_a_json_form_is_refused(make: Any, nested: bool, seen: list[Any], spans: Spans) -> None:
    @citespan.tool
    def patch(value: Any) -> None:
        seen.append(value)

    value = [make()] if nested else make()
    with citespan.run(inputs={"files": LISTED, "id": 4711}):
        refused(patch, value=value)
    assert seen == []
    assert spans.last("patch")["provenance.status"] == "blocked"
    spans.wire()


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("nested", [False, True], ids=["by itself", "in a list"])
def test_in_tag_mode_it_breaks_nothing(make: Any, nested: bool, seen: list[Any], spans: Spans) -> None:
    @citespan.tool
    def patch(value: Any) -> str:
        seen.append(value)
        return "done"

    value = [make()] if nested else make()
    with citespan.run(policy=TAG):
        assert patch(value=value) == "done"
    assert len(seen) == 1
    assert spans.last("patch")["provenance.status"] in {"flagged", "error"}
    assert spans.wire()


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE.keys())
def test_in_a_whole_argument_that_is_exempt_it_breaks_nothing(make: Any, seen: list[Any], spans: Spans) -> None:
    @citespan.tool
    def patch(path: str, comment: Any) -> str:
        seen.append(path)
        return "done"

    with citespan.run(inputs={"files": LISTED}):
        try:
            patch(path=LISTED[0], comment=make())
        except ProvenanceDenied:
            assert seen == []
        else:
            assert seen == LISTED[:1]
    assert spans.wire()


class Evil(Mapping[str, Any]):
    """Arguments that cannot even be looked at."""

    def __getitem__(self, key: str) -> Any:
        raise RuntimeError("not for you")

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("not for you")

    def __len__(self) -> int:
        return 1


def test_arguments_that_cannot_be_looked_at_are_refused(watch: Watch) -> None:
    with citespan.run(), pytest.raises(ProvenanceDenied):
        begin(Tool("patch"), Evil())
    with pytest.raises(ProvenanceDenied):
        begin(Tool("patch"), Evil())
