"""Other instrumentations of the OpenAI Agents SDK, active at the same time as the guard."""

from collections.abc import Iterator
from typing import Any

import pytest
from agents import RunConfig, set_trace_processors
from tests.instrument.contract import LIST, PATCH_LISTED, PATCH_SECRET, SECRET, Kept, World
from tests.instrument.frameworks.openai_agents.scenario import Scenario, play

from citespan import semconv
from citespan.core.policy import Policy

OPENINFERENCE = "openinference.instrumentation.openai_agents"
OPENLLMETRY = "opentelemetry.instrumentation.openai_agents"


@pytest.fixture(params=[OPENINFERENCE, OPENLLMETRY, "both"])
def scopes(request: pytest.FixtureRequest, kept: Kept) -> Iterator[list[str]]:
    """Their instrumentors, on the provider that ours is on."""
    from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor as OpenInference
    from opentelemetry.instrumentation.openai_agents import OpenAIAgentsInstrumentor as OpenLLMetry

    made: dict[str, Any] = {OPENINFERENCE: OpenInference, OPENLLMETRY: OpenLLMetry}
    names = list(made) if request.param == "both" else [request.param]
    active = [made[name]() for name in names]
    for instrumentor in active:
        instrumentor.instrument(tracer_provider=kept.provider)
    yield names
    for instrumentor in active:
        instrumentor.uninstrument()
    set_trace_processors([])


class TestOthers(Scenario):
    def test_nothing_breaks_and_nothing_is_judged_twice(self, kept: Kept, world: World, scopes: list[str]) -> None:
        """The verdict is on the tool's span that is there already; there is no second one."""
        played = play([LIST, PATCH_SECRET, PATCH_LISTED, "done"], world, run_config=RunConfig())
        assert (played.output, played.raised) == ("done", None)
        assert world.ran == ["list_files", "patch_file"]
        assert kept.judged() == {"list_files": 1, "patch_file": 2}
        assert kept.statuses("patch_file") == ["blocked", "ok"]
        (listing,) = kept.of("list_files")
        assert listing.instrumentation_scope is not None
        assert listing.instrumentation_scope.name == scopes[-1]
        others = [span for span in kept.all() if (span.attributes or {}).get(semconv.STATUS) == "unguarded"]
        assert len(others) == 3 * (len(scopes) - 1)

    def test_our_own_attributes_hold_no_argument(self, kept: Kept, world: World, scopes: list[str]) -> None:
        """What theirs hold is theirs to say: with the SDK's own switch off they hold none either."""
        config = RunConfig(trace_include_sensitive_data=False)
        play([LIST, PATCH_SECRET, "done"], world, run_config=config)
        for span in kept.of("patch_file"):
            ours = {key: value for key, value in (span.attributes or {}).items() if key.startswith("provenance.")}
            assert ours
            assert SECRET not in str(ours)
            assert SECRET not in str([event.attributes for event in span.events])

    def test_abort_still_stops_the_run(self, kept: Kept, world: World, scopes: list[str]) -> None:
        """Their callbacks swallow what is raised in them; the guard is no callback."""
        kept.configure(Policy(on_violation="abort"))
        played = play([PATCH_SECRET, "done"], world, run_config=RunConfig())
        assert isinstance(played.raised, PermissionError)
        assert world.ran == []
