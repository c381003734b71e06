"""One call of a LangChain tool: its arguments as the framework validated them and as they are judged, its raw result.

The framework validates once. What it made of the arguments is handed out to it again when it runs the tool, with the
judged copy in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar, Token
from typing import Any, Final, NamedTuple
from weakref import finalize

from citespan.core.decision import ProvenanceDenied
from citespan.guard.ports import Tool
from citespan.instrument._base import Call, Failed, Learned, Unread, Value
from citespan.instrument._langgraph import MESSAGES, asked_for, command_type, is_plain, superstep
from citespan.instrument._patch import loaded

#: on the function of a tool that stands on an MCP server: where it comes from
SERVED: Final = "_citespan_served"
#: what LangChain itself passes to a tool's body
_HOSTS: Final = ("run_manager", "callbacks", "config")
#: the one argument of a tool that has no schema, as models are told of it
_BARE: Final = {"type": "object", "properties": {"__arg1": {"type": "string"}}}


class Served(NamedTuple):
    """Where an MCP tool comes from: what the host calls the server, and what the server calls the tool."""

    server: str | None
    name: str


class Known(NamedTuple):
    """What the arguments of a tool are.

    Args:
        schema: as models are shown it. injected: names of those that the host gives. args_schema: what both are of.
    """

    schema: Mapping[str, Any]
    injected: frozenset[str]
    args_schema: Any


#: by id, since tools are models, which have no hash
_KNOWN: Final[dict[int, Known]] = {}


class Frame:
    """One call, from its arguments to its raw result. What the framework does `with` it belongs to this call.

    Args:
        tool: the `BaseTool`. given: what it was called with. call_id, config: of the call.
    """

    __slots__ = (
        "_handed_out",
        "_plain",
        "_token",
        "_validates",
        "args",
        "call_id",
        "config",
        "error",
        "given",
        "kwargs",
        "result",
        "served",
        "tool",
    )

    def __init__(self, tool: Any, given: Any, call_id: str | None, config: Mapping[str, Any] | None) -> None:
        self.tool = tool
        self.given = given
        self.call_id = call_id
        self.config = config
        #: where the tool of an MCP server comes from, None for any other tool
        self.served: Served | None = getattr(getattr(tool, "coroutine", None), SERVED, None)
        #: what the framework itself has against the arguments: it says so, and the body does not run
        self.error: Exception | None = None
        self.args: tuple[Any, ...] = ()
        self.kwargs: dict[str, Any] = {}
        self.result: tuple[Any, Any, str] | None = None
        #: names of arguments that the body gets from the judged copy; the others became objects
        self._plain: list[str] = []
        self._handed_out = False
        self._token: Token[Frame | None] | None = None
        validate = type(tool)._to_args_and_kwargs
        #: a tool with a `_to_args_and_kwargs` of its own would not hand out what is in here
        self._validates = getattr(validate, "_self_wrapper", None) is hand_out_arguments
        if self._validates:
            try:
                copy = dict(given) if isinstance(given, dict) else given
                self.args, self.kwargs = validate.__wrapped__(tool, copy, call_id)
            except Exception as error:
                self.error = error

    def __enter__(self) -> None:
        self._token = FRAME.set(self)

    def __exit__(self, *_: object) -> None:
        if self._token is not None:
            FRAME.reset(self._token)

    def read(self) -> Call:
        """The call as it is judged."""
        known = _know(self.tool)
        step, written = asked_for(self.call_id)
        given = self.given if isinstance(self.given, dict) else {_first(known.schema): self.given}
        if not known.injected.isdisjoint(given):
            # what the model wrote under the name of an injected argument is not the host's
            given = {name: value for name, value in given.items() if name not in known.injected or name in written}
        judged = self._validated(given, known.injected) if self._validates else given
        step = step or superstep(self.call_id, self.config)
        return Call(_describe(self.tool, self.served, known.schema), judged, self.call_id, step)

    def _validated(self, sent: Mapping[str, Any], injected: frozenset[str]) -> dict[str, Any]:
        """What the model sent, in the form that the body gets. What validation left out never gets there."""
        body = dict.fromkeys(sent, self.args[0]) if self.args else self.kwargs
        names = list(sent)
        if not sent.keys() <= body.keys():
            # a name that validation does not know may have led to any other (an alias): so none of these is a default
            names = [name for name in body if name in sent or name not in injected]
        self._plain = [name for name in names if is_plain(body[name])]
        if len(self._plain) < len(names):
            return {name: body[name] if name in self._plain else sent.get(name, body[name]) for name in names}
        return {name: body[name] for name in names}

    def hand_out(self, judged: Mapping[str, Any]) -> None:
        """Put the judged copy where the body gets its arguments from."""
        if not self._validates:
            self.given = {**self.given, **judged} if isinstance(self.given, dict) else next(iter(judged.values()))
        for name in self._plain:
            if self.args:
                self.args = (judged[name],)
            else:
                self.kwargs[name] = judged[name]

    def take(self) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """What the body gets, once; None where the framework is to make it.

        Raises:
            what the framework has against the arguments.
        """
        if self._handed_out or not self._validates:
            return None
        self._handed_out = True
        if self.error is not None:
            raise self.error
        return self.args, self.kwargs

    def learned(self, _: Any) -> Learned:
        """What the raw result says."""
        if self.result is None:
            return Unread("the framework did not say what the tool returned")
        content, artifact, status = self.result
        if status == "error":
            return Failed("the tool said that it failed")
        return _said_by(content) if self.served is None else _said_by_server(content, artifact)

    def tell(self, refusal: ProvenanceDenied) -> Any:
        """The message that answers the model's call; without one, whoever called gets the refusal."""
        if self.call_id is None:
            raise refusal from None
        message = loaded(MESSAGES).ToolMessage
        return message(str(refusal), name=self.tool.name, tool_call_id=self.call_id, status="error")


