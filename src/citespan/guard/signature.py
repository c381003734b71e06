"""From a Python call to named arguments, and from a signature to the JSON Schema that the core reads."""

from __future__ import annotations

import enum
import inspect
import typing
from collections.abc import Callable
from typing import Any, Literal, get_args, get_origin

from citespan.errors import UsageError

_PLAIN = frozenset({str, int, float, bool, list, dict})
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def is_method(fn: Callable[..., Any], first: str) -> bool:
    """Whether a function's first parameter is the object it belongs to: named so, and defined in a class."""
    parent = getattr(fn, "__qualname__", "").rpartition(".")[0]
    return first in {"self", "cls"} and bool(parent) and not parent.endswith("<locals>")


class Binder:
    """Names a call's arguments, and puts their judged copies back in place.

    The leading `self` or `cls` of a method is the object that the tool belongs to, not an argument. Members of
    `**kwargs` are arguments that the signature does not name; `*args` is one list. A positional argument whose name a
    member of `**kwargs` has as well is called `*name`. Defaults that were not sent stay the body's own.
    """

    def __init__(self, fn: Callable[..., Any]) -> None:
        try:
            parameters = list(inspect.signature(fn).parameters.values())
        except ValueError:
            raise UsageError(f"{fn!r} has no signature to name its arguments by: wrap it in a function") from None
        self._first = parameters[0].name if parameters else ""
        self._bound = 1 if parameters and is_method(fn, parameters[0].name) else 0
        own = parameters[self._bound :]
        self._names = [entry.name for entry in own if entry.kind in _POSITIONAL]
        self._rest = next((entry.name for entry in own if entry.kind is inspect.Parameter.VAR_POSITIONAL), None)
        #: names that a keyword argument cannot mean
        self._hidden = {entry.name for entry in own if entry.kind is inspect.Parameter.POSITIONAL_ONLY}
        if self._rest is not None:
            self._hidden.add(self._rest)
        self._fn_name = getattr(fn, "__qualname__", repr(fn))

    def arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments by name.

        Raises:
            TypeError: more positional arguments than the function takes, or one given twice, as Python itself says.
        """
        own = args[self._objects(args) :]
        if not own:
            return dict(kwargs)
        if len(own) == len(args) and self._bound:
            # a static method whose first parameter is called `self`: what it is given is an argument like any other
            return {f"*{self._first}": own[0], **self.arguments((None, *own[1:]), kwargs)}
        named = {self._key(name, kwargs): value for name, value in zip(self._names, own, strict=False)}
        if len(own) > len(self._names):
            if self._rest is None:
                raise TypeError(f"{self._fn_name}() takes {len(self._names)} positional arguments, got {len(own)}")
            named[self._key(self._rest, kwargs)] = list(own[len(self._names) :])
        for name in kwargs:
            if name in named:
                raise TypeError(f"{self._fn_name}() got multiple values for argument {name!r}")
        return {**named, **kwargs}

    def _objects(self, args: tuple[Any, ...]) -> int:
        """How many leading arguments are the object that a method belongs to: none where it is a plain value."""
        return 0 if self._bound and args and type(args[0]) in _PLAIN else self._bound

    def _key(self, name: str, kwargs: dict[str, Any]) -> str:
        return f"*{name}" if name in kwargs and name in self._hidden else name

    def call(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], judged: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and keyword arguments with every value replaced by its judged copy."""
        own = args[self._objects(args) :]
        if len(own) == len(args) and self._bound and own:
            rest, keywords = self.call((None, *own[1:]), kwargs, judged)
            return (judged[f"*{self._first}"], *rest[1:]), keywords
        if not own:
            return args, judged if len(judged) == len(kwargs) else {name: judged[name] for name in kwargs}
        placed = [judged[self._key(name, kwargs)] for name, _ in zip(self._names, own, strict=False)]
        if len(own) > len(self._names) and self._rest is not None:
            placed.extend(judged[self._key(self._rest, kwargs)])
        return (*args[: self._bound], *placed), {name: judged[name] for name in kwargs}


_TYPES: dict[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    dict: "object",
}


def signature_schema(fn: Callable[..., Any]) -> dict[str, Any]:
    """A JSON Schema of a function's parameters: names, `Literal` and enum members, JSON defaults.

    Example:
        >>> def f(path: str, mode: Literal["r", "w"] = "r"): ...
        >>> signature_schema(f)["properties"]["mode"]
        {'enum': ['r', 'w'], 'default': 'r'}
    """
    try:
        hints = typing.get_type_hints(fn)
    except Exception:  # an annotation that cannot be evaluated names nothing
        hints = {}
    properties: dict[str, Any] = {}
    parameters = list(inspect.signature(fn).parameters.values())
    for position, parameter in enumerate(parameters):
        if position == 0 and is_method(fn, parameter.name):
            continue
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            continue
        described = _describe(hints.get(parameter.name))
        default = parameter.default
        if default is None or type(default) in {str, int, float, bool}:
            described["default"] = default
        properties[parameter.name] = described
        if parameter.kind in {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL}:
            properties[f"*{parameter.name}"] = described
    return {"type": "object", "properties": properties}


def _describe(hint: Any) -> dict[str, Any]:
    origin = get_origin(hint)
    if origin is Literal:
        return {"enum": list(get_args(hint))}
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return {"enum": [member.value for member in hint]}
    if origin in {typing.Union, type(int | str)}:
        return {"anyOf": [_describe(option) for option in get_args(hint)]}
    if origin is list:
        return {"type": "array", "items": _describe((get_args(hint) or (None,))[0])}
    if typing.is_typeddict(hint):
        return {
            "type": "object",
            "properties": {name: _describe(of) for name, of in hint.__annotations__.items()},
        }
    kind = _TYPES.get(origin or hint)
    return {"type": kind} if kind else {}
