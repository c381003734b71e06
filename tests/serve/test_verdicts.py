"""What comes in is judged, and nothing that is open, partial or dropped is ever called clean."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from tests.collector.agents import delete_file, list_files, run
from tests.serve.harness import JSON, PROTOBUF, Recorded, Service, recorded, serving, until
from tests.traces.messages import parse_line

from citespan.core.policy import Policy
from citespan.serve.desk import Desk, State
from citespan.serve.limits import Limits
from citespan.serve.store import Trace
from citespan.traces.file_exporter import OtlpJsonFileExporter
from citespan.traces.reader import read_spans


def test_a_run_is_judged_as_its_exporter_sends_it(service: Service) -> None:
    """Each span when it ends, protobuf and gzip: incomplete while the run is open, and then the verdict."""
    provider = TracerProvider(shutdown_on_exit=False)
    exporter = OTLPSpanExporter(f"{service.url}/v1/traces", compression=Compression.Gzip)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    before = service.get("/traces").json["total"]
    with run(provider, Policy()):
        path = list_files("/srv/checkout")["files"][0]
        delete_file(path)
        first = service.get("/traces").json
        assert first["total"] == before + 1
        trace_id = first["traces"][0]["trace_id"]
        open_ = service.get(f"/traces/{trace_id}").json
        assert (open_["status"], open_["incomplete"], open_["exit_code"]) == ("incomplete", True, 2)
        assert open_["reasons"]
    provider.shutdown()
    closed = service.get(f"/traces/{trace_id}").json
    assert (closed["status"], closed["incomplete"], closed["exit_code"], closed["calls"]) == ("clean", False, 0, 2)


def test_a_line_of_a_trace_file_is_a_request(service: Service, tmp_path: Path) -> None:
    """As JSON; and its findings are those of `citespan audit`."""
    file = tmp_path / "trace.jsonl"
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(OtlpJsonFileExporter(file)))
    with run(provider, Policy(mode="tag")):
        delete_file("zanzibar.csv")
    provider.shutdown()
    for line in file.read_bytes().splitlines():
        assert service.send(line, JSON).body == b"{}"
    trace_id = next(iter(read_spans(file))).trace_id
    answer = service.get(f"/traces/{trace_id}").json
    assert (answer["status"], answer["exit_code"], answer["violations"]) == ("violations", 1, 1)
    assert [(found["rule"], found["tool"]) for found in answer["findings"]] == [("flagged", "delete_file")]


def test_spans_in_any_order_twice_and_in_both_encodings_are_one_trace(service: Service) -> None:
    """At-least-once delivery changes no verdict."""
    sent = recorded()
    for span in [*reversed(sent.spans), *sent.spans]:
        service.send(sent.body([span]))
        service.send(parse_line(sent.body([span])).SerializeToString(), PROTOBUF)
    answer = service.get(f"/traces/{sent.trace_id}").json
    assert (answer["status"], answer["spans"], answer["calls"]) == ("clean", 3, 2)


def test_a_partial_trace_stays_incomplete(service: Service) -> None:
    """The run closed, but a span that the others need has not come."""
    sent = recorded()
    service.send(sent.body(sent.spans[:-1]))
    answer = service.get(f"/traces/{sent.trace_id}").json
    assert (answer["status"], answer["incomplete"]) == ("incomplete", True)
    assert "did not close" in answer["reasons"][0]


def test_a_span_that_cannot_be_used_leaves_its_trace_incomplete(service: Service) -> None:
    """The rest of it looks whole."""
    sent = recorded()
    bad = {"traceId": sent.trace_id, "spanId": "no id"}
    refused = service.send(sent.body([*sent.spans, bad])).json["partialSuccess"]
    assert refused["rejectedSpans"] == "1"
    answer = service.get(f"/traces/{sent.trace_id}").json
    assert (answer["status"], answer["exit_code"]) == ("incomplete", 2)


def test_violations_of_an_open_trace_are_told(service: Service) -> None:
    """`incomplete`, but nothing waits for the end of a run that may never come."""
    sent = recorded(uncited=True)
    service.send(sent.body(sent.spans[:-1]))
    answer = service.get(f"/traces/{sent.trace_id}").json
    assert (answer["status"], answer["violations"]) == ("incomplete", 1)


def test_violations_are_listed_newest_first_and_filtered(service: Service) -> None:
    """By tool, rule and severity, and no more than were asked for."""
    first, second = recorded(uncited=True), recorded(uncited=True)
    service.send(first.body())
    service.send(second.body())
    flagged = service.get("/violations?rule=flagged&limit=2").json
    assert [found["trace_id"] for found in flagged["violations"]] == [second.trace_id, first.trace_id]
    assert all(found["violation"] and found["tool"] == "delete_file" for found in flagged["violations"])
    assert len(service.get("/violations?limit=1").json["violations"]) == 1
    assert service.get("/violations?limit=1").json["more"] is True
    assert service.get("/violations?tool=no_such_tool").json["violations"] == []
    assert service.get(f"/violations?since={10**12}").json["violations"] == []
    (newest,) = service.get("/violations?severity=error&tool=delete_file&limit=1").json["violations"]
    assert newest["trace_id"] == second.trace_id


def test_traces_are_listed_in_pages(service: Service) -> None:
    """The one that was touched last first."""
    sent = [recorded() for _ in range(3)]
    for each in sent:
        service.send(each.body())
    page = service.get("/traces?limit=2").json
    assert [row["trace_id"] for row in page["traces"]] == [sent[2].trace_id, sent[1].trace_id]
    rest = service.get(f"/traces?limit=1&offset={page['next_offset']}").json
    assert [row["trace_id"] for row in rest["traces"]] == [sent[0].trace_id]
    assert service.get(f"/traces?offset={page['total']}").json["next_offset"] is None


def test_a_policy_is_held_against_calls_besides(tmp_path: Path) -> None:
    """As `citespan audit --policy` does: the guard only tagged, the policy enforces."""
    policy = tmp_path / "citespan.toml"
    policy.write_text("version = 1\n[tools.delete_file.arguments.path]\naccept = ['user']\n")
    sent = recorded()
    with serving("--settle", "0", "--policy", str(policy)) as service:
        service.send(sent.body())
        found = service.get(f"/traces/{sent.trace_id}").json
    assert found["counts"].get("over-policy") == 1
    assert found["status"] == "violations"


def test_traces_beyond_the_bound_say_that_they_were_dropped() -> None:
    """Each of them, and none becomes clean by what comes late."""
    sent = recorded()
    names = [f"{number:032x}" for number in range(1, 10_101)]
    with serving("--settle", "0", "--traces", "100") as service:
        for body in sent.bodies(names):
            assert service.send(body).body == b"{}"
        assert service.get("/healthz").json["dropped"] == 10_000
        for name in (names[0], names[5000], names[9999]):
            answer = service.get(f"/traces/{name}").json
            assert (answer["status"], answer["incomplete"], answer["exit_code"]) == ("dropped", True, 2)
            assert service.get(f"/traces/{name}/report").status == 410
        assert service.status(names[-1]) == "clean"
        service.send(*sent.bodies(names[:1]))
        late = service.get(f"/traces/{names[0]}").json
        assert (late["status"], late["exit_code"]) == ("incomplete", 2)


def test_a_trace_over_its_limit_stays_incomplete() -> None:
    """And the exporter is told how many of its spans were not taken."""
    sent = recorded()
    with serving("--settle", "0", "--spans", "2") as service:
        refused = service.send(sent.body([sent.spans[-1], *sent.spans])).json["partialSuccess"]
        assert refused["rejectedSpans"] == "1"
        assert service.status(sent.trace_id) == "incomplete"


def test_a_trace_is_kept_for_its_time_only() -> None:
    """Then it answers that it was dropped."""
    sent = recorded()
    with serving("--settle", "0", "--keep", "0.01") as service:
        service.send(sent.body())
        until(lambda: service.status(sent.trace_id) == "dropped", "the trace is dropped")


class Clock:
    """Seconds, as many as a test says."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


