"""Runs that the pages of these tests show, as plain values."""

from __future__ import annotations

from typing import Final

from citespan.calls import Argument, Call, Cited, Leaf, Link

TRACE: Final = "0af7651916cd43dd8448eb211c80319c"
OTHER: Final = "1bf7651916cd43dd8448eb211c80319d"
#: 2031-05-18 09:00:00 UTC, in nanoseconds
NOON: Final = 1_936_861_200_000_000_000
MILLI: Final = 1_000_000


def span(number: int) -> str:
    return f"{number:016x}"


def call(number: int, tool: str, *arguments: Argument, **facts: object) -> Call:
    """The `number`th call of the first run: each starts 100 ms after the one before and takes 40."""
    start = NOON + number * 100 * MILLI
    known = {"status": "ok", "trace_id": TRACE, "span_id": span(number), "agent": "fixer", "run": "thread-7"}
    return Call(tool, arguments=arguments, start=start, end=start + 40 * MILLI)._replace(**{**known, **facts})


def observed(name: str, tool: str, field: str, source: int, **facts: object) -> Argument:
    return Argument(name, "observed", Cited(tool, field, span(source)), digest="5d41402abc4b2a76")._replace(**facts)


def desk() -> list[Call]:
    """Two runs: in the first a call is blocked, twice, and a later one gets its source; the second is tagged only."""
    files = "list_files.files.*"
    blocked = Argument("path", "assumed", counted=("path",), accepts=(files,), nearest=(files, "get_issue.file"))
    refused = {"status": "blocked", "mode": "enforce", "error": "provenance_budget_exceeded", "budget": 0}
    said = {"violations": ("assumed_fields=[path]",), "assumed_fields": ("path",)}
    return [
        call(1, "list_files", Argument("root", "user", Cited("", "inputs.root"), weak=True)),
        call(
            2,
            "get_issue",
            Argument("id", "user", Cited("", "messages.0")),
            Argument("state", "schema", weak=True),
        ),
        call(3, "patch_file", blocked, Argument("comment", "assumed"), **refused, **said),
        call(
            4,
            "patch_file",
            observed("path", "list_files", "files.0", 1),
            Argument("comment", "assumed"),
            links=(Link(TRACE, span(1), "list_files", ("path",)), Link(TRACE, span(2), "get_issue", ("path",))),
        ),
        call(5, "log_time", Argument("minutes", "derived", Cited("get_issue", "spent", span(2)), "sum")),
        call(6, "create_file", Argument("path", "invented")),
        call(
            7,
            "send_mail",
            Argument(
                "to",
                "assumed",
                leaves=(
                    Leaf("to.0", "observed", Cited("get_issue", "author")),
                    Leaf("to.1", "assumed", counted=True),
                ),
                counted=("to.1",),
            ),
            observed("file", "read_mail", "files.3", 99, projection="basename"),
            **refused,
            violations=("assumed_fields=[to.1]",),
        ),
        call(40, "list_files", trace_id=OTHER, run="thread-8", agent="tidier"),
        call(
            41,
            "patch_file",
            Argument("path", "assumed", counted=("path",)),
            trace_id=OTHER,
            run="thread-8",
            agent="tidier",
            status="flagged",
            mode="tag",
            **said,
        ),
    ]


def many(number: int) -> list[Call]:
    """A run of any length: every tenth call lists, the others patch what was listed; every fiftieth is blocked."""
    calls = []
    for index in range(number):
        at = index + 1
        if index % 10 == 0:
            calls.append(call(at, "list_files", Argument("root", "user", Cited("", "inputs.root"))))
        elif index % 50 == 7:
            guess = Argument("path", "assumed", counted=("path",), accepts=("list_files.files.*",))
            facts = {"status": "blocked", "violations": ("assumed_fields=[path]",)}
            calls.append(call(at, "patch_file", guess, Argument("comment", "assumed"), **facts))
        else:
            source = at - index % 10
            calls.append(
                call(
                    at,
                    "patch_file",
                    observed("path", "list_files", f"files.{index % 10}", source),
                    observed("mode", "list_files", "mode", source, weak=True),
                    observed("owner", "list_files", "owner.name", source, projection="casefold"),
                    Argument("comment", "assumed"),
                    links=(Link(TRACE, span(source), "list_files", ("path", "mode", "owner")),),
                    policy="b1946ac92492d234",
                    mode="enforce",
                    budget=0,
                    parent_id=span(0xFFFF),
                    scope="citespan",
                    place=f"trace.jsonl:{at}",
                )
            )
    return calls


#: texts that would do harm if a page took them for more than text
HOSTILE: Final = (
    "<script>window.hit=1</script>",
    "</script><img src=x onerror=window.hit=1>",
    "<!--<script>",
    "javascript:window.hit=1",
    "'\"><svg onload=window.hit=1>",
    "{{data}}{{script}}",
    "&lt;b&gt;&amp;",
    "\u202egnp.exe\u2066",
    "a\u2028b\u2029c\x00d\x1b[2J",
    "\ud800",
    "__proto__",
    "constructor",
)


def hostile(text: str) -> Call:
    """A call that has one text wherever a text can be."""
    cited = Cited(text, text, text)
    leaf = Leaf(text, "observed", cited, text)
    texts = (text,)
    argument = Argument(text, "observed", cited, text, True, text, (leaf,), texts, texts, texts, text)
    return Call(
        tool=text, server=text, status="blocked", mode=text, policy=text, step=text, violations=(text, f"guard={text}"),
        assumed_fields=(text,), uncited_tokens=(text,), arguments=(argument, Argument(text, "assumed")),
        links=(Link(text, text, text, (text,)),), trace_id=text, span_id=text, parent_id=text, start=NOON, end=NOON,
        run=text, agent=text, error=text, truncated=(text,), unrecorded=text, digest_key=text, scope=text, place=text,
    )  # fmt: skip
