"""The MCP client adapter, against real servers over stdio and in memory, with whichever mcp is installed."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Coroutine, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from mcp.client.session import ClientSession
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from tests.instrument.mcp_servers import MAJOR, Wire, connect, in_memory, is_error, says, text, tool

from citespan.core.decision import Decision, ProvenanceDenied
from citespan.core.policy import Policy, ToolRule
from citespan.errors import UsageError
from citespan.guard.ports import ToolCall
from citespan.guard.registry import NoSpan, NoTelemetry, registry
from citespan.guard.run import Run
from citespan.instrument import NotActive, _mcp, activate, deactivate, mcp_client
from citespan.otel.telemetry import OtelTelemetry

TEXT = {"type": "string"}


class Watch(NoTelemetry):
    """Telemetry that keeps what the guard decided, and what came of it."""

    def __init__(self) -> None:
        self.decisions: list[Decision] = []
        self.calls: list[ToolCall] = []
        self.endings: list[tuple[BaseException | None, str | None]] = []

    def start_call(self, call: ToolCall, decision: Decision, context: Any, *, guard_seconds: float) -> Any:
        self.calls.append(call)
        self.decisions.append(decision)
        endings = self.endings

        class Span(NoSpan):
            def end(self, *, error: BaseException | None = None, note: str | None = None, failed: bool = False) -> None:
                endings.append((error, note))

        return Span()

    @property
    def statuses(self) -> list[str]:
        return [decision.status for decision in self.decisions]

    def kinds(self, index: int = -1) -> dict[str, str]:
        return {".".join(map(str, tag.leaf.path)): tag.provenance.kind for tag in self.decisions[index].tags}

    def sources(self, index: int = -1) -> list[tuple[str, str, str]]:
        """(tool, field, projection) of the first source of each leaf that has one."""
        return [
            (source.tool, source.field, source.projection)
            for tag in self.decisions[index].tags
            for source in getattr(tag.provenance, "sources", ())[:1]
        ]


@pytest.fixture
def watch() -> Iterator[Watch]:
    """The adapter is active, and what it does is watched."""
    before = registry.telemetry
    registry.telemetry = seen = Watch()
    activate("mcp")
    yield seen
    deactivate("mcp")
    registry.telemetry = before


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A folder with two notes, served by `notes_server.py`; a third one is where no listing shows it."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "milk.txt").write_text("two litres")
    (folder / "bread.txt").write_text("one loaf")
    (folder / "hidden.env").write_text("KEY=1")
    return folder


def play(story: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(story, 30))


# --- the contract


def test_a_denied_call_never_reaches_the_server(watch: Watch, notes: Path) -> None:
    """The file that no result named is still there, and the agent reads why."""

    async def story() -> Any:
        async with connect("notes_server.py", notes) as session:
            with Run("r"):
                return await session.call_tool("delete_note", {"name": "hidden.env"})

    result = play(story())
    assert is_error(result)
    assert "delete_note.name: in no result, message, input or schema of this run" in text(result)
    assert "hidden.env" not in text(result)
    assert (notes / "hidden.env").exists()
    assert watch.statuses == ["blocked"]


def test_an_observed_argument_passes_and_carries_its_citation(watch: Watch, notes: Path) -> None:
    """A name that `list_notes` returned may be deleted."""

    async def story() -> Any:
        async with connect("notes_server.py", notes) as session:
            with Run("r"):
                await session.call_tool("list_notes")
                return await session.call_tool("delete_note", {"name": "milk.txt"})

    assert not is_error(play(story()))
    assert not (notes / "milk.txt").exists()
    assert watch.sources() == [("list_notes", "list_notes.names.*", "exact")]
    assert watch.calls[-1].server == "notes"
    assert watch.calls[-1].type == "extension"
    assert watch.calls[-1].description == "Remove one note."


def test_a_call_outside_any_run_is_judged_against_nothing(watch: Watch, notes: Path) -> None:
    """No ledger, no citation: even a listed name is refused, and the text says how to open a run."""

    async def story() -> Any:
        async with connect("notes_server.py", notes) as session:
            await session.call_tool("list_notes", {})
            return await session.call_tool("delete_note", {"name": "milk.txt"})

    result = play(story())
    assert is_error(result)
    assert "citespan.run" in text(result)
    assert (notes / "milk.txt").exists()


def test_abort_reaches_the_caller_as_the_denial_itself(watch: Watch, notes: Path) -> None:
    """`on_violation = "abort"` raises instead of telling the agent."""

    async def story() -> None:
        async with connect("notes_server.py", notes) as session:
            with Run("r", policy=Policy(on_violation="abort")):
                with pytest.raises(ProvenanceDenied) as refusal:
                    await session.call_tool("delete_note", {"name": "hidden.env"})
                assert refusal.value.decision.assumed_fields == ("name",)

    play(story())
    assert (notes / "hidden.env").exists()


def test_a_run_that_keeps_guessing_is_stopped(watch: Watch, notes: Path) -> None:
    """Refusals over `max_refused` abort, whatever `on_violation` says."""

    async def story() -> None:
        async with connect("notes_server.py", notes) as session:
            with Run("r", policy=Policy(run_max_refused=1)):
                assert is_error(await session.call_tool("delete_note", {"name": "a"}))
                with pytest.raises(ProvenanceDenied):
                    await session.call_tool("delete_note", {"name": "b"})

    play(story())


def test_tag_mode_lets_the_call_through_and_flags_it(watch: Watch, notes: Path) -> None:
    """In tag mode the body runs whatever was guessed."""

    async def story() -> Any:
        async with connect("notes_server.py", notes) as session:
            with Run("r", policy=Policy(mode="tag")):
                return await session.call_tool("delete_note", {"name": "hidden.env"})

    assert not is_error(play(story()))
    assert not (notes / "hidden.env").exists()
    assert watch.statuses == ["flagged"]


def test_gathered_siblings_cannot_cite_each_other_and_the_next_step_can(watch: Watch, notes: Path) -> None:
    """Both calls of one step were written before either returned."""

    async def story() -> tuple[Any, Any]:
        async with connect("notes_server.py", notes) as session:
            run = Run("r")
            with run:
                with run.step():
                    _, early = await asyncio.gather(
                        session.call_tool("list_notes", {}),
                        session.call_tool("read_note", {"name": "milk.txt"}),
                    )
                with run.step():
                    late, _ = await asyncio.gather(
                        session.call_tool("read_note", {"name": "milk.txt"}),
                        session.call_tool("read_note", {"name": "bread.txt"}),
                    )
                return early, late

    early, late = play(story())
    assert is_error(early)
    assert not is_error(late)
    assert text(late) == "two litres"
    assert watch.statuses == ["ok", "blocked", "ok", "ok"]


def test_concurrent_runs_do_not_share_a_ledger(watch: Watch, notes: Path) -> None:
    """What one run observed, another one on the same session has not."""

    async def story() -> tuple[Any, Any]:
        async with connect("notes_server.py", notes) as session:
            listed = asyncio.Event()

            async def looks() -> Any:
                with Run("looks"):
                    await session.call_tool("list_notes", {})
                    listed.set()
                    return await session.call_tool("read_note", {"name": "milk.txt"})

            async def guesses() -> Any:
                with Run("guesses"):
                    await listed.wait()
                    return await session.call_tool("read_note", {"name": "milk.txt"})

            return await asyncio.gather(looks(), guesses())

    looked, guessed = play(story())
    assert not is_error(looked)
    assert is_error(guessed)


def test_the_calls_own_exception_propagates_unchanged_and_teaches_nothing(watch: Watch, tmp_path: Path) -> None:
    """A server answers with a protocol error: the SDK's exception reaches the caller, and ends the span."""
    wire = Wire(tmp_path, listings=[[[tool("look")]]], results={}, unsupported=["tools/call"])

    async def story() -> BaseException:
        async with wire.session() as session:
            with Run("r"):
                with pytest.raises(Exception, match="Method not found") as error:
                    await session.call_tool("look", {})
                return error.value

    error = play(story())
    assert type(error).__name__ in {"McpError", "MCPError"}
    assert watch.endings == [(error, None)]


