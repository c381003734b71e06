"""Putting wrappers in place and taking them away again, for every adapter (design section 6: data plus translation).

Nothing imports a framework in order to patch it, unless it was asked for by name: a wrapper is put in place when the
program imports the module (`wrapt` post-import hooks). What was replaced is put back by identity.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module, metadata
from typing import Any, Final, Literal, TypeAlias

import wrapt

from citespan.errors import EXIT_NOT_GUARDED, NotGuarded, UsageError
from citespan.guard.registry import AdapterState, Patched, registry
from citespan.guard.trouble import logger

Version = tuple[int, int]
#: a wrapt wrapper: called with the original, its instance, its arguments
Wrapper: TypeAlias = Callable[[Any, Any, tuple[Any, ...], dict[str, Any]], Any]

#: what happens where a framework turns out not to be one that can be guarded:
#: "raise": whoever asked for it is told; "report": it is logged, and `doctor` shows it; "refuse": no tool of it runs
Otherwise: TypeAlias = Literal["raise", "report", "refuse"]

_ABSENT: Final = object()


class NotActive(NotGuarded):
    """An adapter could not be activated; the text names the framework, its version and what is wrong."""


@dataclass(frozen=True, slots=True)
class Wrap:
    """A function or method that is wrapped where it is defined.

    Args:
        module: that defines it. target: `Class.method` or `function`. wrapper: see `Wrapper`.
    """

    module: str
    target: str
    wrapper: Wrapper

    def replacement(self, original: Any) -> Any:
        """The wrapper around the original.

        Raises:
            NotActive: there is no original.
        """
        if original is _ABSENT:
            raise NotActive(f"{self.module} has no {self.target} of its own: not the version that was tested")
        return wrapt.FunctionWrapper(original, self.wrapper)


@dataclass(frozen=True, slots=True)
class Place:
    """Something that is put where nothing was, such as a descriptor for an attribute of instances.

    Args:
        module, target: as of `Wrap`. make: makes it.
    """

    module: str
    target: str
    make: Callable[[], Any]

    def replacement(self, original: Any) -> Any:
        """What is put there."""
        return self.make()


Patch: TypeAlias = Wrap | Place


@dataclass(frozen=True, slots=True)
class Adapter:
    """What citespan knows of one framework; an adapter's file holds one of these, and the translation that it names.

    Args:
        name: as in `activate(name)`. title: for people. distribution: on PyPI.
        oldest, before: versions (major, minor) that are supported: `oldest <= version < before`.
        patches: what is wrapped. An adapter whose framework has two lines of versions has two lists: `patches_of`.
        scopes: names of instrumentation scopes whose tool calls it guards, whoever opens their spans.
        covers, misses: what passes through it and what does not, for `doctor` and the documentation.
        run, step: what a run is keyed by and what a step is, for the documentation.
        tell, abort: how a refusal reaches the model, and the caller of the run.
        patches_of: the patches of an installed version, where they differ by version.
        serves: it guards a server, whose calls come from a client elsewhere.
        pauses: whether an exception is how the framework stops a call in order to run it again later: no error of it.
    """

    name: str
    title: str
    distribution: str
    oldest: Version
    before: Version
    patches: tuple[Patch, ...] = ()
    scopes: tuple[str, ...] = ()
    covers: str = ""
    misses: str = ""
    run: str = ""
    step: str = ""
    tell: str = ""
    abort: str = ""
    patches_of: Callable[[Version], tuple[Patch, ...]] | None = None
    serves: bool = False
    pauses: Callable[[BaseException], bool] = lambda _: False


def installed(adapter: Adapter) -> str | None:
    """The installed version of an adapter's framework, None where there is none."""
    try:
        return metadata.version(adapter.distribution)
    except metadata.PackageNotFoundError:
        return None


def supported(adapter: Adapter) -> str:
    """The supported versions, as a requirement writes them: `>=1.30,<3.0`."""
    return f">={'.'.join(map(str, adapter.oldest))},<{'.'.join(map(str, adapter.before))}"


def require(adapter: Adapter) -> str:
    """The installed version, if it is supported.

    Raises:
        NotActive: it is not installed, or too old, or too new.
    """
    version = installed(adapter)
    if version is None:
        raise NotActive(f"{adapter.distribution} is not installed")
    found = numbers(version)
    if found < adapter.oldest:
        oldest = ".".join(map(str, adapter.oldest))
        raise NotActive(f"{adapter.distribution} {version} < {oldest}: it lacks what the guard wraps")
    if found >= adapter.before:
        before = ".".join(map(str, adapter.before))
        raise NotActive(f"{adapter.distribution} {version} >= {before}: not tested with this citespan")
    return version


def numbers(version: str) -> Version:
    """Major and minor of a version.

    Example:
        >>> numbers("2.13.0rc1"), numbers("7")
        ((2, 13), (7, 0))
    """
    found = [int(number) for number in re.findall(r"\d+", version)[:2]]
    return (found[0], found[1] if len(found) > 1 else 0) if found else (0, 0)


def activate(adapter: Adapter) -> None:
    """Wrap a framework now, importing it. Twice is once.

    Raises:
        NotActive: it is missing, not supported, or lacks what is to be wrapped; nothing stays wrapped then.
    """
    before = registry.adapters.get(adapter.name)
    try:
        version = require(adapter)
        registry.adapters[adapter.name] = AdapterState(
            "active", version, None, before.patched if before else (), adapter.scopes
        )
        for patch in patches(adapter, version):
            _put(adapter, patch, import_module(patch.module))
    except NotActive:
        deactivate(adapter)
        raise
    registry.enforced_scopes.update(adapter.scopes)