FRAME: Final[ContextVar[Frame | None]] = ContextVar("citespan-langchain-frame", default=None)


def hand_out_arguments(wrapped: Any, tool: Any, args: Any, kwargs: Any) -> Any:
    """In place of `_to_args_and_kwargs`, once per call: what was judged, or the error that was found then."""
    frame = FRAME.get()
    taken = None if frame is None or frame.tool is not tool else frame.take()
    return wrapped(*args, **kwargs) if taken is None else taken


def keep_result(wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
    """Around `_format_output`: what the tool returned, before it becomes a message."""
    frame = FRAME.get()
    if frame is not None:
        frame.result = _raw(*args, **kwargs)
    return wrapped(*args, **kwargs)


def _raw(content: Any, artifact: Any, tool_call_id: Any, name: Any, status: str) -> tuple[Any, Any, str]:
    return content, artifact, status


def _describe(tool: Any, served: Served | None, schema: Mapping[str, Any]) -> Tool:
    hint = (tool.metadata or {}).get("readOnlyHint")
    if served is None:
        return Tool(tool.name, schema=schema, description=tool.description or None, hint=hint)
    return Tool(served.name, served.server, schema, tool.description or None, hint=hint, type="extension")


def _know(tool: Any) -> Known:
    """What a tool's arguments are; worked out once, which older versions of LangChain take milliseconds for."""
    known = _KNOWN.get(id(tool))
    if known is None or known.args_schema is not tool.args_schema:
        names = (*getattr(tool.args_schema, "model_fields", ()), *tool._injected_args_keys, *_HOSTS)
        injected = frozenset(names) - tool._filter_injected_args(dict.fromkeys(names)).keys()
        if known is None:
            finalize(tool, _KNOWN.pop, id(tool), None).atexit = False
        known = _KNOWN[id(tool)] = Known(_schema(tool), injected, tool.args_schema)
    return known


def _schema(tool: Any) -> Mapping[str, Any]:
    """The schema that models are shown."""
    if tool.args_schema is None and isinstance(tool, loaded("langchain_core.tools.simple").Tool):
        return _BARE
    shown = tool.tool_call_schema
    if isinstance(shown, dict):
        return shown
    found: Mapping[str, Any] = shown.model_json_schema() if hasattr(shown, "model_json_schema") else shown.schema()
    return found


def _first(schema: Mapping[str, Any]) -> str:
    """The name of the first argument: what a bare text is for."""
    return str(next(iter(schema.get("properties") or ()), "input"))


def _said_by(content: Any) -> Learned:
    """What a result says: a tool may return it as a message, or as a command to its graph that holds messages."""
    if isinstance(content, command_type()):
        update = content.update if isinstance(content.update, dict) else {}
        content = [message for message in update.get("messages", ()) if hasattr(message, "tool_call_id")]
        if not content:
            return Unread("a command to the graph")
    messages = content if isinstance(content, list) else [content]
    if not messages or not all(isinstance(message, loaded(MESSAGES).ToolMessage) for message in messages):
        return Value(content)
    if any(message.status == "error" for message in messages):
        return Failed("the tool said that it failed")
    return _value([message.content for message in messages])


def _said_by_server(content: Any, artifact: Any) -> Learned:
    """What an MCP server answered, with the fields that the MCP client's adapter reads: structured, else its texts."""
    if isinstance(artifact, dict) and "structured_content" in artifact:
        return Value(artifact["structured_content"])
    if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
        return _said_by(content)
    return _value([block["text"] for block in content if block.get("type") == "text"])


def _value(parts: list[Any]) -> Value:
    return Value(parts[0] if len(parts) == 1 else parts)
