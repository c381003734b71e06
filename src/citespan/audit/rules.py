"""Every rule of the audit, in one table: docs/audit.md, SARIF and the exit code are made of it."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final, Literal, NamedTuple, TypeAlias

from citespan.errors import EXIT_INCOMPLETE, EXIT_OK, EXIT_VIOLATIONS

Severity: TypeAlias = Literal["error", "warning", "note"]
#: where values came from, and how spans hang together: told apart (design section 4)
Family: TypeAlias = Literal["provenance", "causality"]
SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "note")
FAMILIES: Final[tuple[Family, ...]] = ("provenance", "causality")


class Rule(NamedTuple):
    """One rule.

    Args:
        severity: how bad. family: what it is about.
        brief: what is found, one sentence. help: what to do about it.
        exit_code: 1 a violation, 2 the files are incomplete, 0 neither.
    """

    id: str
    severity: Severity
    family: Family
    exit_code: int
    brief: str
    help: str


_VIOLATION, _INCOMPLETE, _NEITHER = EXIT_VIOLATIONS, EXIT_INCOMPLETE, EXIT_OK

# fmt: off
_RULES: Final = (
    Rule("blocked", "error", "provenance", _VIOLATION,
         "A call was refused.",
         "`citespan show FILE --trace ID` says which argument had no source, and what would have given it one."),
    Rule("flagged", "error", "provenance", _VIOLATION,
         "A call was over its budget, and ran.",
         "`citespan show FILE --trace ID` says what was missing; then enforce the policy for this tool."),
    Rule("guard-error", "error", "provenance", _VIOLATION,
         "The guard failed, in a mode that lets the call run.",
         "Nobody judged this call: read the agent's log, and enforce, so that a failure of the guard denies."),
    Rule("unguarded", "error", "provenance", _VIOLATION,
         "A tool ran, or may have run, with nobody to judge its arguments.",
         "Run the agent under `citespan run`, or wrap the tool with `citespan.tool`; `citespan doctor` says what is "
         "covered."),
    Rule("dead-citation", "error", "provenance", _VIOLATION,
         "A citation leads to a span that is missing from a trace that is here.",
         "Look for lost spans (sampling, a full export queue, a file left out), and audit all files together."),
    Rule("absent-trace", "warning", "provenance", _INCOMPLETE,
         "A citation leads to a trace of which no span is in the files.",
         "Add the file with the earlier trace of this conversation to the command."),
    Rule("untraced-source", "warning", "provenance", _INCOMPLETE,
         "A citation leads to a call that left no span.",
         "Switch telemetry on before the agent's first call: what is not traced cannot be checked."),
    Rule("later-citation", "error", "provenance", _VIOLATION,
         "A citation leads to a call that had not ended when the citing call started.",
         "A value cannot come from a result that is not there yet: treat this trace as wrong or forged."),
    Rule("clock-skew", "warning", "provenance", _NEITHER,
         "A citation leads to a later call of another process, by less than a minute: their clocks may differ.",
         "Synchronise the clocks of the two machines; until then their order is not known."),
    Rule("failed-source", "error", "provenance", _VIOLATION,
         "A citation leads to a call that was refused, failed, or whose result was not recorded.",
         "Such a call teaches nothing: treat the citing argument as uncited."),
    Rule("wrong-source", "error", "provenance", _VIOLATION,
         "A citation leads to a span that is no tool call, or a call of another tool than the citation says.",
         "Treat the citing argument as uncited, and find out what changed the span."),
    Rule("self-citation", "error", "provenance", _VIOLATION,
         "A call cites itself.",
         "Treat the citing argument as uncited, and find out what changed the span."),
    Rule("digest-mismatch", "error", "provenance", _VIOLATION,
         "Two digests of one value differ, or a digest is not that of the argument on the span.",
         "One of the values is not what was cited, or content was changed on its way here (a redaction does that)."),
    Rule("inconsistent", "error", "provenance", _VIOLATION,
         "What a span says of its call contradicts itself.",
         "The tags were changed, cut or forged after the guard wrote them: do not rely on this call's verdict."),
    Rule("over-policy", "error", "provenance", _VIOLATION,
         "A call that ran is over its budget under the policy that the audit was given.",
         "Run `citespan policy explain` on the argument, then `citespan replay` to judge recorded values anew."),
    Rule("over-policy-tagged", "warning", "provenance", _NEITHER,
         "A call that ran is over its budget under the policy that the audit was given, which only tags this tool.",
         "Nothing, unless the tool is to be enforced."),
    Rule("other-policy", "warning", "provenance", _NEITHER,
         "Calls were judged under another policy than the audit was given.",
         "Deploy the policy, or audit with the one that was in force."),
    Rule("undecided", "note", "provenance", _NEITHER,
         "The policy that the audit was given has rules for tools of a server, and spans do not name servers.",
         "Use `citespan replay`, whose recordings name them."),
    Rule("lost-attributes", "warning", "provenance", _NEITHER,
         "The SDK dropped attributes, events or links of a tool call's span.",
         "Raise OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT (and the limits of events and links): what was lost was not audited."),
    Rule("truncated", "note", "provenance", _NEITHER,
         "Some of a call's arguments did not fit on its span.",
         "The evidence file and a replay have them all."),
    Rule("several-policies", "note", "provenance", _NEITHER,
         "Calls of one trace were judged under different policies.",
         "See whether a policy was changed while the agent ran."),
    Rule("no-calls", "error", "causality", _INCOMPLETE,
         "There is no tool call in the files.",
         "Check that the agent's spans are exported to these files, and that tool spans are not sampled away."),
    Rule("unclosed-run", "error", "causality", _INCOMPLETE,
         "A trace with tool calls has no run (`invoke_agent`) that ended.",
         "The run is still open, died, or is in another file: an unfinished run cannot be called clean."),
    Rule("unended-span", "error", "causality", _INCOMPLETE,
         "A span has no end, or no start.",
         "Wait until the run has ended, and export again."),
    Rule("missing-parent", "error", "causality", _INCOMPLETE,
         "The parent of a span is in none of the files.",
         "Look for lost spans and left-out files, and audit all files together."),
    Rule("remote-parent", "note", "causality", _NEITHER,
         "The caller of a served request is in none of the files.",
         "Nothing, unless that caller is part of the agent."),
    Rule("early-child", "warning", "causality", _NEITHER,
         "A span starts before its parent.",
         "Synchronise the clocks, where the two are of different machines."),
    Rule("conflicting-spans", "warning", "causality", _NEITHER,
         "Spans with one id have different contents.",
         "Each was audited; find out which path to the files changes spans."),
)
# fmt: on

RULES: Final = MappingProxyType({rule.id: rule for rule in _RULES})
