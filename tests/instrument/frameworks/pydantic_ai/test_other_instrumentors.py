"""The framework's own instrumentation, and others' on top of it, active at the same time as the guard."""

from collections.abc import Iterator

import pytest
from pydantic_ai import Agent
from pydantic_ai.models.instrumented import InstrumentationSettings
from tests.instrument.contract import LIST, PATCH_LISTED, PATCH_SECRET, SECRET, Kept, World
from tests.instrument.frameworks.pydantic_ai.scenario import Scenario, play

from citespan import semconv
from citespan.core.decision import ProvenanceDenied
from citespan.core.policy import Policy


@pytest.fixture(params=["its own", "its own and OpenInference"])
def instrumented(request: pytest.FixtureRequest, kept: Kept) -> Iterator[None]:
    """Every agent has spans, with the content of messages and calls on them."""
    if request.param != "its own":
        from openinference.instrumentation.pydantic_ai import OpenInferenceSpanProcessor

        kept.provider.add_span_processor(OpenInferenceSpanProcessor())
    Agent.instrument_all(InstrumentationSettings(tracer_provider=kept.provider))
    yield
    Agent.instrument_all(False)


@pytest.mark.usefixtures("instrumented")
class TestInstrumented(Scenario):
    def test_the_verdict_is_on_the_frameworks_own_span(self, kept: Kept, world: World) -> None:
        """There is one span of a call and one judgement; the second gate leaves it alone."""
        played = play([LIST, PATCH_SECRET, PATCH_LISTED, "done"], world)
        assert (played.output, played.raised) == ("done", None)
        assert world.ran == ["list_files", "patch_file"]
        assert kept.judged() == {"list_files": 1, "patch_file": 2}
        assert kept.statuses("patch_file") == ["blocked", "ok"]
        spans = [span for tool in ("list_files", "patch_file") for span in kept.of(tool)]
        assert {span.instrumentation_scope.name for span in spans if span.instrumentation_scope} == {"pydantic-ai"}
        (listing,) = kept.of("list_files")
        assert listing.context is not None
        assert [link.context.span_id for span in spans for link in span.links] == [listing.context.span_id]

    def test_no_raw_argument_leaves_through_our_exporter(self, kept: Kept, world: World) -> None:
        """The framework puts arguments, results and messages on its spans."""
        play([LIST, PATCH_SECRET, "done"], world)
        assert len(kept.all()) > 3
        assert SECRET not in kept.text()

    def test_abort_still_stops_the_run(self, kept: Kept, world: World) -> None:
        """The exception passes through the span."""
        kept.configure(Policy(on_violation="abort"))
        played = play([PATCH_SECRET, LIST, "done"], world)
        assert isinstance(played.raised, ProvenanceDenied)
        assert world.ran == []

    def test_the_frameworks_run_is_inside_ours(self, kept: Kept, world: World) -> None:
        """The guard's run has to be open before the framework's begins."""
        play([LIST, "done"], world)
        agents = [span for span in kept.all() if (span.attributes or {}).get(semconv.OPERATION) == "invoke_agent"]
        inner, outer = sorted(agents, key=lambda span: span.start_time or 0, reverse=True)
        assert inner.instrumentation_scope is not None
        assert inner.instrumentation_scope.name == "pydantic-ai"
        assert inner.parent is not None
        assert outer.context is not None
        assert inner.parent.span_id == outer.context.span_id