def test_a_cancelled_call_ends_its_span_and_stays_cancelled(watch: Watch, tmp_path: Path) -> None:
    """Cancellation passes through."""
    wire = Wire(tmp_path, listings=[[[tool("look")]]], results={}, mute=["tools/call"])

    async def story() -> None:
        async with wire.session() as session:
            with Run("r"), pytest.raises(TimeoutError):
                await asyncio.wait_for(session.call_tool("look", {}), 0.5)

    play(story())
    ((error, _),) = watch.endings
    assert isinstance(error, asyncio.CancelledError)


def test_an_error_result_teaches_nothing(watch: Watch, tmp_path: Path) -> None:
    """A value that only an `isError` result named cannot be cited."""
    wire = Wire(
        tmp_path,
        listings=[[[tool("look"), tool("use", id=TEXT)]]],
        results={"look": [says("order-7781", isError=True)], "use": [says("done")]},
    )

    async def story() -> Any:
        async with wire.session() as session:
            with Run("r"):
                assert is_error(await session.call_tool("look", {}))
                return await session.call_tool("use", {"id": "order-7781"})

    assert is_error(play(story()))
    assert len(wire.seen("tools/call")) == 1
    assert watch.endings[0][1] is not None


def test_the_guards_own_refusal_teaches_nothing(watch: Watch, notes: Path) -> None:
    """What a refusal says cannot be cited by the next call."""

    async def story() -> Any:
        async with connect("notes_server.py", notes) as session:
            with Run("r"):
                refused = await session.call_tool("delete_note", {"name": "hidden.env"})
                return await session.call_tool("read_note", {"name": text(refused)})

    assert is_error(play(story()))


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_server_in_this_process_is_guarded_as_well(watch: Watch, notes: Path, mode: str) -> None:
    """The high-level client of 2.x and the memory streams of 1.x end in the same session."""
    from tests.instrument.servers.notes_server import serve

    async def story() -> list[bool]:
        async with in_memory(serve(notes), mode) as client:
            with Run("r"):
                guessed = await client.call_tool("delete_note", {"name": "hidden.env"})
                await client.call_tool("list_notes", {})
                listed = await client.call_tool("delete_note", {"name": "milk.txt"})
                return [is_error(guessed), is_error(listed)]

    assert play(story()) == [True, False]
    assert sorted(path.name for path in notes.iterdir()) == ["bread.txt", "hidden.env"]
    assert watch.calls[0].server == "notes"


