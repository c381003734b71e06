"""Calls that somebody else's spans report: what they teach, what they launder, and that a span is always ended."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.otel.agents import Agent, last, statuses

import citespan
from citespan.core.decision import ProvenanceDenied
from citespan.core.policy import Policy, ToolRule
from citespan.guard.ports import Tool
from citespan.guard.registry import registry
from citespan.otel.processor import ProvenanceSpanProcessor
from citespan.otel.telemetry import OtelTelemetry

GUESS = "jetty-20931.cfg"
ANSWER = "slip-77120.cfg"


class Sink:
    """A guarded tool whose body writes down what it was given."""

    def __init__(self) -> None:
        self.ran: list[str] = []

        @citespan.tool
        def patch(path: str) -> None:
            self.ran.append(path)

        self.patch = patch

    def refuses(self, path: str) -> bool:
        """Whether a path is refused, and the body did not run with it."""
        before = list(self.ran)
        try:
            self.patch(path=path)
        except ProvenanceDenied:
            return self.ran == before
        return False


@pytest.fixture
def sink(agent: Agent) -> Sink:
    """Beside a hand-written agent, whose spans the processor sees."""
    return Sink()


@contextmanager
def body_of(agent: Agent, tool: str, arguments: dict[str, Any], result: Any, *, early: bool = False) -> Iterator[None]:
    """A hand-written tool span around a body; its arguments are told at its start, or afterwards."""
    own: dict[str, Any] = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool}
    if early:
        own["gen_ai.tool.call.arguments"] = json.dumps(arguments)
    with agent.tracer.start_as_current_span(f"execute_tool {tool}", attributes=own) as span:
        agent.ran.append(tool)
        yield
        span.set_attribute("gen_ai.tool.call.arguments", json.dumps(arguments))
        span.set_attribute("gen_ai.tool.call.result", json.dumps(result))


# a run inside a hand-written tool span


def by_user(task: str) -> citespan.Run:
    run = citespan.run("helper")
    run.user(task)
    return run


def by_observing(task: str) -> citespan.Run:
    run = citespan.run("helper")
    run.observe("task", task)
    return run


def by_inputs(task: str) -> citespan.Run:
    return citespan.run("helper", inputs={"task": task})


TOLD: dict[str, Callable[[str], citespan.Run]] = {"user": by_user, "observe": by_observing, "inputs": by_inputs}


@pytest.mark.parametrize("tell", TOLD.values(), ids=TOLD)
def test_what_a_nested_agent_was_told_before_it_was_entered_is_no_humans_word(
    tell: Callable[[str], citespan.Run], agent: Agent, sink: Sink
) -> None:
    with citespan.run("boss"):
        with body_of(agent, "ask_agent", {"task": GUESS}, {"ok": True}), tell(GUESS):
            assert sink.refuses(GUESS)
        assert sink.refuses(GUESS)
    assert sink.ran == []


@pytest.mark.parametrize("how", ["user", "observe"])
def test_nor_is_what_it_is_told_afterwards(how: str, agent: Agent, sink: Sink) -> None:
    with citespan.run("boss"):
        with body_of(agent, "ask_agent", {"task": GUESS}, {"ok": True}), citespan.run("helper") as nested:
            if how == "user":
                nested.user(f"look at {GUESS}")
            else:
                nested.observe("task", GUESS)
            assert sink.refuses(GUESS)
        assert sink.refuses(GUESS)
    assert sink.ran == []


def test_nor_if_the_span_tells_its_arguments_at_its_start(agent: Agent, sink: Sink) -> None:
    with citespan.run("boss"):
        with body_of(agent, "ask_agent", {"comment": GUESS}, {"ok": True}, early=True), by_inputs(GUESS):
            assert sink.refuses(GUESS)
        assert sink.refuses(GUESS)
    assert (agent.ran, sink.ran) == (["ask_agent"], [])


def test_nor_if_no_run_is_around_the_span(agent: Agent, sink: Sink) -> None:
    with body_of(agent, "ask_agent", {"task": GUESS}, {"ok": True}), by_inputs(GUESS):
        assert sink.refuses(GUESS)
    assert sink.ran == []


@pytest.mark.parametrize("early", [False, True], ids=["arguments told late", "arguments told at the start"])
def test_the_answer_of_a_nested_agent_is_no_observation(early: bool, agent: Agent, sink: Sink) -> None:
    with citespan.run("boss"):
        with body_of(agent, "ask_agent", {}, {"answer": ANSWER}, early=early), citespan.run("helper"):
            pass
        assert sink.refuses(ANSWER)
    assert sink.ran == []


def test_the_same_span_without_a_nested_agent_teaches_its_result(agent: Agent, sink: Sink) -> None:
    with citespan.run("boss"):
        with body_of(agent, "list_files", {}, {"files": [ANSWER]}):
            pass
        sink.patch(path=ANSWER)
    assert sink.ran == [ANSWER]


def test_what_the_nested_agents_own_tools_return_is_an_observation(agent: Agent, sink: Sink) -> None:
    with citespan.run("boss"):
        with body_of(agent, "ask_agent", {}, {"answer": "all done"}), citespan.run("helper"):
            agent.call("list_files", {}, {"files": [ANSWER]})
        sink.patch(path=ANSWER)
    assert sink.ran == [ANSWER]


def test_what_the_outer_user_said_holds_inside(agent: Agent, sink: Sink) -> None:
    with citespan.run("boss") as boss:
        boss.user(f"look at {GUESS}")
        with body_of(agent, "ask_agent", {}, {"ok": True}), citespan.run("helper"):
            sink.patch(path=GUESS)
    assert sink.ran == [GUESS]


def test_a_run_inside_a_span_that_is_no_tool_call_hears_its_user(agent: Agent, sink: Sink) -> None:
    with agent.tracer.start_as_current_span("GET /chat"), citespan.run("boss") as run:
        run.user(f"look at {GUESS}")
        sink.patch(path=GUESS)
    assert sink.ran == [GUESS]


# names of arguments that a model wrote


@pytest.mark.parametrize("early", [False, True], ids=["told late", "told at the start"])
def test_an_argument_name_that_comes_back_in_the_result_is_no_source(early: bool, agent: Agent, sink: Sink) -> None:
    with citespan.run(policy=Policy(tools={"store": ToolRule(mode="tag")})):
        with body_of(agent, "store", {GUESS: True}, {"keys": [GUESS]}, early=early):
            pass
        assert sink.refuses(GUESS)
    assert (agent.ran, sink.ran) == (["store"], [])


def test_nor_is_one_that_a_later_call_returns(agent: Agent, sink: Sink) -> None:
    with citespan.run(policy=Policy()):
        with body_of(agent, "store", {GUESS: True}, {"ok": True}):
            pass
        agent.call("load", {}, {"keys": [GUESS]})
        assert sink.refuses(GUESS)
    assert sink.ran == []


def test_nor_is_the_value_of_such_an_argument(agent: Agent, sink: Sink) -> None:
    with citespan.run(policy=Policy()):
        with body_of(agent, "store", {"key": GUESS}, {"keys": [GUESS]}):
            pass
        assert sink.refuses(GUESS)
    assert sink.ran == []


def test_what_else_that_result_holds_is_cited(agent: Agent, sink: Sink) -> None:
    with citespan.run(policy=Policy()):
        with body_of(agent, "store", {GUESS: True}, {"keys": [GUESS], "backup": ANSWER}):
            pass
        sink.patch(path=ANSWER)
    assert sink.ran == [ANSWER]


def test_a_name_that_the_schema_declares_may_come_back(
    provider: TracerProvider, telemetry: OtelTelemetry, spans: InMemorySpanExporter
) -> None:
    registry.telemetry = telemetry
    known = Tool("store", schema={"type": "object", "properties": {GUESS: {"type": "boolean"}}})
    provider.add_span_processor(ProvenanceSpanProcessor(tools=[known]))
    agent, sink = Agent(provider), Sink()
    with citespan.run(policy=Policy()):
        with body_of(agent, "store", {GUESS: True}, {"keys": [GUESS]}):
            pass
        sink.patch(path=GUESS)
    assert sink.ran == [GUESS]


# the processor's own policy


def with_own_policy(policy: Policy | None) -> tuple[Agent, Sink]:
    """An agent whose provider has a processor with a policy of its own; runs have the default."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(ProvenanceSpanProcessor(policy))
    return Agent(provider), Sink()


