"""Which instrumentation scopes let an exception of a span processor through to the tool call.

Where a span is opened by a callback or an event handler, the framework around it swallows what is raised
there and runs the tool's body all the same: such a call can be judged but not stopped, and its status says
so. A span that is opened around the body (`with tracer.start_as_current_span(...)`) can be.
"""

from __future__ import annotations

from typing import Final

#: instrumentation libraries hook into callbacks, or wrap each hook so that nothing escapes from it
SWALLOWING_PREFIXES: Final = (
    "openinference.instrumentation",
    "opentelemetry.instrumentation",
)

#: exporters of callback trees, which open spans when the call is over
SWALLOWING_SCOPES: Final = frozenset({"langfuse-sdk", "langsmith"})


def lets_through(scope: str) -> bool:
    """Whether an exception raised when a span of this scope starts keeps the tool's body from running.

    Example:
        >>> lets_through("my.agent"), lets_through("openinference.instrumentation.openai_agents")
        (True, False)
    """
    return scope not in SWALLOWING_SCOPES and not scope.startswith(SWALLOWING_PREFIXES)