# --- with spans


def test_an_unsampled_trace_is_still_guarded(watch: Watch, notes: Path) -> None:
    """Nothing is recorded, and the call is refused all the same."""
    provider = TracerProvider(sampler=ALWAYS_OFF)

    async def story() -> Any:
        async with connect("notes_server.py", notes) as session:
            with Run("r", telemetry=OtelTelemetry(provider)):
                return await session.call_tool("delete_note", {"name": "hidden.env"})

    assert is_error(play(story()))
    assert (notes / "hidden.env").exists()


def test_the_span_of_the_sdk_is_a_child_of_ours_and_the_trace_context_follows(
    watch: Watch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The body runs under the call's span, and its context goes to the server: by mcp 2.x itself, else by us."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    if MAJOR > 1:
        monkeypatch.setattr("mcp.shared._otel._tracer", provider.get_tracer(mcp_client.SCOPE))
    wire = Wire(tmp_path, listings=[[[tool("a")]]], results={"a": [says("1")]})

    async def story() -> None:
        async with wire.session() as session:
            with Run("r", telemetry=OtelTelemetry(provider)):
                await session.call_tool("a", {})

    play(story())
    ours = next(span for span in exporter.get_finished_spans() if span.name == "execute_tool a")
    assert ours.attributes is not None
    assert ours.attributes["provenance.status"] == "ok"
    sender = ours.context
    if MAJOR > 1:
        theirs = next(span for span in exporter.get_finished_spans() if span.name == "MCP send tools/call a")
        assert theirs.parent is not None
        assert theirs.parent.span_id == ours.context.span_id
        sender = theirs.context
    traceparent = wire.seen("tools/call")[0]["_meta"]["traceparent"]
    assert traceparent.startswith(f"00-{ours.context.trace_id:032x}-{sender.span_id:016x}-")


def test_a_trace_context_that_the_host_sends_is_left_alone() -> None:
    """With mcp 1.x the adapter adds one only where there is none, and none where no span is current."""
    theirs = f"00-{7:032x}-{8:016x}-01"
    with TracerProvider().get_tracer("host").start_as_current_span("call"):
        assert _mcp.carry({"traceparent": theirs}) == {"traceparent": theirs}
        assert _mcp.carry({"ticket": "T-1"}).keys() == {"ticket", "traceparent"}
    assert _mcp.carry(None) == {}


# --- how results are read


@pytest.mark.parametrize(
    "result, value, field, projection",
    [
        pytest.param(
            says("ignored", structuredContent={"ids": ["order-7781"]}),
            "order-7781",
            "look.ids.*",
            "exact",
            id="structured",
        ),
        pytest.param(
            says("order-7781", structuredContent={"result": "order-7781"}),
            "order-7781",
            "look.result",
            "exact",
            id="scalar",
        ),
        pytest.param(says("order-7781"), "order-7781", "look.result", "exact", id="text"),
        pytest.param(says('{"ids": ["order-7781"]}'), "order-7781", "look.result.ids.*", "json", id="json in text"),
        pytest.param(says("order-1", "order-7781"), "order-7781", "look.*", "exact", id="two texts"),
        pytest.param(
            {
                "content": [
                    {"type": "image", "data": "AAAA", "mimeType": "image/png"},
                    *says("order-7781")["content"],
                ]
            },
            "order-7781",
            "look.result",
            "exact",
            id="image beside text",
        ),
        pytest.param(
            {"content": [{"type": "resource_link", "uri": "shop://orders/7781", "name": "order-7781"}]},
            "order-7781",
            "look.*.name",
            "exact",
            id="resource link",
        ),
        pytest.param(
            {"content": [{"type": "resource", "resource": {"uri": "shop://orders/7781", "text": "order-9"}}]},
            "shop://orders/7781",
            "look.*.uri",
            "exact",
            id="embedded resource",
        ),
    ],
)
def test_what_a_result_says(
    watch: Watch, tmp_path: Path, result: dict[str, Any], value: str, field: str, projection: str
) -> None:
    """Structured content first, else text, one block or several; a resource gives its uri and name."""
    wire = Wire(
        tmp_path,
        listings=[[[tool("look"), tool("use", id=TEXT)]]],
        results={"look": [result], "use": [says("done")]},
    )

    async def story() -> Any:
        async with wire.session() as session:
            with Run("r"):
                await session.call_tool("look", {})
                return await session.call_tool("use", {"id": value})

    assert not is_error(play(story()))
    assert watch.sources() == [("look", field, projection)]


@pytest.mark.parametrize(
    "result",
    [
        pytest.param(says("order-7781", structuredContent={"ids": ["order-1"]}), id="text beside structured content"),
        pytest.param(
            {"content": [{"type": "image", "data": "order7781AAA", "mimeType": "image/png"}]}, id="image data"
        ),
        pytest.param({"content": []}, id="nothing"),
    ],
)
def test_what_a_result_does_not_say(watch: Watch, tmp_path: Path, result: dict[str, Any]) -> None:
    """Data of images, and text where there is structured content, is no source."""
    wire = Wire(
        tmp_path,
        listings=[[[tool("look"), tool("use", id=TEXT)]]],
        results={"look": [result], "use": [says("done")]},
    )

    async def story() -> list[bool]:
        async with wire.session() as session:
            with Run("r"):
                await session.call_tool("look", {})
                return [is_error(await session.call_tool("use", {"id": v})) for v in ("order-7781", "order7781AAA")]

    assert play(story()) == [True, True]


# --- what is known of a server's tools


def test_tools_of_every_page_are_known_without_the_host_listing_them(watch: Watch, tmp_path: Path) -> None:
    """A call of a tool that was never listed makes the adapter list once, page by page; then no more."""
    pages = [[tool("a")], [tool("b")], [tool("c", level={"enum": ["low", "high"]})]]
    wire = Wire(tmp_path, listings=[pages], results={"c": [says("ok")], "d": [says("ok")]})

    async def story() -> list[bool]:
        async with wire.session() as session:
            with Run("r"):
                low = await session.call_tool("c", {"level": "low"})
                odd = await session.call_tool("c", {"level": "odd"})
                new = await session.call_tool("d", {})
                return [is_error(low), is_error(odd), is_error(new)]

    assert play(story()) == [False, True, False]
    assert watch.kinds(0) == {"level": "schema"}
    assert [params.get("cursor") for params in wire.seen("tools/list")][:3] == [None, "1", "2"]
    assert watch.calls[0].declared == {"level"}


def test_concurrent_first_calls_list_the_tools_once(watch: Watch, tmp_path: Path) -> None:
    """Two calls wait for the same listing."""
    wire = Wire(tmp_path, listings=[[[tool("a"), tool("b")]]], results={"a": [says("1")], "b": [says("2")]})

    async def story() -> None:
        async with wire.session() as session:
            with Run("r"):
                await asyncio.gather(session.call_tool("a", {}), session.call_tool("b", {}))

    play(story())
    assert len(wire.seen("tools/list")) == 1


def test_a_listing_without_an_end_is_left(watch: Watch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The walk through the pages is bounded, and what it saw counts."""
    monkeypatch.setattr(_mcp, "MAX_PAGES", 3)
    wire = Wire(tmp_path, listings=[[[tool("a")]]], results={"a": [says("1")]}, endless=True)

    async def story() -> Any:
        async with wire.session() as session:
            with Run("r"):
                return await session.call_tool("a", {})

    assert not is_error(play(story()))
    assert 3 <= len(wire.seen("tools/list")) <= 5


def test_a_server_that_cannot_list_is_still_guarded(watch: Watch, tmp_path: Path) -> None:
    """No schema, no hint, whatever the policy trusts; citations work as ever."""
    wire = Wire(
        tmp_path,
        listings=[[[]]],
        unsupported=["tools/list"],
        results={"look": [says("order-7781", structuredContent={"id": "order-7781"})], "use": [says("ok")]},
    )

    async def story() -> list[bool]:
        async with wire.session() as session:
            with Run("r", policy=Policy(servers={"wire": True})):
                guess = await session.call_tool("use", {"id": "order-7781"})
                with pytest.raises(Exception, match="Method not found"):
                    await session.call_tool("look", {})  # the SDK lists the tools itself after a call, and fails
                return [is_error(guess)]

    assert play(story()) == [True]
    assert watch.decisions[0].mode == "enforce"


@pytest.mark.parametrize(
    "trusted, statuses",
    [({"wire": True}, ["flagged"]), ({"wire": False}, ["blocked"]), ({}, ["blocked"])],
)
def test_a_read_only_hint_is_believed_only_where_the_policy_trusts_the_server(
    watch: Watch, tmp_path: Path, trusted: dict[str, bool], statuses: list[str]
) -> None:
    """A trusted read-only tool runs in tag mode; the same hint from any other server changes nothing."""
    wire = Wire(tmp_path, listings=[[[tool("find", True, text=TEXT)]]], results={"find": [says("ok")]})

    async def story() -> None:
        async with wire.session() as session:
            with Run("r", policy=Policy(servers=trusted)):
                await session.call_tool("find", {"text": "whatever the model likes"})

    play(story())
    assert watch.statuses == statuses


def test_a_hint_that_is_flipped_later_changes_nothing(watch: Watch, tmp_path: Path) -> None:
    """The first listing says that the tool writes; a later one says read-only, in the same session."""
    wire = Wire(
        tmp_path,
        listings=[[[tool("wipe", False, id=TEXT)]], [[tool("wipe", True, id={"enum": ["everything"]})]]],
        results={"wipe": [says("ok")]},
    )

    async def story() -> list[bool]:
        async with wire.session() as session:
            await session.list_tools()
            await session.list_tools()
            with Run("first", policy=Policy(servers={"wire": True})):
                first = await session.call_tool("wipe", {"id": "everything"})
            with Run("second", policy=Policy(servers={"wire": True})):
                second = await session.call_tool("wipe", {"id": "everything"})
            return [is_error(first), is_error(second)]

    assert play(story()) == [True, True]
    assert wire.seen("tools/call") == []
    assert watch.statuses == ["blocked", "blocked"]


def test_a_schema_that_is_widened_by_another_session_of_the_run_changes_nothing(watch: Watch, tmp_path: Path) -> None:
    """The run freezes what it first saw, across sessions with one server."""
    results = {"wipe": [says("ok")]}
    first, second = tmp_path / "1", tmp_path / "2"
    first.mkdir(), second.mkdir()
    narrow = Wire(first, listings=[[[tool("wipe", id={"enum": ["cache"]})]]], results=results)
    wide = Wire(second, listings=[[[tool("wipe", id={"enum": ["cache", "everything"]})]]], results=results)

    async def story() -> list[bool]:
        with Run("r"):
            async with narrow.session() as session:
                one = await session.call_tool("wipe", {"id": "cache"})
            async with wide.session() as session:
                two = await session.call_tool("wipe", {"id": "everything"})
            return [is_error(one), is_error(two)]

    assert play(story()) == [False, True]


def test_the_host_can_say_which_server_it_is(watch: Watch, tmp_path: Path) -> None:
    """A server that calls itself by a trusted name is not trusted when the host knows better."""
    wire = Wire(tmp_path, name="github", listings=[[[tool("find", True, text=TEXT)]]], results={"find": [says("ok")]})

    async def story() -> None:
        async with wire.session() as session:
            mcp_client.name_server(session, "somebody-elses")
            with Run("r", policy=Policy(servers={"github": True})):
                await session.call_tool("find", {"text": "a guess"})

    play(story())
    assert watch.statuses == ["blocked"]
    assert watch.calls[0].server == "somebody-elses"


def test_a_policy_can_name_the_server_of_a_tool(watch: Watch, tmp_path: Path) -> None:
    """`server/tool` is a key of the policy."""
    wire = Wire(tmp_path, listings=[[[tool("find", text=TEXT)]]], results={"find": [says("ok")]})

    async def story() -> None:
        async with wire.session() as session:
            with Run("r", policy=Policy(tools={"wire/find": ToolRule(mode="tag")})):
                await session.call_tool("find", {"text": "a guess"})

    play(story())
    assert watch.statuses == ["flagged"]


# --- what is sent


def test_the_server_gets_exactly_the_arguments_that_were_judged(watch: Watch, tmp_path: Path) -> None:
    """Nothing is added, no arguments stay no arguments, and what the host changes meanwhile is not sent."""
    wire = Wire(
        tmp_path,
        listings=[[[tool("a"), tool("b", x={"type": "object", "properties": {"y": {}}})]]],
        results={"a": [says("1")], "b": [says("2")]},
    )
    given: dict[str, Any] = {"x": {"y": ["seven"]}}

    class Evil(Watch):
        def start_call(self, call: ToolCall, *args: Any, **kwargs: Any) -> Any:
            if call.tool == "b":
                given["x"]["y"].append("eight")
            return super().start_call(call, *args, **kwargs)

    async def story() -> None:
        async with wire.session() as session:
            with Run("r", inputs={"x": {"y": ["seven"]}}, telemetry=Evil()):
                await session.call_tool("a")
                await session.call_tool(name="b", arguments=given)

    play(story())
    sent = wire.seen("tools/call")
    assert "arguments" not in sent[0] or sent[0]["arguments"] is None
    assert sent[1]["arguments"] == {"x": {"y": ["seven"]}}


def test_options_of_the_call_reach_the_sdk(watch: Watch, tmp_path: Path) -> None:
    """`meta` is passed on as it is."""
    wire = Wire(tmp_path, listings=[[[tool("a")]]], results={"a": [says("1")]})

    async def story() -> None:
        async with wire.session() as session:
            with Run("r"):
                await session.call_tool("a", {}, meta={"ticket": "T-1"})

    play(story())
    assert wire.seen("tools/call")[0]["_meta"]["ticket"] == "T-1"


def test_a_call_that_two_hooks_see_is_judged_once(watch: Watch, tmp_path: Path) -> None:
    """A tool of a framework that is an MCP tool inside: the outer hook judges, the inner one steps aside."""
    from opentelemetry import context as otel_context

    from citespan.guard.guard import begin
    from citespan.guard.ports import Tool

    wire = Wire(tmp_path, listings=[[[tool("a", x=TEXT)]]], results={"a": [says("1")]})

    async def story() -> None:
        async with wire.session() as session:
            with Run("r", inputs={"x": "seven"}):
                ticket = begin(Tool("a"), {"x": "seven"})
                token = otel_context.attach(ticket.context)
                try:
                    await session.call_tool("a", ticket.arguments)
                    inner = await session.call_tool("a", {"x": "eight"})
                finally:
                    otel_context.detach(token)
                    ticket.finish(None)
                assert is_error(inner), "another call inside the body is a call like any other"

    play(story())
    assert watch.statuses == ["ok", "blocked"]


# --- fail closed


def test_a_mistake_in_the_adapter_denies(watch: Watch, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the adapter cannot tell what the tool is, the body does not run."""

    def broken(self: object, name: str) -> None:
        raise KeyError(name)

    monkeypatch.setattr(_mcp.Catalog, "tool", broken)

    async def story() -> Any:
        async with connect("notes_server.py", notes) as session:
            with Run("r", inputs={"name": "milk.txt"}):
                return await session.call_tool("delete_note", {"name": "milk.txt"})

    result = play(story())
    assert is_error(result)
    assert "the mcp adapter could not read the call (KeyError)" in text(result)
    assert (notes / "milk.txt").exists()


def test_a_result_that_cannot_be_read_reaches_the_caller_and_teaches_nothing(
    watch: Watch, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The body ran; its result is the caller's."""

    def broken(result: object) -> None:
        raise KeyError("content")

    async def story() -> list[bool]:
        async with connect("notes_server.py", notes) as session:
            with Run("r"):
                with monkeypatch.context() as patched:
                    patched.setattr(mcp_client, "read", broken)
                    listed = await session.call_tool("list_notes", {})
                return [
                    is_error(listed),
                    is_error(await session.call_tool("read_note", {"name": "milk.txt"})),
                ]

    assert play(story()) == [False, True]
    assert watch.endings[0] == (None, "the result could not be read: KeyError")


# --- switching it on and off


def test_deactivating_restores_the_original_methods_by_identity() -> None:
    """The class has the very functions that it had, and its scope is no longer called enforced."""
    before = {name: vars(ClientSession)[name] for name in ("call_tool", "list_tools", "initialize")}
    activate("mcp")
    activate("mcp")
    assert vars(ClientSession)["call_tool"] is not before["call_tool"]
    assert mcp_client.SCOPE in registry.enforced_scopes
    deactivate("mcp")
    assert {name: vars(ClientSession)[name] for name in before} == before
    assert all(vars(ClientSession)[name] is function for name, function in before.items())
    assert mcp_client.SCOPE not in registry.enforced_scopes
    deactivate("mcp")


def test_a_wrapper_on_top_of_ours_is_not_torn_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deactivating says so, instead of pretending."""
    import wrapt

    activate("mcp")
    ours = vars(ClientSession)["call_tool"]
    try:
        ClientSession.call_tool = wrapt.FunctionWrapper(ours, lambda wrapped, _, args, kwargs: wrapped(*args, **kwargs))
        activate("mcp")
        with pytest.raises(UsageError, match="wrapped again"):
            deactivate("mcp")
    finally:
        ClientSession.call_tool = ours
        deactivate("mcp")


@pytest.mark.parametrize(
    "version, reason",
    [("1.9.4", r"mcp 1\.9\.4 < 1\.30"), ("3.0.0", r"mcp 3\.0\.0 >= 3\.0"), (None, "not installed")],
)
def test_a_version_that_is_not_supported_raises(
    monkeypatch: pytest.MonkeyPatch, version: str | None, reason: str
) -> None:
    """Asked for explicitly, it is an error with exit code 78, and nothing is wrapped."""

    def installed(name: str) -> str:
        if version is None:
            raise metadata.PackageNotFoundError(name)
        return version

    monkeypatch.setattr(metadata, "version", installed)
    with pytest.raises(NotActive, match=reason) as error:
        activate("mcp")
    assert error.value.exit_code == 78
    assert mcp_client.SCOPE not in registry.enforced_scopes


@pytest.mark.parametrize("order", ["before", "after"])
def test_a_session_that_is_imported_later_is_wrapped_then(order: str) -> None:
    """The post-import hook imports nothing by itself, and also finds what is there already."""
    program = """
import sys
from citespan.instrument import activate_when_imported, deactivate
if sys.argv[1] == "after":
    import mcp.client.session
activate_when_imported("mcp", "raise")
assert sys.argv[1] == "after" or "mcp" not in sys.modules
from mcp import ClientSession
assert vars(ClientSession)["call_tool"].__wrapped__ is not None
deactivate("mcp")
assert not hasattr(vars(ClientSession)["call_tool"], "__wrapped__")
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program, order], check=True)


_TOO_NEW = """
import asyncio, logging, sys
from dataclasses import replace
from citespan.core.decision import ProvenanceDenied
from citespan.instrument import NotActive, _patch, mcp_client
from citespan.guard.registry import registry
logging.basicConfig(format="%(message)s", stream=sys.stdout)
mcp_client.ADAPTER = replace(mcp_client.ADAPTER, before=(1, 0))
_patch.activate_when_imported(mcp_client.ADAPTER, sys.argv[1])
try:
    from mcp import ClientSession
except NotActive as reason:
    print("the import failed:", reason)
else:
    session = object.__new__(ClientSession)
    try:
        answer = asyncio.run(session.call_tool("delete_note", {"name": "x"}))
        print(answer.content[0].text)
    except AttributeError:
        print("the call went out")
"""


@pytest.mark.parametrize(
    "otherwise, said",
    [
        ("raise", ["the import failed: {reason}"]),
        ("report", ["citespan does NOT guard MCP client: {reason}", "the call went out"]),
        ("refuse", ["MCP client cannot be guarded: {reason}"]),
    ],
)
def test_a_version_that_is_not_supported_when_it_is_imported(otherwise: str, said: list[str]) -> None:
    """The import fails, or it is said loudly, or every tool call is refused: as whoever activates it chooses."""
    command = [sys.executable, "-c", _TOO_NEW, otherwise]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    reason = f"mcp {metadata.version('mcp')} >= 1.0: not tested with this citespan"
    for line in said:
        assert line.format(reason=reason) in output
    assert otherwise == "report" or "the call went out" not in output


def test_an_unknown_adapter_is_a_usage_error() -> None:
    """The message lists those that there are."""
    with pytest.raises(UsageError, match=r"there are: .*mcp"):
        activate("crewmate")


def test_a_scope_that_another_adapter_guards_as_well_stays_enforced() -> None:
    """Client and server of one SDK share a tracer: switching one off does not open the other."""
    activate("mcp")
    activate("mcp-server")
    deactivate("mcp")
    assert mcp_client.SCOPE in registry.enforced_scopes
    deactivate("mcp-server")
    assert mcp_client.SCOPE not in registry.enforced_scopes
