"""Policy values: what each tool's arguments may be (design section 3). Frozen; resolved once per tool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from citespan.core.computation import Computation
from citespan.core.decision import Mode, OnViolation
from citespan.core.images import IMAGES
from citespan.core.kinds import Kind

Weak: TypeAlias = Literal["count", "ignore", "same_name"]
Scan: TypeAlias = Literal["report", "count", "off"]
Output: TypeAlias = Literal["data", "computed", "model"]

ACCEPT: Final[frozenset[Kind]] = frozenset({"observed", "user", "schema", "invented"})
ALLOW: Final[frozenset[str]] = frozenset({"reason", "comment", "summary"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentRule:
    """What the policy says of one argument (or of one leaf pattern inside it); None means: not said here.

    Args:
        accept: kinds that are no violation.
        sources: fields (`list_files.files.*`, `server/tool.path`) that alone may be cited; the key `from`.
            An empty tuple takes back what a less specific table says.
        normalize: projection applied to the argument before it is looked up ("posix_path", "casefold", "number").
        projections: further projections admitted for this argument.
        values: values that the policy declares; they are of kind `schema`.
        derive: declared computations, a name for its plain form; where there are any, "derived" is accepted.
        propose_against: field whose listing must not contain a proposed value.
        weak: how a weak citation counts.
    """

    accept: frozenset[Kind] | None = None
    sources: tuple[str, ...] | None = None
    normalize: str | None = None
    projections: tuple[str, ...] = ()
    values: tuple[Any, ...] = ()
    derive: tuple[Computation | str, ...] = ()
    propose_against: str | None = None
    weak: Weak | None = None

    @property
    def admitted(self) -> tuple[str, ...]:
        """The declared projections that the index has postings for."""
        declared = self.projections if self.normalize is None else (*self.projections, self.normalize)
        return tuple(name for name in dict.fromkeys(declared) if name in IMAGES)


#: the rule of an argument that the policy says nothing of
PLAIN: Final = ArgumentRule()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRule:
    """What one `[tools."glob"]` table says; None means: not said here, the next less specific rule decides.

    Args:
        text: projections declared for this tool's text output, and patterns as `regex:NAME=PATTERN`. An empty tuple
            takes back what a less specific table says.
        output: "data"; "computed" is a source only if all arguments were cited; "model" is never one.
        confirms: result fields that make an uncited value citable.
        failed_when: how this tool reports an error as success: `path`, `path=value`, or `^prefix` of a text.
        read_only: whether the host vouches that the tool changes nothing.
    """

    mode: Mode | None = None
    on_violation: OnViolation | None = None
    max_assumed: int | None = None
    accept: frozenset[Kind] | None = None
    weak: Weak | None = None
    scan: Scan | None = None
    allow: frozenset[str] = frozenset()
    text: tuple[str, ...] | None = None
    output: Output | None = None
    confirms: tuple[str, ...] = ()
    failed_when: tuple[str, ...] = ()
    read_only: bool | None = None
    arguments: Mapping[str, ArgumentRule] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Bounds of a run's ledger; what does not fit is dropped, oldest first, and then is `assumed`.

    Args:
        bytes: JSON bytes of all kept results. leaves: their leaves. sources: kept sources per value.
    """

    bytes: int = 64 * 1024 * 1024
    leaves: int = 2_000_000
    sources: int = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A whole policy. The defaults are the rule itself: no uncited argument, enforced.

    Args:
        max_assumed: leaves per call whose kind is not accepted.
        run_max_assumed: leaves let through in enforce mode over a run.
        run_max_refused: refusals after which the run is aborted.
        allow: whole top-level arguments (`argument` or `tool.argument`): tagged, never counted.
        scan: whether uncited tokens in them are reported, count (the whole leaf does), or are not looked for.
        servers: MCP servers by name -> whether their read-only hints are believed.
        tools: glob -> rule; globs match `tool` and `server/tool`.

    Example:
        >>> Policy(max_assumed=1).max_assumed
        1
    """

    mode: Mode = "enforce"
    on_violation: OnViolation = "tell"
    max_assumed: int = 0
    accept: frozenset[Kind] = ACCEPT
    weak: Weak = "count"
    scan: Scan = "report"
    allow: frozenset[str] = ALLOW
    run_max_assumed: int = 5
    run_max_refused: int = 20
    servers: Mapping[str, bool] = field(default_factory=lambda: MappingProxyType({}))
    tools: Mapping[str, ToolRule] = field(default_factory=lambda: MappingProxyType({}))
    bounds: Bounds = Bounds()
    events: Literal["span", "log", "both"] = "span"
    previews: bool = False

    def evolve(self, **changes: Any) -> Policy:
        """A copy with some fields changed."""
        return replace(self, **changes)