def activate_when_imported(adapter: Adapter, otherwise: Otherwise = "report") -> None:
    """Wrap a framework once the program imports it, without importing it here.

    Args:
        otherwise: what happens if it turns out not to be supported.
    """
    if adapter.name in registry.adapters:
        return
    version = installed(adapter)
    registry.adapters[adapter.name] = AdapterState("waiting", version, scopes=adapter.scopes)
    try:
        wanted = patches(adapter, version)
    except NotActive as reason:
        _give_up(adapter, reason, otherwise)
        return
    for patch in wanted:
        wrapt.register_post_import_hook(_imported(adapter, patch, otherwise), patch.module)


def _imported(adapter: Adapter, patch: Patch, otherwise: Otherwise) -> Callable[[Any], None]:
    def imported(module: Any) -> None:
        state = registry.adapters.get(adapter.name)
        if state is None or state.phase == "failed":
            return
        try:
            version = require(adapter)
            _put(adapter, patch, module)
        except NotActive as reason:
            if _is_namesake(adapter, patch, module):
                return
            if otherwise == "raise":
                raise
            _give_up(adapter, reason, otherwise)
            if otherwise == "refuse":
                _put_refusing(adapter, patch, module)
            return
        state = registry.adapters[adapter.name]
        if state.phase == "waiting":
            registry.adapters[adapter.name] = state._replace(phase="active", version=version)
            registry.enforced_scopes.update(adapter.scopes)

    return imported


def _is_namesake(adapter: Adapter, patch: Patch, module: Any) -> bool:
    """Whether a module is the program's own: it lacks what is wrapped, and is none of the framework's files.

    A program may well have a package `agents` with a module `run` in it.
    """
    if getattr(module, patch.target.partition(".")[0], None) is not None:
        return False
    try:
        files = metadata.files(adapter.distribution) or ()
    except metadata.PackageNotFoundError:
        return True
    path = patch.module.replace(".", "/")
    own = {
        os.path.realpath(file.locate()) for file in files if file.as_posix() in {f"{path}.py", f"{path}/__init__.py"}
    }
    return bool(own) and os.path.realpath(getattr(module, "__file__", None) or "") not in own


def _give_up(adapter: Adapter, reason: NotActive, otherwise: Otherwise) -> None:
    state = registry.adapters[adapter.name]
    phase: Literal["refusing", "failed"] = "refusing" if otherwise == "refuse" else "failed"
    registry.adapters[adapter.name] = state._replace(phase=phase, reason=str(reason))
    if phase == "failed":
        logger.error("citespan does NOT guard %s: %s", adapter.title, reason)


def _put_refusing(adapter: Adapter, patch: Patch, module: Any) -> None:
    """Wrap what can be wrapped, so that the first tool call is refused; where nothing can be, stop the process."""
    try:
        _put(adapter, patch, module)
    except NotActive as reason:
        logger.error("citespan cannot guard %s, and a guard is required: %s", adapter.title, reason)
        # `SystemExit` ends a thread, or is caught, and the next import of the module has no hook any more
        with suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(EXIT_NOT_GUARDED)


def deactivate(adapter: Adapter) -> None:
    """Put back what was replaced, the very same objects; nothing happens if nothing was.

    Raises:
        UsageError: somebody else wrapped one of them again since; everything stays as it is then.
    """
    state = registry.adapters.get(adapter.name)
    if state is None:
        return
    for owner, attribute, _, ours in state.patched:
        if vars(owner).get(attribute) is not ours:
            name = getattr(owner, "__name__", owner)
            raise UsageError(f"{name}.{attribute} was wrapped again after citespan; undo that first")
    for owner, attribute, original, _ in reversed(state.patched):
        if original is None:
            delattr(owner, attribute)
        else:
            setattr(owner, attribute, original)
    del registry.adapters[adapter.name]
    shared = {scope for other in registry.adapters.values() if other.phase == "active" for scope in other.scopes}
    registry.enforced_scopes.difference_update(set(adapter.scopes) - shared)


def try_out(adapter: Adapter) -> None:
    """Wrap a framework, importing it, and put everything back: whether it could be guarded here.

    Raises:
        NotActive: it could not.
    """
    if adapter.name in registry.adapters:
        return
    activate(adapter)
    deactivate(adapter)


def trouble(adapter: Adapter) -> str | None:
    """Why calls of a framework are to be denied whatever they say, None where they are to be judged."""
    state = registry.adapters.get(adapter.name)
    return None if state is None or state.phase != "refusing" else f"{adapter.title} cannot be guarded: {state.reason}"


def patches(adapter: Adapter, version: str | None) -> tuple[Patch, ...]:
    """What is wrapped in an installed version."""
    return adapter.patches if adapter.patches_of is None else adapter.patches_of(numbers(version or "0"))


def _put(adapter: Adapter, patch: Patch, module: Any) -> None:
    owner = module
    *path, attribute = patch.target.split(".")
    for name in path:
        owner = getattr(owner, name, None)
        if owner is None:
            raise NotActive(f"{patch.module} has no {patch.target}: not the version that was tested")
    state = registry.adapters[adapter.name]
    if any(done.owner is owner and done.attribute == attribute for done in state.patched):
        return
    original = vars(owner).get(attribute, _ABSENT)
    ours = patch.replacement(original)
    setattr(owner, attribute, ours)
    done = Patched(owner, attribute, None if original is _ABSENT else original, ours)
    registry.adapters[adapter.name] = state._replace(patched=(*state.patched, done))


def loaded(module: str) -> Any:
    """A module of a framework, which the program has imported by the time that a wrapper runs."""
    found = sys.modules.get(module)
    return import_module(module) if found is None else found
