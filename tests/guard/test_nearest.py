"""A refusal, its span and its evidence name what the run could have offered: the same names, and no value."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.guard.harness import LISTED, SECRET, TAG, Spans, Toolbox, refused

import citespan
from citespan.core.policy import ArgumentRule, Policy, ToolRule
from citespan.guard import examine
from citespan.guard.guard import begin
from citespan.guard.ports import Tool
from citespan.guard.registry import registry
from citespan.stores.evidence import EvidenceFile

NEAREST = "provenance.nearest.path"
ACCEPTS = "provenance.accepts.path"
FROM = Policy(
    tools={"patch_file": ToolRule(arguments={"path": ArgumentRule(sources=("list_files.files.*", "find.files.*"))})}
)


@pytest.fixture
def written(tmp_path: Path, own_registry: None) -> Iterator[Path]:
    path = tmp_path / "evidence.jsonl"
    registry.evidence = file = EvidenceFile(path)
    yield path
    file.close()


def leaves(path: Path) -> list[dict[str, Any]]:
    """The leaves of the last decision."""
    found: list[dict[str, Any]] = orjson.loads(path.read_bytes().splitlines()[-1])["leaves"]
    return found


def test_the_first_example_names_the_listed_files_everywhere(spans: Spans, written: Path) -> None:
    box = Toolbox()
    with citespan.run(inputs={"root": "."}):
        box.list_files(root=".")
        denied = refused(box.patch_file, path="prod.env")
    assert spans.last("patch_file")[NEAREST] == ("list_files.files.*",)
    assert ACCEPTS not in spans.last("patch_file")
    assert [leaf.get("nearest") for leaf in leaves(written)] == [["list_files.files.*"]]
    assert "\nNearest fields so far for path: list_files.files.*\n" in str(denied)
    assert "Do not guess another value." in str(denied)


def test_the_sources_that_the_policy_names_are_on_the_span_before_anything_was_observed(
    spans: Spans, written: Path
) -> None:
    box = Toolbox()
    with citespan.run(policy=FROM):
        refused(box.patch_file, path="prod.env")
    assert spans.last("patch_file")[ACCEPTS] == ("list_files.files.*", "find.files.*")
    assert NEAREST not in spans.last("patch_file")
    assert [(leaf["accepts"], leaf.get("nearest")) for leaf in leaves(written)] == [
        (["list_files.files.*", "find.files.*"], None)
    ]


def test_in_tag_mode_a_flagged_call_names_them_too(spans: Spans, written: Path) -> None:
    box = Toolbox()
    with citespan.run(inputs={"root": "."}, policy=TAG):
        box.list_files(root=".")
        box.patch_file(path="prod.env")
    assert spans.last("patch_file")["provenance.status"] == "flagged"
    assert spans.last("patch_file")[NEAREST] == ("list_files.files.*",)
    assert leaves(written)[0]["nearest"] == ["list_files.files.*"]


@pytest.mark.parametrize("mode", ["enforce", "off"])
def test_a_call_that_is_ok_names_none(mode: Any, spans: Spans, written: Path) -> None:
    box = Toolbox()
    with citespan.run(inputs={"root": "."}, policy=Policy(mode=mode)):
        box.list_files(root=".")
        box.patch_file(path=LISTED[0] if mode == "enforce" else "prod.env")
    assert spans.last("patch_file")["provenance.status"] == "ok"
    assert not [key for key in spans.last("patch_file") if key.startswith(("provenance.nearest", "provenance.accepts"))]
    assert not {"nearest", "accepts"} & leaves(written)[0].keys()


def test_a_leaf_within_its_call_that_is_cited_names_none(spans: Spans, written: Path) -> None:
    box = Toolbox()
    policy = Policy(allow=frozenset())
    with citespan.run(inputs={"root": "."}, policy=policy):
        box.list_files(root=".")
        refused(box.patch_file, path=LISTED[0], comment="notes.txt")
    told = spans.last("patch_file")
    assert NEAREST not in told
    assert told["provenance.nearest.comment"] == ("list_files.files.*",)
    assert [leaf.get("nearest") for leaf in leaves(written)] == [None, ["list_files.files.*"]]


def test_what_a_sibling_returned_is_not_offered(spans: Spans) -> None:
    box = Toolbox()
    with citespan.run(inputs={"root": "."}) as run:
        with run.step():
            box.names()
        with run.step():
            box.list_files(root=".")
            refused(box.patch_file, path="prod.env")
        assert spans.last("patch_file")[NEAREST] == ("names.*",)
        with run.step():
            refused(box.patch_file, path="prod.env")
    assert spans.last("patch_file")[NEAREST] == ("list_files.files.*", "names.*")


def test_outside_any_run_there_is_nothing_to_offer(spans: Spans) -> None:
    denied = refused(Toolbox().patch_file, path="prod.env")
    assert NEAREST not in spans.last("patch_file")
    assert "Nearest" not in str(denied)


def test_a_nested_agent_is_offered_what_its_outer_run_observed(spans: Spans) -> None:
    box = Toolbox()
    with citespan.run(inputs={"root": "."}):
        box.list_files(root=".")
        with citespan.run("inner"):
            refused(box.patch_file, path="prod.env")
    assert spans.last("patch_file")[NEAREST] == ("list_files.files.*",)


def test_a_bug_in_it_still_refuses_with_the_usual_text(
    spans: Spans, written: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def bug(*args: Any) -> Any:
        raise RuntimeError(SECRET)

    box = Toolbox()
    with citespan.run(inputs={"root": "."}):
        box.list_files(root=".")
        plain = str(refused(Toolbox().patch_file, path=SECRET))
        monkeypatch.setattr(examine, "offers", bug)
        denied = refused(box.patch_file, path=SECRET)
    assert str(denied) == plain.replace("Nearest fields so far for path: list_files.files.*\n", "") != plain
    assert denied.decision.violations[0].rule == "assumed_fields"
    assert spans.last("patch_file")["provenance.status"] == "blocked"
    assert NEAREST not in spans.last("patch_file")
    assert "RuntimeError" in caplog.text
    assert SECRET not in caplog.text
    assert leaves(written)[0]["counted"] is True


def test_a_bug_in_it_breaks_no_call_in_tag_mode(
    spans: Spans, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def bug(*args: Any) -> Any:
        raise RuntimeError

    monkeypatch.setattr(examine, "offers", bug)
    box = Toolbox()
    with caplog.at_level(logging.CRITICAL), citespan.run(policy=TAG):
        assert box.patch_file(path=SECRET) == "done"
    assert spans.last("patch_file")["provenance.status"] == "flagged"


def test_no_value_is_in_any_of_it(spans: Spans, written: Path) -> None:
    @citespan.tool(read_only=True)
    def look() -> dict[str, Any]:
        return {"files": [f"{SECRET}.py"], SECRET: {SECRET: ["a.py"]}, "path": f"{SECRET}\n{SECRET}"}

    box = Toolbox()
    with citespan.run(policy=TAG):
        look()
        box.patch_file(path=f"{SECRET}.env")
    assert set(spans.last("patch_file")[NEAREST]) == {"look.files.*", "look.*.*.*"}
    assert SECRET not in spans.text()
    assert SECRET.encode() not in written.read_bytes()


def test_names_of_others_can_always_be_sent(spans: Spans, written: Path) -> None:
    box = Toolbox()
    policy = Policy(tools={"patch_file": ToolRule(arguments={"comment": ArgumentRule(sources=("x\ud800.y",))})})
    with citespan.run(policy=policy):
        begin(Tool("list\ud800files"), {}).finish({"files": LISTED})
        refused(box.patch_file, path="prod.env", comment="hm")
    assert spans.last("patch_file")[NEAREST] == ("list?files.files.*",)
    assert spans.last("patch_file")["provenance.accepts.comment"] == ("x?.y",)
    assert spans.wire()
    assert leaves(written)[0]["nearest"] == ["list?files.files.*"]


def test_concurrent_calls_of_one_run_are_offered_the_same(spans: Spans) -> None:
    box = Toolbox()

    async def main() -> None:
        with citespan.run(inputs={"root": "."}, policy=TAG):
            box.list_files(root=".")
            await asyncio.gather(*(asyncio.to_thread(box.patch_file, path=f"x{number}.env") for number in range(20)))

    asyncio.run(main())
    told = [dict(span.attributes or {}) for span in spans.of("patch_file")]
    assert [attributes[NEAREST] for attributes in told] == [("list_files.files.*",)] * 20


def test_a_key_that_equals_an_argument_is_not_told(spans: Spans, written: Path) -> None:
    """Also where that argument is cited itself, as a message of the user's."""

    @citespan.tool(read_only=True)
    def accounts() -> dict[str, Any]:
        return {"kestrel": {"path": "a.py"}}

    box = Toolbox()
    with citespan.run() as run:
        run.user("write kestrel there")
        accounts()
        refused(box.patch_file, path="prod.env", comment="kestrel")
    assert spans.last("patch_file")[NEAREST] == ("accounts.*.path",)
    assert "kestrel" not in spans.text()
    assert b"kestrel" not in written.read_bytes()


def test_what_the_run_may_have_stored_is_not_offered(spans: Spans) -> None:
    """A field that holds it could not be cited either (the state rule)."""

    @citespan.tool(read_only=True)
    def read_config() -> dict[str, Any]:
        return {"path": "prod.env"}

    box = Toolbox()
    with citespan.run(policy=TAG):
        box.patch_file(path="prod.env")
        read_config()
        box.patch_file(path="prod.env")
    assert NEAREST not in spans.last("patch_file")
