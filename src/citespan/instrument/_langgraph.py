"""Steps and runs of LangChain models and LangGraph graphs: which calls one model response asked for, whose conversation
an invocation of a graph belongs to, and what humans and the host said in it.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final
from weakref import WeakKeyDictionary

from citespan.core.opaque import is_scalar
from citespan.guard.context import current_run
from citespan.guard.state import RunState
from citespan.instrument._base import Conversation
from citespan.instrument._patch import loaded

MESSAGES: Final = "langchain_core.messages"
#: what the config of everything that runs inside a graph holds
INSIDE: Final = "__pregel_read"
#: where a server that runs graphs puts its own checkpointer
GIVEN: Final = "__pregel_checkpointer"
MAX_CALLS: Final = 4096


def is_plain(value: Any) -> bool:
    """Whether a value is JSON of exact types, so that the judged copy can stand for it."""
    kind = type(value)
    if kind is str or kind is int:
        return True
    if kind is list:
        return all(map(is_plain, value))
    if kind is dict:
        return all(type(key) is str and is_plain(member) for key, member in value.items())
    return is_scalar(value)


def command_type() -> Any:
    """LangGraph's `Command`, or what nothing is an instance of where langgraph is not loaded."""
    return getattr(sys.modules.get("langgraph.types"), "Command", ())


Asked = dict[str, tuple[str, frozenset[str]]]
#: per run, by call id: the step of the model response that asked for the call, and the names of arguments in it
_ASKED: Final[WeakKeyDictionary[RunState, Asked]] = WeakKeyDictionary()
#: checkpointers in memory, by number: an id would come back once its owner is gone
_STORES: Final[WeakKeyDictionary[Any, int]] = WeakKeyDictionary()
_NUMBERS: Final = itertools.count(1)
_NOBODY: Final[tuple[None, frozenset[str]]] = (None, frozenset())


def note_response(response: Any) -> None:
    """Remember which calls a model response asks for."""
    run = current_run()
    if run is None:
        return
    asked = _ASKED.setdefault(run.state, {})
    step = f"response-{next(run.state.step_numbers)}"
    for generation in (generation for batch in response.generations for generation in batch):
        for wanted in getattr(getattr(generation, "message", None), "tool_calls", ()):
            asked.pop(wanted["id"], None)
            asked[wanted["id"]] = (step, frozenset(wanted["args"]))
    for call_id in list(asked)[:-MAX_CALLS]:
        del asked[call_id]


def asked_for(call_id: str | None) -> tuple[str | None, frozenset[str]]:
    """The step of the model response that asked for a call, and the names of arguments that the model wrote in it."""
    run = None if call_id is None else current_run()
    asked: Any = {} if run is None else _ASKED.get(run.state, {})
    found: tuple[str | None, frozenset[str]] = asked.get(call_id, _NOBODY)
    return found


def superstep(call_id: str | None, config: Mapping[str, Any] | None) -> str | None:
    """The graph's own step, for a call that another library's model asked for: that of the checkpoint it runs on."""
    metadata = (config or {}).get("metadata") or {}
    if config is None or call_id is None or "langgraph_step" not in metadata:
        return None
    outer = str(metadata.get("langgraph_checkpoint_ns")).rpartition("|")[0]
    checkpoint = (config.get("configurable") or {}).get("checkpoint_map", {}).get(outer)
    return f"{checkpoint}/{outer}/{metadata['langgraph_step']}"


def conversation_of(graph: Any, input: Any = None, config: Any = None, **_: Any) -> Conversation:
    """What is known of an invocation. A graph inside another one is part of its run, and nobody human speaks to it."""
    name = None if graph.name == "LangGraph" else graph.name
    around = loaded("langchain_core.runnables.config").var_child_runnable_config.get()
    configs = [found for found in (graph.config, around, config) if found]
    configurable = {key: value for found in configs for key, value in (found.get("configurable") or {}).items()}
    if INSIDE in configurable:
        return Conversation(name=name)
    said, inputs = _given(input)
    checkpointer, thread = configurable.get(GIVEN, graph.checkpointer), configurable.get("thread_id")
    if thread is None or not checkpointer:
        return Conversation(name=name, said=said, inputs=inputs)
    return Conversation(str(thread), name, said, inputs, _store(checkpointer))


def _store(checkpointer: Any) -> str:
    """Where a checkpointer keeps threads. One in memory is a store of its own; others may be two doors to one store."""
    kind = type(checkpointer)
    memory = getattr(sys.modules.get("langgraph.checkpoint.memory"), "InMemorySaver", ())
    number = _STORES.setdefault(checkpointer, next(_NUMBERS)) if isinstance(checkpointer, memory) else ""
    return f"{kind.__module__}.{kind.__qualname__} {number}"


def _given(input: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
    """What humans said in a graph's input, and the plain values beside: the host's."""
    if isinstance(input, command_type()):  # the host answers an interrupt
        said, inputs = _given(input.update) if input.update else ((), {})
        return said, inputs | ({"resume": input.resume} if is_plain(input.resume) else {})
    if isinstance(input, dict) and not _is_message(input):
        state = input
    elif hasattr(type(input), "__annotations__") and not _is_message(input):
        state = dict(vars(input))  # a dataclass or a model
    else:
        state = {"input": input}
    texts: list[str] = []
    inputs = {}
    for key, value in state.items():
        messages = _messages(value, key == "messages")
        if messages is not None:
            texts += [text for message in messages if message.type == "human" for text in _texts(message.content)]
        elif value is not None and is_plain(value):
            inputs[str(key)] = value
    return tuple(texts), inputs


def _messages(value: Any, bare: bool) -> list[Any] | None:
    """A value as messages, None if it holds other things. `bare`: a text alone is a human's message."""
    items = value if isinstance(value, list) else [value]
    if not items or not all(_is_message(item) or (bare and isinstance(item, str)) for item in items):
        return None
    return list(loaded(MESSAGES).convert_to_messages(items))


def _is_message(item: Any) -> bool:
    if isinstance(item, dict):
        return "content" in item and ("role" in item or "type" in item)
    pair = isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str)
    return pair or isinstance(item, loaded(MESSAGES).BaseMessage)


def _texts(content: Any) -> Iterator[str]:
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            yield part
        elif part.get("type") == "text":
            yield part["text"]
