"""What a test asks for: the arguments of its `citespan` markers, checked."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from citespan.core.policy import Policy
from citespan.errors import CitespanError, PolicyError, UsageError
from citespan.guard.registry import registry
from citespan.otel.ready import ready
from citespan.policy_file import load

ARGUMENTS: Final = ("policy", "max_assumed", "mode", "inputs")
MODES: Final = ("enforce", "tag")


class Asked(NamedTuple):
    """What holds for a test.

    Args:
        policy: the policy of its run, with the marker's own changes.
        source: how the marker names the policy, "" where it names none.
        most: how many counted leaves its calls may have altogether; None: only the policy decides.
        inputs: declared inputs of its run.
    """

    policy: Policy
    source: str = ""
    most: int | None = None
    inputs: Mapping[str, Any] | None = None


def asked(item: pytest.Item, name: str) -> Asked:
    """Read the markers of a test. Of an argument that several of them have, the one nearest to the test counts.

    Args:
        name: the marker's name.

    Raises:
        UsageError: an argument is unknown or wrong. PolicyError: the policy cannot be used.

    Example:
        `@pytest.mark.citespan(policy="citespan.toml", max_assumed=0)`
    """
    given: dict[str, Any] = {}
    for marker in reversed(list(item.iter_markers(name))):
        if marker.args:
            raise UsageError("takes named arguments only: " + ", ".join(f"{key}=" for key in ARGUMENTS))
        given |= marker.kwargs
    for key in given:
        if key not in ARGUMENTS:
            near = difflib.get_close_matches(key, ARGUMENTS, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(ARGUMENTS)}"
            raise UsageError(f"unknown argument {key!r}; {hint}")
    mode, inputs = given.get("mode", "enforce"), given.get("inputs")
    if mode not in MODES:
        raise UsageError(f"mode must be 'enforce' or 'tag', not {mode!r}")
    if inputs is not None and not isinstance(inputs, Mapping):
        raise UsageError(f"inputs must be a dict, not {type(inputs).__name__}")
    most = _most(given, mode)
    policy, source = _policy(given.get("policy"), item)
    changes: dict[str, Any] = {"mode": mode}
    if most is not None:
        changes |= {"max_assumed": most, "run_max_assumed": most}
    return Asked(policy.evolve(**changes), source, most, inputs)


def _most(given: Mapping[str, Any], mode: str) -> int | None:
    """The test's own limit. Where nothing is refused, something must be counted: there it is 0 by default."""
    most = given.get("max_assumed")
    if most is None:
        return 0 if mode == "tag" else None
    if type(most) is not int or most < 0:
        raise UsageError(f"max_assumed must be a whole number, 0 or more, not {most!r}")
    return most


def _policy(given: Any, item: pytest.Item) -> tuple[Policy, str]:
    ready()  # so that what CITESPAN_POLICY names holds where the marker names nothing
    if given is None:
        return registry.policy, ""
    if isinstance(given, Policy):
        return given, "a citespan.Policy"
    if not isinstance(given, str | Path) or not str(given):
        raise UsageError(f"policy must be the path of a file, or a citespan.Policy, not {given!r}")
    path = Path(given)
    folders = dict.fromkeys((item.path.parent, item.config.rootpath))
    places = [path] if path.is_absolute() else [folder / path for folder in folders]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise UsageError(f"policy {str(given)!r} is not there; looked for {' and '.join(map(str, places))}")
    return load(found), str(given)


def said(error: CitespanError, item: pytest.Item, name: str) -> str:
    """Why a test cannot start, in as many lines as its policy has problems, at least one."""
    intro = f"{item.nodeid}: @pytest.mark.{name}: "
    return intro + (f"the policy cannot be used:\n{error}" if isinstance(error, PolicyError) else str(error))
