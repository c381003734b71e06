"""The guard's start in a process that `citespan run` started: before the program, before OpenTelemetry.

`citespan-run.pth` calls `start` where the environment has `CITESPAN_RUN`. What `start` raises ends the process with
exit code 78 where a guard is required, and is said on standard error where it is not.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from citespan.guard.trouble import logger, report
from citespan.instrument import ADAPTERS, NotActive, activate_when_imported, adapter, installed, require
from citespan.launch import children, shim_path
from citespan.launch.farewell import say_at_end
from citespan.launch.prepare import prepare
from citespan.launch.settings import VARIABLE, Settings, decode

_state: dict[str, Any] = {}


def start() -> None:
    """Guard this process. Twice is once.

    Raises:
        PolicyError: the policy cannot be used. NotGuarded: it changed since the parent read it, or the evidence file
        cannot be opened. Anything that an adapter raises, where a guard is required.
    """
    if started():
        return
    settings = decode(os.environ[VARIABLE])
    shim_path.leave()
    prepare(settings.chosen(), undecided=settings.undecided)
    for name in ADAPTERS:
        if not (settings.apart and adapter(name).serves):
            _wait_for(name, settings)
    os.environ[VARIABLE] = settings._replace(within=True).encode()
    if settings.required:
        children.watch()
    _state["settings"] = settings
    say_at_end()
    _shake_hands(settings)


def started() -> bool:
    """Whether this process is guarded by `citespan run`."""
    return bool(_state)


def _wait_for(name: str, settings: Settings) -> None:
    try:
        activate_when_imported(name, "refuse" if settings.required else "report")
        if not settings.within:
            _say_if_not_supported(name, settings)
    except Exception as error:
        if settings.required:
            raise
        report("does NOT guard", name, error)


def _say_if_not_supported(name: str, settings: Settings) -> None:
    known = adapter(name)
    if installed(known) is None:
        return
    try:
        require(known)
    except NotActive as reason:
        outcome = "its tool calls are refused" if settings.required else "its tool calls are NOT guarded"
        logger.warning("%s: %s; %s", known.title, reason, outcome)


def _shake_hands(settings: Settings) -> None:
    """Tell the parent that a guarded Python ran; that it cannot be told is the parent's trouble, not the program's."""
    if settings.handshake is None:
        return
    with suppress(OSError):
        handle = os.open(settings.handshake, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(handle, f"{os.getpid()}\n".encode())
        finally:
            os.close(handle)
