"""What a process is given before its program runs, whoever starts it: policy, evidence, reviewer, telemetry."""

from __future__ import annotations

import os
from typing import Any, Final

import wrapt

from citespan.configuration import APPROVALS_VARIABLE, evidence_file, recorded_approvals
from citespan.core.policy import Policy
from citespan.errors import NotGuarded
from citespan.guard.registry import registry
from citespan.guard.trouble import logger
from citespan.launch import late, threads
from citespan.launch.settings import enforces
from citespan.stores.evidence import VARIABLE as EVIDENCE
from citespan.stores.evidence import EvidenceFile

#: design section 3: without a policy zero-code instrumentation tags only, and says so
TAG_ONLY: Final = Policy(mode="tag")
UNDECIDED: Final = (
    "no policy: tool calls are tagged only, and NOTHING IS REFUSED. To change that, record a run with\n"
    "CITESPAN_TRACE_FILE=trace.jsonl, then: citespan suggest trace.jsonl -o citespan.toml,\n"
    "then: citespan run --policy citespan.toml -- ... (or enforce the defaults: citespan run --required -- ...)"
)
#: the module of the Python API
_LIBRARY: Final = "citespan.tools"


def prepare(policy: Policy, *, undecided: bool) -> None:
    """Set the process up.

    Args:
        undecided: the policy is `TAG_ONLY` because nobody chose one. A program that uses citespan's own Python API
            enforces the defaults in that case, as it does when it is started without all this.

    Raises:
        NotGuarded: the policy enforces, and the evidence file cannot be opened. ApprovalsError: the file of approvals
        cannot be used.
    """
    evidence = _evidence(policy)
    named = os.environ.get(APPROVALS_VARIABLE, "").strip()
    reviewer = recorded_approvals(named) if named else None
    registry.policy = policy
    registry.configured = True
    registry.evidence = evidence
    registry.reviewer = reviewer
    late.install()
    threads.carry()
    if undecided:
        chosen = registry.rulebook

        def uses_the_library(module: Any) -> None:
            if registry.rulebook is chosen:
                registry.policy = Policy()
                logger.warning("the program calls tools through citespan itself: these calls are enforced all the same")

        wrapt.register_post_import_hook(uses_the_library, _LIBRARY)


def _evidence(policy: Policy) -> EvidenceFile | None:
    try:
        return evidence_file(True)
    except OSError as error:
        reason = f"the evidence file cannot be opened ({error}): name another one in {EVIDENCE}"
        if enforces(policy):
            raise NotGuarded(reason) from None
        logger.error("%s", reason)
        return None
