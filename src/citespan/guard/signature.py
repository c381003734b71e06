"""From a Python call to named arguments, and from a signature to the JSON Schema that the core reads."""

from __future__ import annotations

import enum
import inspect
import typing
from collections.abc import Callable
from typing import Any, Literal, get_args, get_origin

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Binder:
    """Names a call's arguments, and puts their judged copies back in place.

    A leading `self` or `cls` is the object that the tool belongs to, not an argument. Members of `**kwargs` are
    arguments that the signature does not name; `*args` is one list. Defaults that were not sent stay the body's own.
    """

    def __init__(self, fn: Callable[..., Any]) -> None:
        self._parameters = list(inspect.signature(fn).parameters.values())
        first = self._parameters[0].name if self._parameters else ""
        self._bound = 1 if first in {"self", "cls"} and "." in getattr(fn, "__qualname__", "") else 0
        self._names = [entry.name for entry in self._parameters[self._bound :] if entry.kind in _POSITIONAL]
        self._only = {entry.name for entry in self._parameters if entry.kind is inspect.Parameter.POSITIONAL_ONLY}
        self._rest = next(
            (entry.name for entry in self._parameters if entry.kind is inspect.Parameter.VAR_POSITIONAL), None
        )
        self._fn_name = getattr(fn, "__qualname__", repr(fn))

    def arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments by name.

        Raises:
            TypeError: more positional arguments than the function takes, or one given twice, as Python itself says.
        """
        own = args[self._bound :]
        if not own:
            return dict(kwargs)
        named = dict(zip(self._names, own, strict=False))
        if len(own) > len(self._names):
            if self._rest is None:
                raise TypeError(f"{self._fn_name}() takes {len(self._names)} positional arguments, got {len(own)}")
            named[self._rest] = list(own[len(self._names) :])
        for name in kwargs:
            if name in named:
                raise TypeError(f"{self._fn_name}() got multiple values for argument {name!r}")
        return {**named, **kwargs}

    def call(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], judged: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and keyword arguments with every value replaced by its judged copy."""
        own = args[self._bound :]
        if not own:
            return args, judged if len(judged) == len(kwargs) else {name: judged[name] for name in kwargs}
        placed = [judged[name] for name, _ in zip(self._names, own, strict=False)]
        if len(own) > len(self._names) and self._rest is not None:
            placed.extend(judged[self._rest])
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
        if position == 0 and parameter.name in {"self", "cls"} and "." in getattr(fn, "__qualname__", ""):
            continue
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            continue
        described = _describe(hints.get(parameter.name))
        default = parameter.default
        if default is None or type(default) in {str, int, float, bool}:
            described["default"] = default
        properties[parameter.name] = described
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
