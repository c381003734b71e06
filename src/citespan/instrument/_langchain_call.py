"""One call of a LangChain tool: its arguments as the framework validated them and as they are judged, its raw result.

The framework validates once. What it made of the arguments is handed out to it again when it runs the tool, with the
judged copy in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from inspect import getattr_static
from typing import Any, Final, NamedTuple
from weakref import ref

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
        schema: as models are shown it. injected: names of those that the host gives. tool, args_schema: of which tool.
    """

    schema: Mapping[str, Any]
    injected: frozenset[str]
    tool: ref[Any] | None = None
    args_schema: Any = None

    @property
    def first(self) -> str:
        """The name of the first argument: what a bare text is for."""
        return str(next(iter(self.schema.get("properties") or ()), "input"))


_UNKNOWN: Final = Known({}, frozenset())
_KNOWN: Final[dict[int, Known]] = {}


class Frame:
    """One call, from its arguments to its raw result.

    Args:
        tool: the `BaseTool`. given: what it was called with. call_id, config: of the call.
    """

    def __init__(self, tool: Any, given: Any, call_id: str | None, config: Mapping[str, Any] | None) -> None:
        self.tool = tool
        self.given = given
        self.call_id = call_id
        self.config = config or {}
        #: what the framework itself has against the arguments: it says so, and the body does not run
        self.error: Exception | None = None
        self.args: tuple[Any, ...] = ()
        self.kwargs: dict[str, Any] = {}
        self.known = _UNKNOWN
        self.handed_out = False
        self.result: tuple[Any, Any, str] | None = None
        #: judged arguments that the body gets from the judged copy: name -> where; the others became objects
        self.places: dict[str, int | str] = {}
        #: a tool with a `_to_args_and_kwargs` of its own would not hand out what is in here
        parses = getattr_static(type(tool), "_to_args_and_kwargs")
        self.validates = getattr(parses, "_self_wrapper", None) is hand_out_arguments
        if self.validates:
            try:
                copy = dict(given) if isinstance(given, dict) else given
                self.args, self.kwargs = tool._to_args_and_kwargs(copy, call_id)
            except Exception as error:
                self.error = error

    def read(self) -> Call:
        """The call as it is judged."""
        self.known = _know(self.tool)
        step, written = asked_for(self.call_id)
        given = self.given if isinstance(self.given, dict) else {self.known.first: self.given}
        # what the model wrote under the name of an injected argument is not the host's
        shown = {name: value for name, value in given.items() if name not in self.known.injected or name in written}
        judged = dict(self._judged(shown)) if self.validates else shown
        return Call(
            _describe(self.tool, self.known), judged, self.call_id, step or superstep(self.call_id, self.config)
        )

    def _judged(self, shown: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """What the model sent, in the form that the body gets. What validation left out never gets there."""
        places: dict[str, int | str] = {name: 0 if self.args else name for name in shown}
        if not self.args and not shown.keys() <= self.kwargs.keys():
            # a name that validation does not know may have led to any other (an alias): so none of these is a default
            places = {name: name for name in self.kwargs if name in shown or name not in self.known.injected}
        for name, place in places.items():
            value = self.args[0] if isinstance(place, int) else self.kwargs[place]
            if is_plain(value):
                self.places[name] = place
            yield name, value if name in self.places else shown.get(name, value)

    def hand_out(self, judged: Mapping[str, Any]) -> None:
        """Put the judged copy where the body gets its arguments from."""
        if not self.validates:
            self.given = {**self.given, **judged} if isinstance(self.given, dict) else next(iter(judged.values()))
        for name, place in self.places.items():
            if isinstance(place, int):
                self.args = (judged[name],)
            else:
                self.kwargs[place] = judged[name]

    def learned(self, _: Any) -> Learned:
        """What the raw result says."""
        if self.result is None:
            return Unread("the framework did not say what the tool returned")
        content, artifact, status = self.result
        if status == "error":
            return Failed("the tool said that it failed")
        if served_by(self.tool) is not None:
            return _said_by_server(content, artifact)
        return _said_by(content)

    def tell(self, refusal: ProvenanceDenied) -> Any:
        """The message that answers the model's call; without one, whoever called gets the refusal."""
        if self.call_id is None:
            raise refusal from None
        message = loaded(MESSAGES).ToolMessage
        return message(str(refusal), name=self.tool.name, tool_call_id=self.call_id, status="error")


FRAME: Final[ContextVar[Frame | None]] = ContextVar("citespan-langchain-frame", default=None)


@contextmanager
def under(frame: Frame | None) -> Iterator[None]:
    """What the framework does under it belongs to this call, or to none."""
    token = FRAME.set(frame)
    try:
        yield
    finally:
        FRAME.reset(token)


def hand_out_arguments(wrapped: Any, tool: Any, args: Any, kwargs: Any) -> Any:
    """In place of `_to_args_and_kwargs`, once per call: what was judged, or the error that was found then."""
    frame = FRAME.get()
    if frame is None or frame.tool is not tool or frame.handed_out or not frame.validates:
        return wrapped(*args, **kwargs)
    frame.handed_out = True
    if frame.error is not None:
        raise frame.error
    return frame.args, frame.kwargs


def keep_result(wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
    """Around `_format_output`: what the tool returned, before it becomes a message."""
    frame = FRAME.get()
    if frame is not None:
        frame.result = _raw(*args, **kwargs)
    return wrapped(*args, **kwargs)


def _raw(content: Any, artifact: Any, tool_call_id: Any, name: Any, status: str) -> tuple[Any, Any, str]:
    return content, artifact, status


def _describe(tool: Any, known: Known) -> Tool:
    served = served_by(tool)
    return Tool(
        name=tool.name if served is None else served.name,
        server=None if served is None else served.server,
        schema=known.schema,
        description=tool.description or None,
        hint=(tool.metadata or {}).get("readOnlyHint"),
        type="function" if served is None else "extension",
    )


def _know(tool: Any) -> Known:
    """What a tool's arguments are; worked out once, which older versions of LangChain take milliseconds for."""
    known = _KNOWN.get(id(tool), _UNKNOWN)
    if not (known.args_schema is tool.args_schema and known.tool is not None and known.tool() is tool):
        schema = _schema(tool)
        names = (*getattr(tool.args_schema, "model_fields", ()), *tool._injected_args_keys, *_HOSTS)
        injected = frozenset(names) - tool._filter_injected_args(dict.fromkeys(names)).keys()
        known = _KNOWN[id(tool)] = Known(schema, injected, ref(tool, partial(_forget, id(tool))), tool.args_schema)
    return known


def _forget(key: int, gone: Any) -> None:
    known = _KNOWN.get(key)
    if known is not None and known.tool is gone:
        del _KNOWN[key]


def _schema(tool: Any) -> Mapping[str, Any]:
    """The schema that models are shown."""
    if tool.args_schema is None and isinstance(tool, loaded("langchain_core.tools.simple").Tool):
        return _BARE
    shown = tool.tool_call_schema
    if isinstance(shown, dict):
        return shown
    found: Mapping[str, Any] = shown.model_json_schema() if hasattr(shown, "model_json_schema") else shown.schema()
    return found


def served_by(tool: Any) -> Served | None:
    """Where a tool of an MCP server comes from, None for any other tool."""
    found: Served | None = getattr(getattr(tool, "coroutine", None), SERVED, None)
    return found


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
    texts = [message.content for message in messages]
    return Value(texts[0] if len(texts) == 1 else texts)


def _said_by_server(content: Any, artifact: Any) -> Learned:
    """What an MCP server answered, with the fields that the MCP client's adapter reads: structured, else its texts."""
    if isinstance(artifact, dict) and "structured_content" in artifact:
        return Value(artifact["structured_content"])
    if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
        return _said_by(content)
    texts = [block["text"] for block in content if block.get("type") == "text"]
    return Value(texts[0] if len(texts) == 1 else texts)