async def stands(desk: Desk, trace_id: str) -> State:
    trace = desk.find(trace_id)
    assert isinstance(trace, Trace)
    return await desk.state(trace, desk.deadline())


@pytest.fixture
def asked(request: pytest.FixtureRequest) -> Callable[[Recorded, list[float]], list[State]]:
    """How a trace stands so many seconds after its spans came."""

    def ask(sent: Recorded, seconds: list[float]) -> list[State]:
        clock = Clock()
        desk = Desk(Limits(settle=2, close=60), None, clock)
        request.addfinalizer(desk.close)

        async def states() -> list[State]:
            await desk.take(sent.body(), "json", zipped=False)
            found = []
            for clock.now in seconds:
                found.append(await stands(desk, sent.trace_id))
            return found

        return asyncio.run(states())

    return ask


def test_a_closed_run_is_not_clean_until_it_is_quiet(asked: Callable[[Recorded, list[float]], list[State]]) -> None:
    """Its last span can overtake others on the way here."""
    just_now, later = asked(recorded(), [1.9, 2.0])
    assert (just_now.status, later.status) == ("incomplete", "clean")
    assert "others may be under way" in just_now.reasons[0]


def test_a_run_that_does_not_close_in_time_is_waited_for_no_longer(
    asked: Callable[[Recorded, list[float]], list[State]],
) -> None:
    """It stays incomplete, and says so."""
    whole = recorded()
    before, after = asked(Recorded(whole.trace_id, whole.spans[:-1]), [59.9, 60.0])
    assert (before.status, after.status) == ("incomplete", "incomplete")
    assert before.reasons == ("the run has not closed, or spans are missing",)
    assert after.reasons[0].startswith("the run did not close")


