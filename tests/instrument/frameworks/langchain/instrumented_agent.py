"""An agent that others instrument as well, in a process of its own: they do not undo all that they do.

Usage: python -m tests.instrument.frameworks.langchain.instrumented_agent EVIDENCE FIRST LAST FLAVOUR

FIRST and LAST are names of instrumentors, joined by `+`, or nothing: those before ours and those after. Prints what
came of it as JSON, with every exported span.
"""

import json
import sys
from pathlib import Path
from typing import Any

from tests.instrument.contract import LIST, PATCH_LISTED, PATCH_SECRET, Kept, World
from tests.instrument.frameworks.langchain.agent import play_agent

from citespan import semconv
from citespan.instrument import activate


def instrument(names: str, kept: Kept) -> None:
    """Switch instrumentors on."""
    for name in filter(None, names.split("+")):
        made: Any
        if name == "openinference":
            from openinference.instrumentation.langchain import LangChainInstrumentor

            made = LangChainInstrumentor()
        else:
            from opentelemetry.instrumentation.langchain import LangchainInstrumentor

            made = LangchainInstrumentor()
        made.instrument(tracer_provider=kept.provider)


def main(evidence: str, first: str, last: str, flavour: str) -> None:
    """Play, and tell."""
    kept, world = Kept(Path(evidence)), World()
    kept.configure()
    instrument(first, kept)
    activate("langchain")
    instrument(last, kept)
    played = play_agent([LIST, PATCH_SECRET, PATCH_LISTED, "done"], world, flavour=flavour, said="do go on")
    spans = [
        {
            "scope": span.instrumentation_scope.name if span.instrumentation_scope else None,
            "name": span.name,
            "trace": format(span.context.trace_id, "032x") if span.context else None,
            "status": (span.attributes or {}).get(semconv.STATUS),
        }
        for span in kept.all()
    ]
    told = {"output": played.output, "ran": world.ran, "judged": kept.judged(), "spans": spans, "text": kept.text()}
    print(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
