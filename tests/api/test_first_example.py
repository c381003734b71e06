"""The five-minute example: a dict of functions, guarded and traced, with no policy, no provider and no run opened."""

from __future__ import annotations

from typing import Any

import pytest
from tests.api.recorded import calls, dumped
from tests.guard.harness import SECRET

import citespan

FILES = ["src/app.py", "src/setup.cfg"]


class Example:
    def __init__(self, **options: Any) -> None:
        self.patched: list[str] = []

        def list_files(root: str) -> dict[str, list[str]]:
            return {"files": list(FILES)}

        def patch_file(path: str, comment: str) -> dict[str, str]:
            self.patched.append(path)
            return {"patched": path, "comment": comment}

        self.tools = citespan.TracedTools(
            {"list_files": list_files, "patch_file": patch_file}, inputs={"root": "."}, **options
        )


@pytest.fixture
def example() -> Example:
    return Example()


def test_a_path_from_the_listing_passes_and_its_span_cites_the_listing(example: Example) -> None:
    listed = example.tools.call("list_files", root=".")
    example.tools.call("patch_file", path=listed["files"][0], comment="fix the typo in the header")
    assert example.patched == FILES[:1]
    listing, patch = (
        next(span for span in dumped(example.tools) if span.name == f"execute_tool {tool}")
        for tool in ("list_files", "patch_file")
    )
    told = patch.attributes
    assert told["provenance.status"] == "ok"
    assert told["provenance.kind.path"] == "observed"
    assert told["provenance.source_tool.path"] == "list_files"
    assert told["provenance.source_field.path"] == "files.0"
    assert told["provenance.source_span.path"] == listing.span_id
    assert told["provenance.kind.comment"] == "assumed"
    assert "provenance.assumed_fields" not in told
    (link,) = patch.links
    assert (link.trace_id, link.span_id) == (listing.trace_id, listing.span_id)
    assert link.attributes["provenance.link.arguments"] == ["path"]
    assert listing.attributes["provenance.kind.root"] == "user"


def test_the_decision_names_the_very_leaf(example: Example) -> None:
    from citespan.core.kinds import Observed
    from citespan.guard.examine import judge
    from citespan.guard.ports import Tool

    with example.tools.run:
        example.tools.call("list_files", root=".")
        (tag,) = judge(Tool("patch_file"), {"path": FILES[0]}).tags
    assert isinstance(tag.provenance, Observed)
    (source,) = tag.provenance.sources
    assert (source.tool, source.path) == ("list_files", "files.0")


def test_a_path_that_nobody_mentioned_is_refused_and_the_body_never_runs(example: Example) -> None:
    example.tools.call("list_files", root=".")
    with pytest.raises(PermissionError) as refused:
        example.tools.call("patch_file", path=SECRET, comment="rotate the key")
    assert example.patched == []
    assert SECRET not in str(refused.value)
    (told,) = calls(example.tools, "patch_file")
    assert told["provenance.status"] == "blocked"
    assert told["provenance.violations"] == ["assumed_fields=[path]"]
    assert told["provenance.assumed_fields"] == ["path"]
    assert told["provenance.budget"] == 0
    assert told["error.type"] == "provenance_budget_exceeded"


def test_without_the_listing_the_right_path_is_a_guess_too(example: Example) -> None:
    with pytest.raises(PermissionError):
        example.tools.call("patch_file", path=FILES[0], comment="I know this one")
    assert example.patched == []


def test_nothing_that_was_echoed_becomes_citable(example: Example) -> None:
    """`patch_file` gives its comment back: what the model wrote there does not become something it saw."""
    example.tools.call("list_files", root=".")
    back = example.tools.call("patch_file", path=FILES[0], comment=SECRET)
    assert back["comment"] == SECRET
    with pytest.raises(PermissionError):
        example.tools.call("patch_file", path=SECRET, comment="as returned")
    assert example.patched == FILES[:1]


def test_a_name_near_a_listed_one_is_a_guess(example: Example) -> None:
    example.tools.call("list_files", root=".")
    for near in ("src/app.pyc", "src/App.py", "src", "app", "/src/app.py", "src/../src/app.py", "src/app.py "):
        with pytest.raises(PermissionError):
            example.tools.call("patch_file", path=near, comment="close enough")
    assert example.patched == []


def test_the_projections_that_are_admitted_by_default_pass(example: Example) -> None:
    example.tools.call("list_files", root=".")
    for same in ("src/app.py", "./src/app.py", "src//app.py", "app.py"):
        example.tools.call("patch_file", path=same, comment="the same file")
    assert example.patched == ["src/app.py", "./src/app.py", "src//app.py", "app.py"]
    assert [told.get("provenance.projection.path") for told in calls(example.tools, "patch_file")] == [
        None,
        "posix_path",
        "posix_path",
        "basename",
    ]


def test_a_guess_within_the_budget_passes_and_is_told() -> None:
    example = Example(policy=citespan.Policy(max_assumed=1))
    example.tools.call("patch_file", path=SECRET, comment="on your own head")
    assert example.patched == [SECRET]
    (told,) = calls(example.tools, "patch_file")
    assert told["provenance.status"] == "ok"
    assert told["provenance.assumed_fields"] == ["path"]


def test_strictly_only_what_a_tool_returned_is_accepted() -> None:
    example = Example(policy=citespan.Policy(accept=frozenset({"observed"})))
    with pytest.raises(PermissionError):
        example.tools.call("list_files", root=".")