MODEL = Policy(mode="tag", tools={"think": ToolRule(output="model")})


@pytest.mark.parametrize("early", [False, True], ids=["told late", "told at the start"])
def test_what_the_processors_policy_calls_a_models_word_is_no_observation(early: bool) -> None:
    agent, sink = with_own_policy(MODEL)
    with citespan.run(policy=Policy()):
        with body_of(agent, "think", {}, {"file": ANSWER}, early=early):
            pass
        assert sink.refuses(ANSWER)
    assert (agent.ran, sink.ran) == (["think"], [])


def test_the_other_tools_of_that_policy_teach_what_they_return() -> None:
    agent, sink = with_own_policy(MODEL)
    with citespan.run(policy=Policy()):
        agent.call("list_files", {}, {"files": [ANSWER]})
        sink.patch(path=ANSWER)
    assert sink.ran == [ANSWER]


def test_what_that_policy_reads_as_a_failure_teaches_nothing() -> None:
    agent, sink = with_own_policy(Policy(mode="tag", tools={"load": ToolRule(failed_when=("error",))}))
    with citespan.run(policy=Policy()):
        agent.call("load", {}, {"error": "no such file", "hint": ANSWER})
        assert sink.refuses(ANSWER)
    assert sink.ran == []


def test_without_a_policy_of_its_own_the_runs_holds() -> None:
    agent, sink = with_own_policy(None)
    with citespan.run(policy=Policy(tools={"think": ToolRule(output="model")})):
        agent.call("think", {}, {"file": ANSWER})
        assert sink.refuses(ANSWER)
    assert sink.ran == []


