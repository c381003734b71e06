"""Every name that citespan puts into telemetry: attribute keys, events, spans, metrics.

The only home of these strings. `docs/attributes.md` and the semantic-convention registry are generated from
`ATTRIBUTES`, `METRICS` and `SPANS`. A key is either a leaf or a namespace, never both.

The `gen_ai.*`, `mcp.*` and `error.type` keys are those of the OpenTelemetry semantic conventions; the
foreign keys below them are only ever read.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias

SCOPE: Final = "citespan"
#: the last release of the conventions that defines the GenAI attributes (they have had a home of their own
#: since)
SCHEMA_URL: Final = "https://opentelemetry.io/schemas/1.41.0"

# -- OpenTelemetry's own
# ------------------------------------------------------------------------------------------
OPERATION: Final = "gen_ai.operation.name"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_TYPE: Final = "gen_ai.tool.type"
TOOL_DESCRIPTION: Final = "gen_ai.tool.description"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
TOOL_CALL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_CALL_RESULT: Final = "gen_ai.tool.call.result"
CONVERSATION_ID: Final = "gen_ai.conversation.id"
AGENT_NAME: Final = "gen_ai.agent.name"
ERROR_TYPE: Final = "error.type"
MCP_METHOD: Final = "mcp.method.name"

EXECUTE_TOOL: Final = "execute_tool"
INVOKE_AGENT: Final = "invoke_agent"
MCP_TOOLS_CALL: Final = "tools/call"

# -- citespan's: the whole call
# -----------------------------------------------------------------------------------
STATUS: Final = "provenance.status"
WITHIN: Final = "provenance.within"
MODE: Final = "provenance.mode"
POLICY: Final = "provenance.policy"
BUDGET: Final = "provenance.budget"
STEP: Final = "provenance.step"
VIOLATIONS: Final = "provenance.violations"
ASSUMED_FIELDS: Final = "provenance.assumed_fields"
UNCITED_TOKENS: Final = "provenance.uncited_tokens"
COUNT: Final = "provenance.count."
LEAVES: Final = "provenance.leaves"
TRUNCATED: Final = "provenance.truncated"
EVICTED: Final = "provenance.evicted"
DIGEST_KEY: Final = "provenance.digest_key"
UNRECORDED: Final = "provenance.unrecorded"

# -- citespan's: one argument; the argument's name follows
# --------------------------------------------------------
KIND: Final = "provenance.kind."
SOURCE_TOOL: Final = "provenance.source_tool."
SOURCE_FIELD: Final = "provenance.source_field."
SOURCE_SPAN: Final = "provenance.source_span."
DIGEST: Final = "provenance.digest."
PROJECTION: Final = "provenance.projection."
WEAK: Final = "provenance.weak."
PREVIEW: Final = "provenance.preview."
ACCEPTS: Final = "provenance.accepts."
NEAREST: Final = "provenance.nearest."

# -- citespan's: on links, events and metric points
# ---------------------------------------------------------------
LINK_ARGUMENTS: Final = "provenance.link.arguments"
LINK_SOURCE_TOOL: Final = "provenance.link.source_tool"
EVENT_UNCITED: Final = "provenance.uncited"
ARGUMENT_NAME: Final = "provenance.argument.name"
ARGUMENT_PATH: Final = "provenance.argument.path"
ARGUMENT_KIND: Final = "provenance.argument.kind"
TOOL_MUTATING: Final = "provenance.tool.mutating"

METRIC_CALLS: Final = "citespan.tool.calls"
METRIC_LEAVES: Final = "citespan.argument.leaves"
METRIC_DURATION: Final = "citespan.guard.duration"

#: what stands for a name that no schema declares: what a model wrote is never a key or a metric label
UNDECLARED: Final = "*"

#: `error.type` of a refused call
ERROR_DENIED: Final = "provenance_budget_exceeded"
#: `error.type` of a result that the tool itself marked as an error (MCP `isError`)
ERROR_TOOL: Final = "tool_error"

# -- only read: how others mark a tool span, and where they put raw content
# ---------------------------------------
OPENINFERENCE_KIND: Final = "openinference.span.kind"
TRACELOOP_KIND: Final = "traceloop.span.kind"
OPENINFERENCE_TOOL_NAME: Final = "tool.name"
TRACELOOP_NAME: Final = "traceloop.entity.name"
#: where arguments and results are, in the order they are looked for
ARGUMENT_KEYS: Final = (
    TOOL_CALL_ARGUMENTS,
    "tool_arguments",
    "input.value",
    "traceloop.entity.input",
)
RESULT_KEYS: Final = (TOOL_CALL_RESULT, "tool_response", "output.value", "traceloop.entity.output")
#: raw content that may stand on any span or event
CONTENT_KEYS: Final = frozenset(
    {
        *ARGUMENT_KEYS,
        *RESULT_KEYS,
        "gen_ai.input.messages",
        "gen_ai.output.messages",
        "gen_ai.system_instructions",
        "gen_ai.task.input",
        "gen_ai.task.output",
        "tool.parameters",
        "all_messages_events",
        "pydantic_ai.all_messages",
        "final_result",
        "model_request_parameters",
        "gen_ai.tool.definitions",
        "llm.prompt_template.template",
        "llm.prompt_template.variables",
    }
)
#: content where it is about an agent; on the span of a request or a query it is what an operator looks for
AGENT_CONTENT_KEYS: Final = frozenset({"exception.message", "exception.stacktrace", "metadata"})
#: attributes that only spans about agents have
AGENT_PREFIXES: Final = ("gen_ai.", "openinference.", "traceloop.", "llm.", "mcp.", "pydantic_ai.", "provenance.")
CONTENT_PREFIXES: Final = (
    "gen_ai.prompt.",
    "gen_ai.completion.",
    "llm.input_messages.",
    "llm.output_messages.",
    "retrieval.documents.",
    "traceloop.association.properties.",
)

Type: TypeAlias = Literal["string", "int", "boolean", "string[]", "double"]
Place: TypeAlias = Literal["span", "event", "link", "metric"]


class Member(NamedTuple):
    """One value of an enumerated attribute."""

    value: str
    brief: str


class Attribute(NamedTuple):
    """One documented attribute.

    Args:
        key: the key; `<...>` at its end stands for a name, as in `provenance.kind.<argument>`.
        type: as in the semantic conventions.
        where: what carries it.
        brief: one sentence for the reference.
        example: one value, as it is written in JSON.
        members: all values, where it is an enumeration.
    """

    key: str
    type: Type
    where: tuple[Place, ...]
    brief: str
    example: str
    members: tuple[Member, ...] = ()

    @property
    def ours(self) -> bool:
        """Whether citespan defines it, rather than a convention that it follows."""
        return self.key.startswith("provenance.")


class Metric(NamedTuple):
    """One documented metric; `buckets` are boundaries in `unit`, for histograms."""

    name: str
    instrument: Literal["counter", "histogram"]
    unit: str
    brief: str
    attributes: tuple[str, ...]
    buckets: tuple[float, ...] = ()


class SpanName(NamedTuple):
    """One kind of span; `name` with `{}` where an attribute's value stands."""

    id: str
    name: str
    brief: str


