"""`TracedTools`: a plain dict of functions, guarded; in a run of its own unless one is current."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import threading
from typing import Any

import pytest
from opentelemetry import context as otel_context
from tests.api.recorded import calls, dumped
from tests.guard.harness import LISTED, SECRET, Spans

import citespan
from citespan.errors import CitespanError, UnknownTool, UsageError
from citespan.guard.context import current_call, current_run
from citespan.guard.registry import registry


class Set:
    def __init__(self, **options: Any) -> None:
        self.ran: list[Any] = []
        self.tools = citespan.TracedTools(
            {"names": lambda: list(LISTED), "patch_file": self._patch, "later": self._later}, **options
        )

    def _patch(self, path: Any) -> str:
        self.ran.append(path)
        return "done"

    async def _later(self, path: Any) -> str:
        await asyncio.sleep(0)
        self.ran.append(path)
        return path


@pytest.fixture
def kit() -> Set:
    return Set()


def test_an_unknown_tool_is_named_and_the_known_ones_are_listed(kit: Set) -> None:
    with pytest.raises(UnknownTool) as raised:
        kit.tools.call("delete_file", path=SECRET)
    assert isinstance(raised.value, LookupError)
    assert isinstance(raised.value, CitespanError)
    assert raised.value.exit_code == 64
    for name in ("delete_file", "later", "names", "patch_file"):
        assert name in str(raised.value)
    assert SECRET not in str(raised.value)
    assert kit.ran == []


def test_a_set_without_tools_says_so() -> None:
    with pytest.raises(UnknownTool, match="none"):
        citespan.TracedTools({}).call("anything")


@pytest.mark.parametrize("impl", [{"a": None}, {"a": "text"}, {"a": 1}, {"": print}, {1: print}, {None: print}])
def test_what_is_no_tool_is_a_mistake_at_once(impl: Any) -> None:
    with pytest.raises(UsageError):
        citespan.TracedTools(impl)


def test_a_tool_may_have_any_parameter_name() -> None:
    def odd(self: str, tool: str, cls: str, name: str) -> Any:
        return (self, tool, cls, name)

    tools = citespan.TracedTools({"odd": odd}, inputs={"value": "given"})
    assert tools.call("odd", self="given", tool="given", cls="given", name="given") == ("given",) * 4
    for name in ("self", "tool", "cls", "name"):
        with pytest.raises(PermissionError):
            tools.call("odd", **{"self": "given", "tool": "given", "cls": "given", "name": "given", name: SECRET})


def test_a_wrong_argument_is_the_bodys_type_error(kit: Set) -> None:
    with pytest.raises(TypeError):
        kit.tools.call("patch_file")
    kit.tools.call("names")
    with pytest.raises(PermissionError):
        kit.tools.call("patch_file", path=LISTED[0], extra=LISTED[0])
    assert kit.ran == []


def test_a_tools_own_exception_is_the_callers() -> None:
    error = ValueError("theirs")

    def fail() -> None:
        raise error

    tools = citespan.TracedTools({"fail": fail})
    with pytest.raises(ValueError, match="theirs") as raised:
        tools.call("fail")
    assert raised.value is error
    assert current_call() is None
    (told,) = calls(tools, "fail")
    assert told["error.type"] == "ValueError"


def test_an_async_tool_is_awaited_by_its_caller(kit: Set) -> None:
    async def main() -> None:
        with kit.tools.run:
            kit.tools.call("names")
            assert await kit.tools.call("later", path=LISTED[0]) == LISTED[0]
            with pytest.raises(PermissionError):
                kit.tools.call("later", path=SECRET)

    asyncio.run(main())
    assert kit.ran == LISTED[:1]


def test_an_async_tools_result_can_be_cited_in_its_own_run(kit: Set) -> None:
    async def listing() -> list[str]:
        return list(LISTED)

    tools = citespan.TracedTools({"listing": listing, "patch_file": kit._patch})
    assert asyncio.run(tools.call("listing")) == LISTED
    tools.call("patch_file", path=LISTED[0])
    assert kit.ran == LISTED[:1]


def test_outside_any_run_it_uses_its_own_and_leaves_nothing_behind(kit: Set) -> None:
    before = otel_context.get_current()
    kit.tools.call("names")
    assert current_run() is None
    assert otel_context.get_current() == before
    kit.tools.call("patch_file", path=LISTED[0])
    assert kit.ran == LISTED[:1]


def test_inside_a_run_it_uses_that_one(kit: Set) -> None:
    with citespan.run(inputs={"path": SECRET}):
        kit.tools.call("names")
        kit.tools.call("patch_file", path=SECRET)
        kit.tools.call("patch_file", path=LISTED[0])
    with pytest.raises(PermissionError):
        kit.tools.call("patch_file", path=SECRET)
    with pytest.raises(PermissionError):
        kit.tools.call("patch_file", path=LISTED[0])
    assert kit.ran == [SECRET, LISTED[0]]


def test_its_own_run_may_be_opened_as_well(kit: Set) -> None:
    with kit.tools.run as run:
        run.user(f"patch {SECRET}")
        kit.tools.call("patch_file", path=SECRET)
        with run.step():
            kit.tools.call("names")
            with pytest.raises(PermissionError):
                kit.tools.call("patch_file", path=LISTED[0])
    kit.tools.call("patch_file", path=LISTED[0])
    assert kit.ran == [SECRET, LISTED[0]]


def test_its_own_run_opened_inside_another_one_forgets_that_one_afterwards(kit: Set) -> None:
    """What one conversation knew is not known in the next, whichever run was lent to it."""
    with citespan.run(inputs={"path": SECRET}), kit.tools.run:
        kit.tools.call("patch_file", path=SECRET)
    with pytest.raises(PermissionError):
        kit.tools.call("patch_file", path=SECRET)
    assert kit.ran == [SECRET]


def test_its_own_run_opened_inside_a_tools_body_is_nested_though_it_was_open_before(kit: Set) -> None:
    @citespan.tool
    def delegate(comment: str) -> str:
        with kit.tools.run as run:
            run.user(f"please patch {comment}")
            with pytest.raises(PermissionError):
                kit.tools.call("patch_file", path=SECRET)
        return LISTED[0]

    kit.tools.call("names")
    with citespan.run():
        delegate(comment=SECRET)
    with pytest.raises(PermissionError):
        kit.tools.call("patch_file", path=SECRET)
    assert kit.ran == []


def test_two_sets_in_one_run_cite_each_other_and_without_one_they_do_not() -> None:
    one, two = Set(), Set()
    one.tools.call("names")
    with pytest.raises(PermissionError):
        two.tools.call("patch_file", path=LISTED[0])
    with citespan.run():
        one.tools.call("names")
        two.tools.call("patch_file", path=LISTED[0])
    assert two.ran == LISTED[:1]


def test_its_policy_goes_before_the_runs() -> None:
    kit = Set(policy=citespan.Policy(mode="tag"))
    with citespan.run(policy=citespan.Policy()):
        kit.tools.call("patch_file", path=SECRET)
    assert kit.ran == [SECRET]


def test_its_calls_are_children_of_one_run_span(kit: Set) -> None:
    kit.tools.call("names")
    kit.tools.call("patch_file", path=LISTED[0])
    spans = {span.name: span for span in dumped(kit.tools)}
    root = spans["invoke_agent"]
    assert root.parent_id == ""
    assert spans["execute_tool names"].parent_id == root.span_id
    assert spans["execute_tool patch_file"].parent_id == root.span_id
    assert len({span.trace_id for span in spans.values()}) == 1


def test_threads_that_call_it_first_open_one_run_span_between_them(kit: Set) -> None:
    opened: list[str] = []
    both = threading.Barrier(2)
    inner = kit.tools.run.telemetry
    assert inner is not None

    class Slow:
        """The second thread comes while the first one opens the span, if it can."""

        def start_run(self, *args: Any) -> Any:
            opened.append("run")
            with contextlib.suppress(threading.BrokenBarrierError):
                both.wait(0.3)
            return inner.start_run(*args)

        start_call = inner.start_call

    kit.tools.run.telemetry = Slow()
    threads = [threading.Thread(target=kit.tools.call, args=("names",)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spans = dumped(kit.tools)
    (root,) = [span for span in spans if span.name == "invoke_agent"]
    assert {span.parent_id for span in spans if span is not root} == {root.span_id}
    assert opened == ["run"]


def test_threads_share_its_own_ledger(kit: Set) -> None:
    thread = threading.Thread(target=kit.tools.call, args=("names",))
    thread.start()
    thread.join()
    kit.tools.call("patch_file", path=LISTED[0])
    assert kit.ran == LISTED[:1]


def test_it_is_a_context_manager_that_closes_its_run(kit: Set) -> None:
    with kit.tools as tools:
        tools.call("names")
        assert not [span for span in kit.tools._spans if span.name == "invoke_agent"]
    assert [span.name for span in kit.tools._spans] == ["execute_tool names", "invoke_agent"]
    kit.tools.call("patch_file", path=LISTED[0])
    assert kit.ran == LISTED[:1]


def test_a_call_inside_a_tools_body_is_judged_like_any_other(kit: Set) -> None:
    def outer() -> str:
        kit.tools.call("names")
        with pytest.raises(PermissionError):
            kit.tools.call("patch_file", path=SECRET)
        return str(kit.tools.call("patch_file", path=LISTED[0]))

    tools = citespan.TracedTools({"outer": outer})
    tools.call("outer")
    assert kit.ran == LISTED[:1]


def test_a_tool_that_is_guarded_already_is_judged_once(kit: Set) -> None:
    """The same call seen by two hooks is one call: one decision, one leaf taken from the budget."""
    guarded = citespan.tool(name="patch_file")(kit._patch)
    policy = citespan.Policy(max_assumed=1, run_max_assumed=1)
    tools = citespan.TracedTools({"patch_file": guarded}, policy=policy)
    assert tools.call("patch_file", path=SECRET) == "done"
    with pytest.raises(PermissionError):
        tools.call("patch_file", path=SECRET)
    assert kit.ran == [SECRET]


def test_the_programs_telemetry_is_not_its_business(kit: Set, spans: Spans) -> None:
    """A set collects for `dump`; the process-wide telemetry stays what it was."""
    assert registry.telemetry is spans.telemetry
    other = Set()
    other.tools.call("names")
    assert registry.telemetry is spans.telemetry


SCRIPT = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
import citespan
{before}
ran = []
tools = citespan.TracedTools({{"names": lambda: ["a.py"], "patch": ran.append}})
{after}
tools.call("names")
try:
    tools.call("patch", object="b.py")
except PermissionError:
    print("refused")
print(len(ran), tools.dump({path!r}), len(exporter.get_finished_spans()))
"""
PROVIDER = """
exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
"""
NONE = "exporter = InMemorySpanExporter()"


@pytest.mark.parametrize(
    "before,after,environment,said",
    [
        pytest.param(NONE, "", {}, "0 3 0", id="no provider"),
        pytest.param(PROVIDER, "", {}, "0 3 3", id="the program's provider"),
        pytest.param("", PROVIDER, {}, "0 3 3", id="a provider that is set later"),
        pytest.param(NONE, "", {"OTEL_SDK_DISABLED": "true"}, "0 0 0", id="the SDK disabled"),
        pytest.param(PROVIDER, "", {"OTEL_SDK_DISABLED": "true"}, "0 0 0", id="the program's SDK disabled"),
        pytest.param(PROVIDER, "", {"OTEL_TRACES_SAMPLER": "always_off"}, "0 0 0", id="sampled out"),
    ],
)
def test_a_whole_program(before: str, after: str, environment: dict[str, str], said: str, tmp_path: Any) -> None:
    script = SCRIPT.format(before=before, after=after, path=str(tmp_path / "trace.jsonl"))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        env={**os.environ, "CITESPAN_DIGEST_KEY": "a key for tests", **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout.split("\n")) == (0, ["refused", said, ""]), done.stderr
