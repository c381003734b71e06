"""A key of a result may be data: it can be cited, and it does not leave the process. And what results say as text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import pytest
from tests.api.recorded import calls, dumped
from tests.guard.harness import Spans, Watch, refused

import citespan
from citespan.core.policy import Policy
from citespan.guard.registry import registry
from citespan.stores.evidence import EvidenceFile

#: keys that are data: some look it, some read like names
KEYS = ["mooring-55121", "wanda", "kim@corp.example", "src/pier.py", "berth_20931", "Jörg", "a.b"]
EVERY_KEY = pytest.mark.parametrize("key", KEYS)


@pytest.fixture
def evidence(tmp_path: Path, own_registry: None) -> Iterator[Path]:
    """The file to which decisions are written."""
    path = tmp_path / "evidence.jsonl"
    registry.evidence = file = EvidenceFile(path)
    yield path
    file.close()


class Harbour:
    """A listing whose keys are data, and a sink that writes down what it was given."""

    def __init__(self, result: Any, **inputs: Any) -> None:
        self.paid: list[str] = []

        def pay(who: str) -> str:
            self.paid.append(who)
            return "done"

        self.tools = citespan.TracedTools({"berths": lambda: result, "pay": pay}, policy=Policy(), inputs=inputs)

    def observed(self, key: str) -> dict[str, Any]:
        """Pay to a key of the listing; what the span says."""
        self.tools.call("berths")
        return self.declared(key)

    def declared(self, key: str) -> dict[str, Any]:
        """Pay to a key of the inputs; what the span says."""
        self.tools.call("pay", who=key)
        assert self.paid == [key]
        return calls(self.tools, "pay")[-1]

    def everything(self) -> str:
        """All that was told of every span."""
        return repr(dumped(self.tools))


@EVERY_KEY
def test_the_span_shows_a_star_in_place_of_a_key_that_is_cited(key: str) -> None:
    said = Harbour({"berths": {key: {"free": 5}, "ferry": {"free": 3}}}).observed(key)
    assert said["provenance.projection.who"] == "key"
    assert said["provenance.source_field.who"] == "berths.*"


@pytest.mark.parametrize(
    "result, field",
    [
        ({"wanda": 5, "ferry": 3}, "*"),
        ({"berths": [{"wanda": 5}]}, "berths.0.*"),
        ({"berths": {"ferry": {"wanda": 5}}}, "berths.ferry.*"),
        ({"wanda": {"wanda": {}}}, None),
    ],
    ids=["at the top", "in a list", "in an object", "twice"],
)
def test_wherever_the_key_stands(result: Any, field: str | None) -> None:
    harbour = Harbour(result)
    said = harbour.observed("wanda")
    if field is not None:
        assert said["provenance.source_field.who"] == field
    assert said["provenance.source_field.who"].endswith("*")


@EVERY_KEY
def test_a_cited_key_is_nowhere_in_what_was_told(key: str) -> None:
    harbour = Harbour({"berths": {key: {"free": 5}, "ferry": {"free": 3}}})
    harbour.observed(key)
    told = harbour.everything()
    assert "berths" in told
    assert key not in told
    assert json.dumps(key)[1:-1] not in told


@EVERY_KEY
def test_nor_on_the_wire(key: str, spans: Spans) -> None:
    @citespan.tool
    def berths() -> dict[str, Any]:
        return {"berths": {key: {"free": 5}, "ferry": {"free": 3}}}

    @citespan.tool
    def pay(who: str) -> None:
        """Pay."""

    with citespan.run():
        berths()
        pay(who=key)
    assert spans.last("pay")["provenance.source_field.who"] == "berths.*"
    assert key not in spans.text()


@EVERY_KEY
def test_the_evidence_shows_a_star_in_place_of_the_key(key: str, evidence: Path) -> None:
    Harbour({"berths": {key: {"free": 5}, "ferry": {"free": 3}}}).observed(key)
    written = evidence.read_text("utf-8")
    leaf = json.loads(written.splitlines()[-1])["leaves"][0]
    assert (leaf["source"], leaf["projection"]) == ("berths.berths.*", "key")
    assert key not in written
    assert json.dumps(key)[1:-1] not in written


@EVERY_KEY
def test_the_path_in_the_inputs_shows_a_star_as_well(key: str, evidence: Path) -> None:
    harbour = Harbour({}, vault={key: 1})
    said = harbour.declared(key)
    assert said["provenance.kind.who"] == "user"
    assert said["provenance.source_field.who"] == "inputs.vault.*"
    assert key not in harbour.everything()
    assert key not in evidence.read_text("utf-8")


@EVERY_KEY
def test_and_so_does_what_the_host_vouches_for(key: str, spans: Spans) -> None:
    @citespan.tool
    def pay(who: str) -> None:
        """Pay."""

    with citespan.run() as run:
        run.observe("session", {"accounts": {key: 1}})
        pay(who=key)
    assert spans.last("pay")["provenance.source_field.who"] == "session.accounts.*"
    assert key not in spans.text()


def test_a_value_is_shown_by_the_names_above_it() -> None:
    said = Harbour({"berths": [{"owner": "wanda-7"}, {"owner": "ferry-8"}]}).observed("wanda-7")
    assert said["provenance.source_field.who"] == "berths.0.owner"
    assert "provenance.projection.who" not in said


# what has no JSON type of its own, and reads as text


class Shelf:
    """A tool that returns something, and a sink that writes down what it was given."""

    def __init__(self, result: Any) -> None:
        self.ran: list[Any] = []

        @citespan.tool(read_only=True)
        def look() -> Any:
            return result

        @citespan.tool
        def use(value: Any) -> None:
            self.ran.append(value)

        self.look, self.use = look, use


@pytest.mark.parametrize(
    "result, value",
    [
        (Path("src/pier.py"), "src/pier.py"),
        ([Path("src/pier.py"), Path("src/mole.py")], "src/mole.py"),
        ({"files": (PurePosixPath("src/pier.py"),)}, "src/pier.py"),
        ({"file": PureWindowsPath(r"C:\pier\mole.py")}, r"C:\pier\mole.py"),
        ({"price": Decimal("1204.50")}, "1204.50"),
        ([{"id": 20931, "price": Decimal("1204.50")}], 20931),
        ({"big": 2**70, "file": Path("src/pier.py")}, "src/pier.py"),
        ({20931: Path("src/pier.py")}, "src/pier.py"),
    ],
    ids=repr,
)
def test_a_path_or_a_decimal_in_a_result_reads_as_text(result: Any, value: Any, watch: Watch) -> None:
    shelf = Shelf(result)
    with citespan.run():
        shelf.look()
        assert watch.ending.note is None
        shelf.use(value=value)
        refused(shelf.use, value="src/guess.py")
    assert shelf.ran == [value]


def test_a_generator_that_yields_paths_is_recorded_like_a_list(watch: Watch) -> None:
    ran: list[str] = []

    @citespan.tool(read_only=True)
    def walk() -> Iterator[Path]:
        yield from (Path("src/pier.py"), Path("src/mole.py"))

    @citespan.tool
    def use(path: str) -> None:
        ran.append(path)

    with citespan.run():
        list(walk())
        use(path="src/mole.py")
    assert ran == ["src/mole.py"]


def test_a_path_that_echoes_a_guess_is_no_source(watch: Watch) -> None:
    ran: list[str] = []

    @citespan.tool(read_only=True)
    def resolve(comment: str) -> Path:
        return Path("/srv") / comment

    @citespan.tool
    def use(path: str) -> None:
        ran.append(path)

    with citespan.run():
        resolve(comment="pier/guess.py")
        refused(use, path="pier/guess.py")
    assert ran == []


@pytest.mark.parametrize("number", ["NaN", "Infinity"])
def test_a_decimal_that_is_no_number_vouches_for_no_number(number: str, watch: Watch) -> None:
    shelf = Shelf({"price": Decimal(number), "id": 20931})
    with citespan.run():
        shelf.look()
        refused(shelf.use, value=1204)
    assert shelf.ran == []