KIND_MEMBERS: Final = (
    Member("observed", "equals a leaf of an earlier successful result of this run, or follows from one"),
    Member("user", "said by a human, declared as an input, or handed in by the host"),
    Member("schema", "supplied by the tool's own schema, or declared by the policy"),
    Member("derived", "computed as the policy declares, from cited values"),
    Member("invented", "proposed as new and approved by a reviewer"),
    Member("assumed", "none of these"),
)
STATUS_MEMBERS: Final = (
    Member("ok", "within the budget"),
    Member("flagged", "over the budget, in a mode that does not enforce"),
    Member("blocked", "over the budget; the tool's body did not run"),
    Member("unguarded", "the tool's body ran, or may have run, without a judgement that could stop it"),
    Member("error", "the guard itself failed, in a mode that does not enforce"),
)
MODE_MEMBERS: Final = (
    Member("enforce", "a call over its budget does not run"),
    Member("tag", "a call over its budget runs and is flagged"),
    Member("off", "nothing is judged"),
)

_SPAN: Final[tuple[Place, ...]] = ("span",)
_EVENT: Final[tuple[Place, ...]] = ("event",)
_LINK: Final[tuple[Place, ...]] = ("link",)
_POINT: Final[tuple[Place, ...]] = ("event", "metric")

