"""Looking at this environment. Nothing in it is changed: what is tried is undone."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from citespan.configuration import APPROVALS_VARIABLE, recorded_approvals
from citespan.core.policy import Policy
from citespan.core.resolve import digest
from citespan.doctor.exporters import reach
from citespan.doctor.findings import Finding, Framework, FrameworkState, Health, State
from citespan.errors import CitespanError, PolicyError
from citespan.instrument import ADAPTERS, Adapter, NotActive, adapter, installed, patches, require, supported, try_out
from citespan.otel.digest import VARIABLE as KEY_VARIABLE
from citespan.policy_file import ENVIRONMENT_VARIABLE, find
from citespan.stores.evidence import evidence_path

_DISTRIBUTIONS: Final = (
    "citespan",
    "opentelemetry-api",
    "opentelemetry-sdk",
    "opentelemetry-exporter-otlp-proto-http",
    "opentelemetry-exporter-otlp-proto-grpc",
    "opentelemetry-distro",
)
#: what is said of each framework, by the state of the policy
_NOTES: Final[dict[State, str]] = {
    "ok": "",
    "note": "no policy: tagged only by citespan run, enforced with --required",
    "problem": "the policy cannot be used: no guard is installed",
}
_THREADING: Final = "opentelemetry.instrumentation.threading"


def examine(policy: str | Path | None = None, *, try_them: bool = False, network: bool = True) -> Health:
    """Look at everything.

    Args:
        policy: a policy file, None for the one that `CITESPAN_POLICY` names.
        try_them: import each installed framework and wrap it for a moment. Takes as long as the imports.
        network: whether the OTLP endpoint is tried.
    """
    found, chosen = _policy(policy)
    name = "built-in defaults" if chosen is None else digest(chosen)
    mode = (chosen or Policy()).mode
    frameworks = tuple(_framework(adapter(each), try_them, mode, name, _NOTES[found.state]) for each in ADAPTERS)
    findings = [*_versions(), found, _evidence(), *_approvals(), *_telemetry(network), _threads()]
    return Health(frameworks, tuple(findings))


def _framework(known: Adapter, try_it: bool, mode: str, policy: str, note: str) -> Framework:
    version = installed(known)
    state, reason = _state(known, version, try_it)
    return Framework(
        known.name,
        known.title,
        known.distribution,
        state,
        version,
        supported(known),
        reason,
        mode,
        policy,
        note,
        tuple(f"{patch.module}:{patch.target}" for patch in patches(known, version)),
        known.scopes,
        known.covers,
        known.misses,
        known.run,
        known.step,
        known.tell,
        known.abort,
    )


def _state(known: Adapter, version: str | None, try_it: bool) -> tuple[FrameworkState, str]:
    if version is None:
        return "absent", ""
    try:
        require(known)
    except NotActive as reason:
        return "unsupported", str(reason)
    if not try_it:
        return "supported", ""
    try:
        try_out(known)
    except NotActive as reason:
        return "broken", str(reason)
    except Exception as error:  # a framework that cannot even be imported
        return "broken", f"importing it failed: {type(error).__name__}"
    return "guarded", ""


def _versions() -> list[Finding]:
    found = [Finding("versions", "python", "ok", platform.python_version())]
    for name in _DISTRIBUTIONS:
        try:
            found.append(Finding("versions", name, "ok", metadata.version(name)))
        except metadata.PackageNotFoundError:
            found.append(Finding("versions", name, "note", "not installed"))
    return found


def _policy(named: str | Path | None) -> tuple[Finding, Policy | None]:
    try:
        chosen = find(named)
    except PolicyError as error:
        first = str(error).splitlines()[0]
        return Finding("policy", "file", "problem", first, "citespan policy check FILE shows every mistake"), None
    if chosen is None:
        text = f"none is named by argument or {ENVIRONMENT_VARIABLE}"
        advice = (
            "`citespan.run` and `citespan run --required` enforce the defaults, `citespan run` without it tags only; "
            "`citespan suggest` writes a policy from recorded runs"
        )
        return Finding("policy", "file", "note", text, advice), None
    where = named if named is not None else os.environ.get(ENVIRONMENT_VARIABLE, "")
    return Finding("policy", "file", "ok", f"{where}: {chosen.mode}, digest {digest(chosen)}"), chosen


def _evidence() -> Finding:
    path = evidence_path()
    folder = next((parent for parent in (path, *path.parents) if parent.exists()), path)
    if os.access(folder, os.W_OK):
        return Finding("evidence", "file", "ok", str(path))
    return Finding("evidence", "file", "problem", f"{path} cannot be written", "name another one in CITESPAN_EVIDENCE")


def _approvals() -> list[Finding]:
    named = os.environ.get(APPROVALS_VARIABLE, "").strip()
    if not named:
        return []
    try:
        recorded_approvals(named)
    except CitespanError as error:
        first = str(error).splitlines()[0]
        advice = f"with {APPROVALS_VARIABLE} so, no guard is installed; `citespan approve` makes the file"
        return [Finding("evidence", "approvals", "problem", first, advice)]
    return [Finding("evidence", "approvals", "ok", named)]


def _telemetry(network: bool) -> list[Finding]:
    found = []
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        text = "OTEL_SDK_DISABLED: no spans are made; calls are guarded all the same"
        found.append(Finding("telemetry", "sdk", "note", text))
    found.append(reach(os.environ) if network else Finding("telemetry", "endpoint", "note", "not tried"))
    key = f"from {KEY_VARIABLE}" if os.environ.get(KEY_VARIABLE) else f"this user's own, {KEY_VARIABLE} is not set"
    found.append(Finding("telemetry", "digest key", "ok", f"{key}; only digests of the same key can be compared"))
    return found


def _threads() -> Finding:
    name = "threads"
    if find_spec("opentelemetry.instrumentation") is not None and find_spec(_THREADING) is not None:
        return Finding("context", name, "ok", "opentelemetry-instrumentation-threading carries the run into threads")
    text = "a plain Thread, Timer or ThreadPoolExecutor does not carry the run: what it calls is judged with no ledger"
    advice = "install opentelemetry-instrumentation-threading, or start bodies with contextvars.copy_context().run"
    return Finding("context", name, "note", text, advice)