def test_an_audit_that_takes_too_long_is_incomplete() -> None:
    """No verdict is no success."""
    sent = recorded()
    desk = Desk(Limits(settle=0, audit=-1), None)

    async def state() -> State:
        await desk.take(sent.body(), "json", zipped=False)
        return await stands(desk, sent.trace_id)

    found = asyncio.run(state())
    desk.close()
    assert (found.status, found.judged) == ("incomplete", None)


def citing(earlier: Recorded) -> Recorded:
    """A run whose call cites the first span of another."""
    later, source = recorded(), earlier.spans[0]
    for span in later.spans:
        for link in span.get("links", ()):
            link |= {"traceId": earlier.trace_id, "spanId": source["spanId"]}
        for pair in span.get("attributes", ()):
            if pair["key"] == "provenance.source_span.path":
                pair["value"]["stringValue"] = source["spanId"]
    return later


def test_a_citation_of_an_earlier_trace_is_followed() -> None:
    """A conversation goes on in a trace of its own: what it cites is here."""
    earlier = recorded()
    later = citing(earlier)
    desk = Desk(Limits(settle=0), None)

    async def states() -> list[State]:
        await desk.take(later.body(), "json", zipped=False)
        found = [await stands(desk, later.trace_id)]
        await desk.take(earlier.body(), "json", zipped=False)
        return [*found, await stands(desk, later.trace_id), await stands(desk, earlier.trace_id)]

    alone, together, itself = asyncio.run(states())
    desk.close()
    assert (alone.status, together.status, itself.status) == ("incomplete", "clean", "clean")


def test_a_cited_trace_that_comes_again_is_another_one() -> None:
    """It was dropped, and has as many spans as before, but not the one that is cited."""
    earlier, other = recorded(), recorded()
    later = citing(earlier)
    again = Recorded(earlier.trace_id, [span | {"traceId": earlier.trace_id} for span in other.spans])
    desk = Desk(Limits(settle=0, traces=2), None)

    async def states() -> list[State]:
        for sent in (earlier, later):
            await desk.take(sent.body(), "json", zipped=False)
        found = [await stands(desk, later.trace_id)]
        for sent in (other, later, again):  # the first drops what is cited, the last drops the first
            await desk.take(sent.body(), "json", zipped=False)
        return [*found, await stands(desk, later.trace_id)]

    before, after = asyncio.run(states())
    desk.close()
    assert (before.status, after.status) == ("clean", "violations")


def test_the_answers_of_an_audit_are_made_once(service: Service) -> None:
    """The same question has the same answer, until spans come."""
    sent = recorded()
    service.send(sent.body())
    first = service.get(f"/traces/{sent.trace_id}").body
    assert service.get(f"/traces/{sent.trace_id}").body == first
    assert orjson.loads(first)["spans"] == 3
