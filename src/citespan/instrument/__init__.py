"""One small file per framework. An adapter translates, and decides nothing (design section 6).

It says which methods it wraps, how a call and its result are read, and how a refusal is said there. What all
adapters share is here.

No framework is imported before `activate`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module, metadata
from types import MappingProxyType
from typing import Any, Final, cast

import wrapt

from citespan.errors import NotGuarded, UsageError

#: adapter -> its module; each has `activate`, `deactivate` and `activate_when_imported`
ADAPTERS: Final = MappingProxyType({"mcp": "citespan.instrument.mcp_client"})

Version = tuple[int, int]


class NotActive(NotGuarded):
    """An adapter could not be activated; the text names the framework, its version and what is wrong."""


def activate(name: str) -> None:
    """Guard every tool call of one framework, or raise.

    Raises:
        UsageError: no adapter has this name.
        NotActive: the framework is missing or of a version that is not supported.

    Example:
        >>> activate("crewmate")
        Traceback (most recent call last):
        citespan.errors.UsageError: no adapter is called 'crewmate'; there are: mcp
    """
    _module(name).activate()


def deactivate(name: str) -> None:
    """Put back what `activate` replaced, the very same objects.

    Raises:
        UsageError: no adapter has this name, or someone else wrapped the method again since.
    """
    _module(name).deactivate()


def require(distribution: str, oldest: Version, before: Version) -> str:
    """The installed version of a distribution, if it lies in `oldest <= version < before` (major, minor).

    Raises:
        NotActive: it is not installed, or too old, or too new.
    """
    try:
        version = metadata.version(distribution)
    except metadata.PackageNotFoundError:
        raise NotActive(f"{distribution} is not installed") from None
    numbers = [int(number) for number in re.findall(r"\d+", version)[:2]]
    found = (numbers[0], numbers[1] if len(numbers) > 1 else 0) if numbers else (0, 0)
    if found < oldest:
        raise NotActive(f"{distribution} {version} < {oldest[0]}.{oldest[1]}: it lacks what the guard wraps")
    if found >= before:
        raise NotActive(f"{distribution} {version} >= {before[0]}.{before[1]}: not tested with this citespan")
    return version


def patch(owner: type, method: str, wrapper: Callable[..., Any]) -> None:
    """Replace a method of a class by a wrapt wrapper around it; a second time does nothing."""
    present = vars(owner).get(method)
    if present is None:
        where = f"{owner.__module__}.{owner.__name__}"
        raise NotActive(f"{where} has no {method} of its own: not the class that was tested")
    if _find(present, wrapper) is None:
        setattr(owner, method, wrapt.FunctionWrapper(present, wrapper))


def unpatch(owner: type, method: str, wrapper: Callable[..., Any]) -> None:
    """Undo `patch`: the class has its original function again, by identity.

    Raises:
        UsageError: another wrapper sits on ours; taking ours out from under it is not possible.
    """
    present: Any = vars(owner).get(method)
    ours = _find(present, wrapper)
    if ours is None:
        return
    if present is not ours:
        raise UsageError(f"{owner.__name__}.{method} was wrapped again after citespan; undo that first")
    setattr(owner, method, ours.__wrapped__)


def _find(present: Any, wrapper: Callable[..., Any]) -> Any | None:
    """Our wrapper among all that are stacked on a method, None if it is not there."""
    while present is not None:
        if type(present) is wrapt.FunctionWrapper and present._self_wrapper is wrapper:
            return present
        present = getattr(present, "__wrapped__", None)
    return None


def _module(name: str) -> Any:
    if name not in ADAPTERS:
        raise UsageError(f"no adapter is called {name!r}; there are: {', '.join(ADAPTERS)}")
    return cast("Any", import_module(ADAPTERS[name]))
