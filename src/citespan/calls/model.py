"""One tool call as a file tells it: names, kinds, sources, digests; no value but a preview that was asked for."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias

from citespan.core.kinds import KINDS, Kind, Status

#: "none": nothing in the file says that the call was judged; "within": the span of a framework inside a judged call
Verdict: TypeAlias = Status | Literal["none", "within"]

#: the statuses that somebody should look at, the worst first
TROUBLE: Final[tuple[Verdict, ...]] = ("blocked", "error", "unguarded", "flagged")


class Cited(NamedTuple):
    """Where a leaf is cited from.

    Args:
        tool: the tool whose result holds it; "" for kind `user`, whose field is a place in the inputs or messages.
        field: dotted path in that result, keys that are data as `*`; "" where the file does not say.
        span_id: 16 hex digits, "" where nothing traced the source.
    """

    tool: str
    field: str
    span_id: str = ""

    @property
    def shown(self) -> str:
        """`list_files.files.0`, `inputs.root`."""
        return f"{self.tool}.{self.field}".strip(".")


class Leaf(NamedTuple):
    """One leaf of an argument: its exported dotted path, which starts with the argument's name."""

    path: str
    kind: Kind
    cited: Cited | None = None
    projection: str = "exact"
    weak: bool = False
    counted: bool = False


class Argument(NamedTuple):
    """One top-level argument.

    Args:
        name: as the schema declares it, `*` for what no schema declares.
        kind: its worst leaf's. cited, projection, weak, digest: of its first cited leaf; digest "" where there is none.
        leaves: each leaf where it has several, else empty; may lack some, see `Call.truncated`.
        counted: dotted paths of the leaves that took from the budget.
        accepts: fields that the policy names as its sources. nearest: fields of the run's ledger that come closest to
            a source of it. Both only on calls with violations.
        preview: the start of its value, redacted; "" unless previews were switched on.
    """

    name: str
    kind: Kind
    cited: Cited | None = None
    projection: str = "exact"
    weak: bool = False
    digest: str = ""
    leaves: tuple[Leaf, ...] = ()
    counted: tuple[str, ...] = ()
    accepts: tuple[str, ...] = ()
    nearest: tuple[str, ...] = ()
    preview: str = ""


class Link(NamedTuple):
    """A citation as the span's link tells it."""

    trace_id: str
    span_id: str
    tool: str
    arguments: tuple[str, ...]


class Call(NamedTuple):
    """One tool call.

    Args:
        tool: its name. server: its MCP server, "" for none or unknown (spans do not say).
        status: the verdict. mode, policy (digest), budget, step, violations, evicted, truncated, unrecorded: as on the
            span (docs/attributes.md); "" and -1 where the file does not say.
        mutating: whether the tool is not known to be read-only; None where the file does not say.
        trace_id, span_id, parent_id: lower-case hex; "" where the file has none.
        start, end: nanoseconds since 1970, 0 where the file does not say.
        run: the conversation's id, else "". agent: the agent's name, else "".
        error: `error.type`.
        scope: name of the instrumentation scope. place: where it was read, `file:line`.
    """

    tool: str
    server: str = ""
    status: Verdict = "none"
    mode: str = ""
    policy: str = ""
    budget: int = -1
    step: str = ""
    violations: tuple[str, ...] = ()
    assumed_fields: tuple[str, ...] = ()
    uncited_tokens: tuple[str, ...] = ()
    arguments: tuple[Argument, ...] = ()
    links: tuple[Link, ...] = ()
    mutating: bool | None = None
    trace_id: str = ""
    span_id: str = ""
    parent_id: str = ""
    start: int = 0
    end: int = 0
    run: str = ""
    agent: str = ""
    error: str = ""
    evicted: int = 0
    truncated: tuple[str, ...] = ()
    unrecorded: str = ""
    digest_key: str = ""
    scope: str = ""
    place: str = ""

    @property
    def troubled(self) -> bool:
        """Whether somebody should look at it."""
        return self.status in TROUBLE

    @property
    def name(self) -> str:
        """`server/tool` where the server is known."""
        return f"{self.server}/{self.tool}" if self.server else self.tool


def rank(kind: Kind) -> int:
    """How bad a kind is, 0 for the best."""
    return KINDS.index(kind)