# fmt: off
ATTRIBUTES: Final[tuple[Attribute, ...]] = (
    Attribute(STATUS, "string", ("span", "metric"),
              "The verdict. It, not the span's status, is authoritative.", '"blocked"', STATUS_MEMBERS),
    Attribute(WITHIN, "boolean", _SPAN,
              "On a framework's own tool span inside a judged call of its tool: that call's span has the verdict.",
              "true"),
    Attribute(MODE, "string", _SPAN, "What the policy asks for where a call is over its budget.",
              '"enforce"', MODE_MEMBERS),
    Attribute(POLICY, "string", _SPAN, "Digest of the policy that decided.", '"b1946ac92492d234"'),
    Attribute(BUDGET, "int", _SPAN, "The most leaves of an unaccepted kind that the call may have.", "0"),
    Attribute(STEP, "string", _SPAN,
              "The model response that the call was written in, where it is known.", '"3"'),
    Attribute(VIOLATIONS, "string[]", _SPAN, "Why the call is over its budget; paths, never values.",
              '["assumed_fields=[path]"]'),
    Attribute(ASSUMED_FIELDS, "string[]", _SPAN, "Dotted paths of the leaves that counted.", '["path"]'),
    Attribute(UNCITED_TOKENS, "string[]", _SPAN,
              "Exempt text that holds an uncited URL, e-mail address, path or id: argument and shape.",
              '["reason:email"]'),
    Attribute(COUNT + "<kind>", "int", _SPAN, "How many leaves have that kind; absent where none has.",
              "2"),
    Attribute(KIND + "<argument>", "string", _SPAN, "The kind of an argument's worst leaf.", '"observed"',
              KIND_MEMBERS),
    Attribute(SOURCE_TOOL + "<argument>", "string", _SPAN,
              "The tool whose result the first cited leaf is from.", '"list_files"'),
    Attribute(SOURCE_FIELD + "<argument>", "string", _SPAN,
              "Dotted path in that result, keys that are data as `*`; for kind `user` the place in the inputs.",
              '"files.0"'),
    Attribute(SOURCE_SPAN + "<argument>", "string", _SPAN,
              "Id of that call's span; the link to it holds the trace id as well.", '"00f067aa0ba902b7"'),
    Attribute(DIGEST + "<argument>", "string", _SPAN,
              "Keyed BLAKE2b digest of the first cited leaf, 16 hex digits.", '"5d41402abc4b2a76"'),
    Attribute(PROJECTION + "<argument>", "string", _SPAN,
              "How the first cited leaf follows from its source; absent where it is equal.",
              '"basename"'),
    Attribute(WEAK + "<argument>", "boolean", _SPAN,
              "Present, and true, where that citation proves little.", "true"),
    Attribute(PREVIEW + "<argument>", "string", _SPAN,
              "The start of the argument, redacted; only where previews are switched on.",
              '"src/app.py"'),
    Attribute(ACCEPTS + "<argument>", "string[]", _SPAN,
              "On a call with violations: the fields that the policy names as sources of the argument.",
              '["list_files.files.*"]'),
    Attribute(NEAREST + "<argument>", "string[]", _SPAN,
              "On a call with violations: fields of the run's results that come closest to a source of the argument.",
              '["list_files.files.*"]'),
    Attribute(LEAVES, "string", _SPAN,
              "JSON list of path, kind, source and projection of each leaf, where an argument has several.",
              '"[{\\"path\\":\\"files.0\\",\\"kind\\":\\"assumed\\"}]"'),
    Attribute(TRUNCATED, "string[]", _SPAN,
              "What did not fit into the span's limits, and how much of it.", '["arguments=136"]'),
    Attribute(EVICTED, "int", _SPAN,
              "How many results the run's ledger had dropped to stay in its bounds.", "12"),
    Attribute(DIGEST_KEY, "string", _SPAN,
              "Which key the digests were made with: digests compare within one key.", '"9ae3f0c1"'),
    Attribute(UNRECORDED, "string", _SPAN, "Why the result of the call became no observation.",
              '"error result"'),
    Attribute(LINK_ARGUMENTS, "string[]", _LINK, "Arguments that cite the linked span.", '["path"]'),
    Attribute(LINK_SOURCE_TOOL, "string", _LINK, "The tool that the linked span called.", '"list_files"'),
    Attribute(ARGUMENT_NAME, "string", _POINT, "Top-level argument, `*` where no schema declares it.",
              '"path"'),
    Attribute(ARGUMENT_PATH, "string", _EVENT, "Dotted path of the leaf, indexes as `*`.", '"files.*"'),
    Attribute(ARGUMENT_KIND, "string", _POINT, "Kind of the leaf.", '"assumed"', KIND_MEMBERS),
    Attribute(TOOL_MUTATING, "boolean", _EVENT, "Whether the tool is not known to be read-only.", "true"),
    Attribute(OPERATION, "string", _SPAN, "`execute_tool` for a call, `invoke_agent` for a run.",
              '"execute_tool"'),
    Attribute(TOOL_NAME, "string", ("span", "event", "metric"), "Name of the tool.", '"patch_file"'),
    Attribute(TOOL_TYPE, "string", _SPAN, "`function`, or `extension` for a tool behind a protocol.",
              '"function"'),
    Attribute(TOOL_DESCRIPTION, "string", _SPAN, "The tool's description, cut to 1,024 characters.",
              '"Replace text in a file."'),
    Attribute(TOOL_CALL_ID, "string", _SPAN, "Id that the framework gave the call.", '"call_7"'),
    Attribute(CONVERSATION_ID, "string", _SPAN, "Id of the conversation, where the host named one.",
              '"thread-42"'),
    Attribute(AGENT_NAME, "string", _SPAN, "Name of the agent, where the host named one.", '"coder"'),
    Attribute(ERROR_TYPE, "string", _SPAN,
              "Of a refused call; else the class of the exception that the tool's body raised.",
              f'"{ERROR_DENIED}"'),
)
# fmt: on

METRICS: Final[tuple[Metric, ...]] = (
    Metric(METRIC_CALLS, "counter", "{call}", "Tool calls, by verdict.", (TOOL_NAME, STATUS)),
    Metric(
        METRIC_LEAVES,
        "counter",
        "{leaf}",
        "Argument leaves, by kind.",
        (TOOL_NAME, ARGUMENT_NAME, ARGUMENT_KIND),
    ),
    Metric(
        METRIC_DURATION,
        "histogram",
        "s",
        "Time that the guard took to judge one call.",
        (STATUS,),
        (1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 0.1, 1.0),
    ),
)

SPANS: Final[tuple[SpanName, ...]] = (
    SpanName("citespan.execute_tool", "execute_tool {gen_ai.tool.name}", "One tool call, judged."),
    SpanName("citespan.invoke_agent", "invoke_agent {gen_ai.agent.name}", "One run; its end is what closed means."),
)
