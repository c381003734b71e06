"""What `citespan show` prints, kept in files: `python -m tests.show.test_golden` writes them anew, to be reviewed."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from rich.text import Text
from tests.show.traces import RUNS, cited, line, span, tool_span, uncited

from citespan.calls import call_of
from citespan.core.policy import ArgumentRule, Policy, ToolRule
from citespan.show.document import as_json
from citespan.show.gather import gather
from citespan.show.model import Wanted
from citespan.show.page import Asked, screen_lines
from citespan.show.policy import accepted_by
from citespan.show.text import STYLES, as_text
from citespan.traces.decode import decode

GOLDEN = Path(__file__).parent / "golden"

LEAVES = [
    {"path": "to.0", "kind": "observed", "source": "search.hits.*.mail"},
    {"path": "to.1", "kind": "assumed"},
    {"path": "to.2", "kind": "user", "source": "inputs.boss", "projection": "casefold"},
]
NAMED = {"gen_ai.agent.name": "fixer", "gen_ai.conversation.id": "thread-42"}


def blocked() -> list[dict[str, Any]]:
    """A run: two results, a call that cited one of them, and one that did not."""
    path = uncited("path", nearest=["list_files.files.*"], accepts=["list_files.files.*", "search.hits.*.file"])
    root = {"provenance.kind.root": "user", "provenance.source_field.root": "inputs.root"}
    return [
        span(1, 0, name="invoke_agent fixer"),
        tool_span(2, "list_files", NAMED | root, at=1),
        tool_span(3, "patch_file", NAMED | cited("path", "list_files", "files.0", 2, projection="basename"), at=2.5),
        tool_span(
            4,
            "patch_file",
            NAMED
            | path
            | cited("folder", "list_files", "files.1", 2, projection="dirname", weak=True)
            | {"provenance.kind.comment": "assumed", "provenance.preview.path": "prod.env"},
            status="blocked",
            at=3.12,
        ),
        tool_span(
            5,
            "send_mail",
            {
                "provenance.kind.to": "assumed",
                "provenance.leaves": json.dumps(LEAVES),
                "provenance.assumed_fields": ["to.1", "cc"],
                "provenance.violations": ["required_source=[to.1]", "assumed_fields=[to.1, cc]"],
                "provenance.uncited_tokens": ["reason:email"],
                "error.type": "provenance_budget_exceeded",
                "provenance.truncated": ["arguments=3"],
                "provenance.evicted": 1200,
                "provenance.step": "7",
            },
            status="blocked",
            run=RUNS[1],
            at=1,
        ),
    ]


def hostile() -> list[dict[str, Any]]:
    """Names that would clear the screen, turn the text round, or fill it."""
    said = uncited("a\x1b[2Jb", nearest=["x\x1b]0;title\x07.\u202ey", "z" * 500]) | {
        "provenance.violations": ["assumed_fields=[\x1b[31mred]", "new=\r\nline"],
        "gen_ai.agent.name": "\x1b[5m<script>",
        "provenance.preview.a\x1b[2Jb": "\x9b1m",
    }
    return [tool_span(1, "<script>\x1b[1m\n", said, status="blocked")]


def others() -> list[dict[str, Any]]:
    return [
        tool_span(1, "list_files", at=1),
        tool_span(2, "deploy", status="unguarded", at=2, run=RUNS[1]),
        tool_span(3, "deploy", uncited("target", derived="x") | {"error.type": "ValueError"}, status="flagged", at=3),
        tool_span(4, "deploy", {"provenance.violations": ["guard=broken at judge.py:1"]}, status="error", at=0.5),
        tool_span(5, "deploy", status="", at=5),
    ]


RULE = ToolRule(arguments={"to.*": ArgumentRule(sources=("crm/people.mail", "search.hits.*.mail"))})
POLICY = Policy(tools={"send_*": RULE})

CASES: dict[str, tuple[list[dict[str, Any]], Asked]] = {
    "blocked": (blocked(), Asked(["trace.jsonl"], Wanted())),
    "all": (blocked(), Asked(["trace.jsonl"], Wanted(limit=100))),
    "policy": (
        blocked(),
        Asked(["my trace.jsonl"], Wanted(tool="send_*"), "citespan.toml", "0123456789abcdef", accepted_by(POLICY)),
    ),
    "limit": (blocked(), Asked(["trace.jsonl"], Wanted(limit=1))),
    "hostile": (hostile(), Asked(["tr\x1bace.jsonl"], Wanted())),
    "error": (others(), Asked(["trace.jsonl"], Wanted())),
    "unguarded": (others(), Asked(["-"], Wanted(statuses=("unguarded",)))),
    "flagged": (others(), Asked(["-"], Wanted(statuses=("flagged", "error"), tool="d*", trace="4bf9"))),
    "clean": (others()[:1], Asked(["trace.jsonl"], Wanted())),
    "empty": ([], Asked(["trace.jsonl"], Wanted())),
}


def rendered(name: str) -> dict[str, bytes]:
    """Each golden file of a case."""
    spans, asked = CASES[name]
    calls = [call for each in decode(json.loads(line(*spans)), "trace.jsonl:1") if (call := call_of(each)) is not None]
    screen = gather(calls, asked.wanted)
    lines = list(screen_lines(screen, asked))
    console = Console(file=io.StringIO(), force_terminal=True, color_system="standard", highlight=False, width=80)
    for each in lines:
        console.print(Text.assemble(*((part.text, STYLES.get(part.style, "")) for part in each)), soft_wrap=True)
    colours = console.file.getvalue()  # type: ignore[attr-defined]
    document = json.loads(as_json(screen, asked))
    return {
        f"{name}.txt": as_text(lines).encode(),
        f"{name}.ansi": colours.replace("\x1b", "\\e").encode(),
        f"{name}.json": json.dumps(document, indent=2, ensure_ascii=True).encode() + b"\n",
    }


@pytest.mark.parametrize("name", CASES)
def test_what_is_printed_is_what_was_reviewed(name: str) -> None:
    """Plain text, colours (escapes written out), and the JSON document (spread over lines)."""
    for file, content in rendered(name).items():
        assert content == (GOLDEN / file).read_bytes(), file


def test_no_golden_file_is_left_over() -> None:
    """Each belongs to a case."""
    assert {file.name for file in GOLDEN.iterdir()} == {file for name in CASES for file in rendered(name)}


@pytest.mark.parametrize("name", CASES)
def test_nothing_that_is_printed_drives_a_terminal(name: str) -> None:
    """Line breaks are the only control characters, whatever the names in the file."""
    text = rendered(name)[f"{name}.txt"].decode()
    assert not [character for character in text if not character.isprintable() and character != "\n"]


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for case in CASES:
        for file, content in rendered(case).items():
            (GOLDEN / file).write_bytes(content)
