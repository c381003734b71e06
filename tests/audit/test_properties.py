"""Order, repetition and the number of files do not matter; what citespan itself traces is clean."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.audit.cases import CASES, MORE
from tests.audit.traces import audited

import citespan
from citespan.audit import Auditor
from citespan.core.decision import ProvenanceDenied
from citespan.core.policy import Policy, ToolRule
from citespan.guard.registry import Registry, registry
from citespan.otel.processor import ProvenanceSpanProcessor
from citespan.otel.telemetry import OtelTelemetry
from citespan.policy_file import load
from citespan.traces.dump import write_spans
from citespan.traces.model import SpanRecord
from citespan.traces.reader import read_spans


def _all() -> list[SpanRecord]:
    """Every trace of the tests at once, each with a trace id of its own."""
    cases = [*(case for case in CASES.values()), *(case for case, _ in MORE.values())]
    found = []
    for number, case in enumerate(cases, start=100):
        own = f"{number:032x}"
        for span in case.spans:
            links = tuple(
                link._replace(trace_id=own) if link.trace_id == span.trace_id else link for link in span.links
            )
            found.append(span._replace(trace_id=own, links=links))
    return found


EVERYTHING = _all()
WHOLE = audited(EVERYTHING)


@settings(max_examples=20, deadline=None)
@given(st.permutations(EVERYTHING))
def test_the_order_of_spans_does_not_matter(spans: list[SpanRecord]) -> None:
    """Not one finding changes."""
    assert audited(spans) == WHOLE


@settings(max_examples=20, deadline=None)
@given(st.lists(st.sampled_from(EVERYTHING), max_size=60))
def test_spans_that_come_twice_count_once(again: list[SpanRecord]) -> None:
    """Delivery is at least once; the copy may come by another way, with another resource."""
    assert audited([*EVERYTHING, *again]) == WHOLE


@settings(max_examples=20, deadline=None)
@given(st.integers(0, len(EVERYTHING)))
def test_a_trace_may_be_spread_over_files(cut: int) -> None:
    """Only the places differ."""
    parts = [
        *(span._replace(place=f"a.jsonl:{number}") for number, span in enumerate(EVERYTHING[:cut], start=1)),
        *(span._replace(place=f"b.jsonl:{number}") for number, span in enumerate(EVERYTHING[cut:], start=1)),
    ]
    audit = audited(parts)
    bare = [finding._replace(place="") for finding in WHOLE.findings]
    assert sorted(finding._replace(place="") for finding in audit.findings) == sorted(bare)
    assert audit[1:] == WHOLE[1:]


class TestLibraryTraces:
    """Traces that citespan makes, read back from a file."""

    @pytest.fixture(autouse=True)
    def _untouched(self) -> Iterator[None]:
        before = dict(vars(registry))
        vars(registry).update(vars(Registry()))
        yield
        vars(registry).clear()
        vars(registry).update(before)

    @pytest.fixture
    def spans(self) -> InMemorySpanExporter:
        return InMemorySpanExporter()

    @pytest.fixture
    def provider(self, spans: InMemorySpanExporter) -> Iterator[TracerProvider]:
        made = TracerProvider(shutdown_on_exit=False)
        made.add_span_processor(SimpleSpanProcessor(spans))
        yield made
        made.shutdown()

    def audit(self, path: Path, policy: Policy | None = None) -> dict[str, int]:
        with Auditor(policy) as auditor:
            for span in read_spans(path):
                auditor.add(span)
            return dict(auditor.finish().counts)

    def written(self, spans: InMemorySpanExporter, tmp_path: Path) -> Path:
        path = tmp_path / "trace.jsonl"
        write_spans(list(spans.get_finished_spans()), path)
        return path

    @staticmethod
    def tools(policy: Policy | None = None) -> citespan.TracedTools:
        return citespan.TracedTools(
            {
                "list_files": lambda root: {
                    "files": ["app.py", "README.md"],
                    "count": 412,
                    "by_id": {"x-81": "lib.py"},
                },
                "patch_file": lambda path, comment="", names=(), size=0: {"patched": path},
            },
            policy,
            inputs={"root": "."},
        )

    def test_a_cited_run_is_clean(self, tmp_path: Path) -> None:
        """Also under the policy that judged it, with citations of several kinds."""
        policy = Policy()
        tools = self.tools(policy)
        files = tools.call("list_files", root=".")["files"]
        for path in (files[0], files[1], files[0], "lib.py"):
            tools.call("patch_file", path=path, comment="fix", names=files, size=412)
        tools.dump(tmp_path / "trace.jsonl")
        assert self.audit(tmp_path / "trace.jsonl", policy) == {}

    def test_a_guess_is_blocked_and_nothing_else(self, tmp_path: Path) -> None:
        """And its trace is otherwise in order."""
        tools = self.tools()
        tools.call("list_files", root=".")
        with pytest.raises(ProvenanceDenied):
            tools.call("patch_file", path="prod.env")
        tools.dump(tmp_path / "trace.jsonl")
        assert self.audit(tmp_path / "trace.jsonl") == {"blocked": 1}

    def test_a_guess_in_tag_mode_is_flagged_and_over_a_strict_policy(self, tmp_path: Path) -> None:
        """Which another digest than the recorded one tells apart."""
        tools = self.tools(Policy(mode="tag"))
        tools.call("patch_file", path="prod.env")
        tools.dump(tmp_path / "trace.jsonl")
        assert self.audit(tmp_path / "trace.jsonl", Policy()) == {"flagged": 1, "over-policy": 1, "other-policy": 1}

    def test_a_run_that_is_open_is_incomplete(
        self, spans: InMemorySpanExporter, provider: TracerProvider, tmp_path: Path
    ) -> None:
        """Its span is exported when it ends, and not before."""
        registry.telemetry = OtelTelemetry(provider)

        @citespan.tool
        def look() -> str:
            return "x"

        with citespan.run():
            look()
            path = self.written(spans, tmp_path)
        assert self.audit(path) == {"missing-parent": 1, "unclosed-run": 1}

    def test_a_failed_call_is_no_finding(
        self, spans: InMemorySpanExporter, provider: TracerProvider, tmp_path: Path
    ) -> None:
        """Tools fail; only citing the failure would be one."""
        registry.telemetry = OtelTelemetry(provider)

        @citespan.tool
        def fail() -> str:
            raise OSError("no such file")

        with citespan.run(), pytest.raises(OSError, match="no such file"):
            fail()
        assert self.audit(self.written(spans, tmp_path)) == {}

    def test_spans_of_a_framework_that_the_second_gate_judged(
        self, spans: InMemorySpanExporter, provider: TracerProvider, tmp_path: Path
    ) -> None:
        """Hand-written tool spans: cited ones are clean, and one that is nobody's is unguarded."""
        registry.telemetry = OtelTelemetry(provider)
        provider.add_span_processor(ProvenanceSpanProcessor())
        tracer = provider.get_tracer("my.agent")

        def called(tool: str, arguments: str | None, result: str) -> None:
            own = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool}
            if arguments is not None:
                own["gen_ai.tool.call.arguments"] = arguments
            with tracer.start_as_current_span(f"execute_tool {tool}", attributes=own) as span:
                span.set_attribute("gen_ai.tool.call.result", result)

        with citespan.run():
            called("look", "{}", '{"files": ["app.py"]}')
            called("cut", '{"path": "app.py"}', '"ok"')
            called("mystery", None, '"ok"')
        assert self.audit(self.written(spans, tmp_path)) == {"unguarded": 1}

    def test_a_native_span_inside_a_judged_call_is_no_second_call(
        self, spans: InMemorySpanExporter, provider: TracerProvider, tmp_path: Path
    ) -> None:
        """With the second gate, which marks it, and without."""
        registry.telemetry = OtelTelemetry(provider)
        tracer = provider.get_tracer("my.agent")

        @citespan.tool(name="look")
        def look() -> dict[str, Any]:
            own = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}
            with tracer.start_as_current_span("execute_tool look", attributes=own):
                return {"files": ["app.py"]}

        with citespan.run():
            look()
        provider.add_span_processor(ProvenanceSpanProcessor())
        with citespan.run():
            look()
        assert self.audit(self.written(spans, tmp_path)) == {}

    def test_a_tool_that_runs_an_agent(
        self, spans: InMemorySpanExporter, provider: TracerProvider, tmp_path: Path
    ) -> None:
        """Its own calls are calls; they end before it does, and may be cited before it ends."""
        registry.telemetry = OtelTelemetry(provider)

        @citespan.tool
        def look() -> dict[str, Any]:
            return {"files": ["app.py"]}

        @citespan.tool
        def cut(path: str) -> str:
            return "done"

        @citespan.tool
        def ask() -> str:
            with citespan.run("inner"):
                cut(look()["files"][0])
            return "well"

        with citespan.run("outer"):
            ask()
        assert self.audit(self.written(spans, tmp_path)) == {}

    def test_a_run_without_citespan_is_unguarded_call_by_call(
        self, spans: InMemorySpanExporter, provider: TracerProvider, tmp_path: Path
    ) -> None:
        """By every convention that marks a tool's span."""
        tracer = provider.get_tracer("my.agent")
        marks: list[dict[str, str]] = [
            {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"},
            {"openinference.span.kind": "TOOL", "tool.name": "look"},
            {"traceloop.span.kind": "tool", "traceloop.entity.name": "look"},
            {"mcp.method.name": "tools/call", "gen_ai.tool.name": "look"},
        ]
        with tracer.start_as_current_span("agent", attributes={"gen_ai.operation.name": "invoke_agent"}):
            for mark in marks:
                tracer.start_span("look", attributes=mark).end()
        assert self.audit(self.written(spans, tmp_path)) == {"unguarded": 4}

    def test_a_read_only_tool_in_tag_mode(self, tmp_path: Path) -> None:
        """What its policy flags is flagged; under the same policy it is not told twice."""
        policy = Policy(tools={"list_*": ToolRule(mode="tag")})
        tools = self.tools(policy)
        tools.call("list_files", root="/etc")
        tools.dump(tmp_path / "trace.jsonl")
        assert self.audit(tmp_path / "trace.jsonl", policy) == {"flagged": 1}

    def test_the_demo(self, tmp_path: Path) -> None:
        """A real MCP server: the good run is clean, the other has its three refusals; both under their own policy."""
        pytest.importorskip("mcp_server_git")
        command = [sys.executable, "-m", "citespan", "demo", "--keep", str(tmp_path / "demo")]
        subprocess.run(command, check=True, capture_output=True)
        policy = load(tmp_path / "demo" / "citespan.toml")
        assert self.audit(tmp_path / "demo" / "good.jsonl", policy) == {}
        assert self.audit(tmp_path / "demo" / "bad.jsonl", policy) == {"blocked": 3}


_MEMORY = """
import resource, sys
from citespan.audit import Auditor, store
from tests.audit.cases import clean
store.CACHE_BYTES = 1024 * 1024
with Auditor() as auditor:
    for trace in range(1, int(sys.argv[1]) + 1):
        for span in clean(trace):
            auditor.add(span)
    audit = auditor.finish()
assert (audit.exit_code, audit.spans) == (0, 3 * int(sys.argv[1])), audit
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_does_not_grow_with_the_spans() -> None:
    """Four times as many take no more of it; the page cache is made small, to be full in both."""

    def peak(traces: int) -> int:
        root = Path(__file__).parents[2]
        command = [sys.executable, "-c", _MEMORY, str(traces)]
        return int(subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout)

    small, large = peak(3_000), peak(12_000)
    assert large < 1.15 * small, (small, large)
