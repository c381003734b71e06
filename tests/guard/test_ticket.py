"""What adapters build on: `begin`, its ticket, `judge` and `observe`."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from opentelemetry import context as otel_context
from tests.guard.harness import LISTED, SECRET, TAG, Spans, Watch

import citespan
from citespan.core.decision import ProvenanceDenied
from citespan.core.policy import Policy
from citespan.guard.examine import judge
from citespan.guard.guard import already_judged, begin
from citespan.guard.ports import Tool
from citespan.guard.registry import registry
from citespan.guard.reported import observe
from citespan.otel.processor import ProvenanceSpanProcessor

PATCH = Tool("patch")
LIST = Tool("list", read_only=True)


def citable(value: Any) -> bool:
    """By the pure decision: no span, no evidence."""
    return not judge(PATCH, {"path": value}).deny


def test_a_ticket_covers_the_very_objects_that_were_judged_and_no_equal_ones(watch: Watch) -> None:
    mine = {"paths": list(LISTED)}
    with citespan.run(inputs={"paths": LISTED}):
        ticket = begin(PATCH, mine)
        assert not ticket.covers("patch", {"paths": list(LISTED)})
        assert not ticket.covers("patch", {**mine, "more": None})
        assert not ticket.covers("patch", {})
        assert not ticket.covers("patch", None)
        assert not ticket.covers("other", mine)
        assert ticket.covers("patch", mine)


def test_a_ticket_covers_its_copy_when_the_body_hands_it_on(watch: Watch) -> None:
    with citespan.run(inputs={"paths": LISTED}):
        assert begin(PATCH, {"paths": LISTED}).covers("patch", begin(PATCH, {"paths": LISTED}).arguments) is False
        ticket = begin(PATCH, {"paths": LISTED})
        assert ticket.covers("patch", ticket.arguments)
        ticket = begin(PATCH, {"paths": LISTED})
        ticket.finish("done")
        assert not ticket.covers("patch", ticket.arguments)


def test_the_second_time_it_is_another_call(watch: Watch) -> None:
    """A tool may call itself, with the very same arguments."""
    with citespan.run(inputs={"paths": LISTED}):
        ticket = begin(PATCH, {"paths": LISTED})
        assert [ticket.covers("patch", ticket.arguments) for _ in range(3)] == [True, False, False]


def test_what_was_changed_after_judging_is_another_call(watch: Watch) -> None:
    """The dict that was judged, but no longer what was judged."""
    mine: dict[str, object] = {"path": LISTED[0]}
    with citespan.run(inputs={"paths": LISTED}):
        ticket = begin(PATCH, mine)
        mine["path"] = SECRET
        assert not ticket.covers("patch", mine)
        nested = {"paths": list(LISTED)}
        ticket = begin(PATCH, nested)
        nested["paths"].append(SECRET)
        assert not ticket.covers("patch", nested)


def test_a_hook_further_in_knows_the_call_only_while_its_body_runs(watch: Watch) -> None:
    mine = {"path": LISTED[0]}
    with citespan.run(inputs={"path": LISTED[0]}):
        assert not already_judged("patch", mine)
        ticket = begin(PATCH, mine)
        assert not already_judged("patch", mine)
        token = otel_context.attach(ticket.context)
        try:
            assert not already_judged("patch", {"path": SECRET})
            assert already_judged("patch", mine)
        finally:
            otel_context.detach(token)
        assert not already_judged("patch", mine)


def test_a_ticket_ends_once(watch: Watch) -> None:
    with citespan.run():
        ticket = begin(LIST, {})
        ticket.finish(LISTED)
        ticket.finish([SECRET])
        ticket.fail(ValueError())
        ticket.failed("not recorded")
        assert watch.ending == (None, None)
        assert citable(LISTED[0])
        assert not citable(SECRET)


@pytest.mark.parametrize("end", ["fail", "failed"])
def test_a_call_that_failed_cannot_be_finished_later(end: str, watch: Watch) -> None:
    with citespan.run():
        ticket = begin(LIST, {})
        if end == "fail":
            ticket.fail(ValueError())
        else:
            ticket.failed("the server answered with an error")
        ticket.finish(LISTED)
        assert not citable(LISTED[0])


def test_a_result_may_come_as_json(watch: Watch) -> None:
    with citespan.run():
        begin(LIST, {}).finish_json(b'{"files": ["src/app.py"]}')
        assert citable("src/app.py")


@pytest.mark.parametrize("data", [b"", b"{", b'{"a": "\\ud800"}', b"nan", b"\xff", b"[1,]"])
def test_json_that_is_none_teaches_nothing_and_breaks_nothing(data: bytes, watch: Watch) -> None:
    with citespan.run():
        begin(LIST, {}).finish_json(b'["src/app.py"]')
        begin(LIST, {}).finish_json(data)
        assert not citable(SECRET)
        assert citable("src/app.py")


def test_a_ticket_may_be_finished_in_a_thread_without_the_context(watch: Watch) -> None:
    with citespan.run():
        ticket = begin(LIST, {})
        thread = threading.Thread(target=ticket.finish, args=(LISTED,))
        thread.start()
        thread.join()
        assert citable(LISTED[0])


def test_a_ticket_records_in_the_run_that_judged_it(watch: Watch) -> None:
    with citespan.run():
        ticket = begin(LIST, {})
    with citespan.run():
        ticket.finish(LISTED)
        assert not citable(LISTED[0])


def test_the_source_of_a_ticket_may_change_and_its_arguments_do_not(watch: Watch) -> None:
    mine = {"paths": list(LISTED)}
    with citespan.run(inputs={"paths": LISTED}):
        ticket = begin(PATCH, mine)
    mine["paths"].append(SECRET)
    assert ticket.arguments == {"paths": LISTED}


def test_judging_leaves_no_span_and_no_evidence(watch: Watch) -> None:
    class Evidence:
        def append(self, *args: Any) -> None:
            raise AssertionError("written")

    registry.evidence = Evidence()
    with citespan.run(inputs={"path": LISTED[0]}):
        assert citable(LISTED[0])
        assert not citable(SECRET)
    assert not watch.decisions


@pytest.mark.parametrize("arguments", [None, {}])
def test_a_call_without_arguments_has_nothing_to_cite(arguments: Any, watch: Watch) -> None:
    assert begin(PATCH, arguments).arguments == {}
    with citespan.run():
        assert begin(PATCH, arguments).decision.status == "ok"


def test_a_reported_result_is_learned(watch: Watch) -> None:
    with citespan.run():
        context = otel_context.get_current()
        observe(LIST, {}, {"files": LISTED}, context=context, span=None)
        assert citable(LISTED[0])
    observe(LIST, {}, {"files": LISTED}, context=otel_context.get_current(), span=None)
    assert not watch.decisions


def test_an_echo_in_a_reported_result_stays_an_echo(watch: Watch) -> None:
    with citespan.run(inputs={"root": "src"}):
        context = otel_context.get_current()
        observe(PATCH, {"path": SECRET}, {"patched": SECRET, "root": "lib"}, context=context, span=None)
        assert not citable(SECRET)
        observe(LIST, {"root": "src"}, {"files": [*LISTED, SECRET]}, context=context, span=None)
        assert not citable(SECRET)
        assert citable(LISTED[0])


@pytest.mark.parametrize("result", [object(), ValueError(), b"x", {1, 2}, float("nan"), "\ud800"])
def test_a_reported_result_that_cannot_be_read_breaks_nothing(result: Any, watch: Watch) -> None:
    with citespan.run():
        observe(LIST, {"x": object()}, result, context=otel_context.get_current(), span=None)
        assert not citable(SECRET)


ENUM = {"type": "object", "properties": {"path": {"enum": ["one.py"]}}}
WIDER = {"type": "object", "properties": {"path": {"enum": ["one.py", "two.py"]}, "more": {"const": "x"}}}


def test_a_schema_is_frozen_as_first_seen_in_the_run(watch: Watch) -> None:
    with citespan.run():
        begin(Tool("patch", schema=ENUM), {"path": "one.py"})
        for arguments in ({"path": "two.py"}, {"path": "one.py", "more": "x"}):
            with pytest.raises(ProvenanceDenied):
                begin(Tool("patch", schema=WIDER), arguments)
    with citespan.run():
        begin(Tool("patch", schema=WIDER), {"path": "two.py", "more": "x"})


def test_a_schema_changed_in_place_by_its_owner_is_still_frozen(watch: Watch) -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"path": {"enum": ["one.py"]}}}
    with citespan.run():
        begin(Tool("patch", schema=schema), {"path": "one.py"})
        schema["properties"]["path"]["enum"].append(SECRET)
        with pytest.raises(ProvenanceDenied):
            begin(Tool("patch", schema=schema), {"path": SECRET})


def test_a_hint_is_frozen_as_first_seen_and_believed_only_where_the_policy_says_so(watch: Watch) -> None:
    trusting = Policy(servers={"github": True})
    with citespan.run(policy=trusting):
        begin(Tool("read", "github", hint=True), {"path": SECRET})
        assert watch.last.status == "flagged"
        begin(Tool("write", "github", hint=False), {})
        for tool in (Tool("write", "github", hint=True), Tool("read", "gitlab", hint=True), Tool("read", hint=True)):
            with pytest.raises(ProvenanceDenied):
                begin(tool, {"path": SECRET})


@pytest.mark.parametrize(
    "schema", [{}, {"properties": None}, {"properties": []}, {"properties": {"path": 1}}, {"$ref": "#/a"}, {"a": 2**70}]
)
def test_a_schema_that_makes_no_sense_vouches_for_nothing(schema: Any, watch: Watch) -> None:
    with citespan.run(), pytest.raises(ProvenanceDenied):
        begin(Tool("patch", schema=schema), {"path": SECRET})


def test_the_span_says_what_the_framework_knows(spans: Spans) -> None:
    tool = Tool("patch", "github", ENUM, "Patch a file.", type="extension")
    with citespan.run("agent", run_id="conversation-1"):
        begin(tool, {"path": "one.py"}, call_id="call-1", step="response-1").finish("done")
    told = spans.last("patch")
    assert told["gen_ai.tool.call.id"] == "call-1"
    assert told["gen_ai.tool.type"] == "extension"
    assert told["gen_ai.tool.description"] == "Patch a file."
    assert told["gen_ai.conversation.id"] == "conversation-1"
    assert told["gen_ai.agent.name"] == "agent"
    assert told["gen_ai.operation.name"] == "execute_tool"
    assert told["provenance.step"] == "response-1"


def test_a_tie_between_two_globs_cannot_be_judged_and_denies(watch: Watch) -> None:
    policy = TAG.evolve(tools={"pat*": citespan.ToolRule(), "*tch": citespan.ToolRule()})
    with citespan.run(policy=policy), pytest.raises(ProvenanceDenied):
        begin(PATCH, {})


def test_a_hand_written_span_inside_the_body_of_a_tool_of_its_name_is_another_call(spans: Spans) -> None:
    """The second gate goes by call identity as well: other arguments are another call (design section 5.7)."""
    spans.provider.add_span_processor(ProvenanceSpanProcessor())
    tracer = spans.provider.get_tracer("hand written")
    ran: list[str] = []

    def inner(path: str) -> None:
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "patch",
            "gen_ai.tool.call.arguments": json.dumps({"path": path}),
        }
        with tracer.start_as_current_span("execute_tool patch", attributes=attributes):
            ran.append(path)

    @citespan.tool
    def patch(path: str) -> None:
        inner(SECRET)

    with citespan.run(inputs={"path": LISTED[0]}):
        for attempt in (lambda: inner(SECRET), lambda: patch(path=LISTED[0])):
            with pytest.raises(ProvenanceDenied):
                attempt()
    assert ran == []