# a call whose arguments are wrong


def wrong_calls(telemetry: OtelTelemetry) -> dict[str, Callable[[], Any]]:
    """Tools of each kind, called without the argument that they need."""
    registry.telemetry = telemetry

    @citespan.tool
    def stream(path: str) -> Iterator[str]:
        yield path

    @citespan.tool
    async def stream_later(path: str) -> Any:
        yield path

    @citespan.tool
    def look(path: str) -> str:
        return path

    def later() -> Any:
        return stream_later().asend(None).send(None)

    return {"stream": lambda: next(stream()), "stream_later": later, "look": look}


@pytest.mark.parametrize("tool", ["stream", "stream_later", "look"])
def test_a_call_with_wrong_arguments_ends_its_span(
    tool: str, telemetry: OtelTelemetry, spans: InMemorySpanExporter
) -> None:
    with citespan.run("boss"), pytest.raises(TypeError, match="path"):
        wrong_calls(telemetry)[tool]()
    ended = last(spans, f"execute_tool {tool}")
    assert dict(ended.attributes or {})["error.type"] == "TypeError"
    assert not ended.status.is_ok


@pytest.mark.parametrize("tool", ["stream", "stream_later", "look"])
def test_and_teaches_nothing(tool: str, telemetry: OtelTelemetry, spans: InMemorySpanExporter) -> None:
    with citespan.run("boss") as run:
        with pytest.raises(TypeError):
            wrong_calls(telemetry)[tool]()
        assert list(run.state.ledger.fields()) == []
    assert [status for _, status in statuses(spans)] == ["ok"]


def test_a_generator_with_unknown_arguments_ends_its_span_too(
    telemetry: OtelTelemetry, spans: InMemorySpanExporter
) -> None:
    registry.telemetry = telemetry
    ran: list[str] = []

    @citespan.tool
    def stream() -> Iterator[str]:
        ran.append("stream")
        yield ANSWER

    with citespan.run("boss", policy=Policy(mode="tag")), pytest.raises(TypeError, match="mood"):
        list(stream(mood="sunny"))  # type: ignore[call-arg]
    assert not last(spans, "execute_tool stream").status.is_ok
    assert ran == []
