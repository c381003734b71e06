"""Where a value came from: one closed union, six kinds (design section 2). Kinds are never merged."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["observed", "user", "schema", "derived", "invented", "assumed"]

#: the verdict on a call (`citespan.core.decision`)
Status: TypeAlias = Literal["ok", "flagged", "blocked", "unguarded", "error"]

#: best first; the last is the worst, and an argument's kind is its worst leaf's
KINDS: Final[tuple[Kind, ...]] = ("observed", "user", "schema", "derived", "invented", "assumed")

Why: TypeAlias = Literal["nowhere", "opaque", "no_run", "echo", "state", "field", "weak", "source", "ledger"]

#: one sentence per reason why a leaf is `assumed`; none carries a value
REASONS: Final[dict[Why, str]] = {
    "nowhere": "in no result, message, input or schema of this run",
    "opaque": "not a plain JSON value, so nothing can vouch for it",
    "no_run": "no run is open here, so there is no ledger to cite",
    "echo": "only in the result of a call that was given it uncited",
    "state": "an uncited value that an earlier call may have stored",
    "field": "only in a field that holds values of another shape",
    "weak": "too common a value to count, by policy",
    "source": "not in a field that the policy names for this argument",
    "ledger": "not in the ledger, which had to drop results to stay in its bounds",
}


class SpanRef(NamedTuple):
    """A span by its ids, lower-case hex as OTLP/JSON writes them: 32 and 16 characters."""

    trace_id: str
    span_id: str


class Source(NamedTuple):
    """One place that a value follows from.

    Args:
        tool: the tool whose result holds it, or the name of the host context.
        server: the MCP server of that tool, None for a local one.
        path: dotted path of the leaf in that result (`files.0`); stays in the process.
        shown: the same with data-like keys as `*`, fit to leave it.
        field: tool and path with indexes as `*` (`list_files.files.*`).
        projection: name of the projection, "exact" for the leaf itself.
        call: ordinal of the observation in its run, from 0.
        span: the span of the call that returned it, None where nothing traced it.
        weak: whether the citation proves little (design section 2, weak citations).
    """

    tool: str
    server: str | None
    path: str
    shown: str
    field: str
    projection: str
    call: int
    span: SpanRef | None
    weak: bool


class Observed(NamedTuple):
    """Equals a leaf of an earlier successful result, or a projection of one. The first source is the one shown.

    Args:
        sources: strong ones first. weak: whether none of them is strong.
        wrapped: folded uncited texts that stand inside it, where it is only cited as something around them.
    """

    sources: tuple[Source, ...]
    weak: bool
    wrapped: tuple[str, ...] = ()
    kind: Literal["observed"] = "observed"


class FromUser(NamedTuple):
    """Said by a human, declared as an input, or handed in by the host.

    Args:
        origin: "inputs", "message", or the name given to `run.observe`.
        path: dotted path in the inputs, or the index of the message.
        projection: "exact", or the folding that was used.
    """

    origin: str
    path: str
    projection: str
    weak: bool
    kind: Literal["user"] = "user"


class FromSchema(NamedTuple):
    """Supplied by the tool's own schema ("enum", "const", "default") or declared by the policy ("values")."""

    rule: Literal["enum", "const", "default", "values"]
    weak: bool
    kind: Literal["schema"] = "schema"


class Derived(NamedTuple):
    """A computation that the policy declares, whose literals are all cited."""

    rule: str
    sources: tuple[Source, ...]
    weak: bool
    kind: Literal["derived"] = "derived"


class Invented(NamedTuple):
    """Proposed as new, shown absent from a listing, approved by a reviewer."""

    digest: str
    weak: bool = False
    kind: Literal["invented"] = "invented"


class Assumed(NamedTuple):
    """None of the above; `why` says which rule took the last candidate away."""

    why: Why
    weak: bool = False
    kind: Literal["assumed"] = "assumed"


Provenance: TypeAlias = Observed | FromUser | FromSchema | Derived | Invented | Assumed
