"""The plugin is loaded by every pytest of an environment: it costs nothing, and leaves nothing behind."""

from __future__ import annotations

import json
import statistics
import time

import pytest
from tests.testing.conftest import Project

from citespan.guard.registry import registry
from citespan.otel.ready import ready

pytest_plugins = ["pytester"]

MARKED = '@pytest.mark.citespan(policy="citespan.toml")\n'
HEAVY = ("opentelemetry", "orjson", "pydantic", "typer", "google")


def test_nothing_is_imported_before_a_test_asks_for_it(project: Project) -> None:
    """No OpenTelemetry, and of citespan nothing but the hooks."""
    (project.folder / "test_plain.py").write_text(
        "import json, sys\n\ndef test_it(): print('LOADED', json.dumps(sorted(sys.modules)))\n"
    )
    done = project.spawn("-s", "test_plain.py")
    line = next(line for line in done.text.splitlines() if "LOADED" in line)
    loaded = json.loads(line.partition("LOADED")[2])
    ours = [name for name in loaded if name.partition(".")[0] == "citespan"]
    assert ours == ["citespan", "citespan.testing", "citespan.testing.plugin"]
    assert [name for name in loaded if name.partition(".")[0] in HEAVY] == []


def test_a_run_without_watched_tests_takes_as_long_as_without_the_plugin(project: Project) -> None:
    """The same 150 tests with and without it, in turns: within half of the time."""
    (project.folder / "test_plain.py").write_text(
        "import pytest\n@pytest.mark.parametrize('number', range(150))\ndef test_it(number): pass\n"
    )

    def seconds(*arguments: str) -> float:
        started = time.perf_counter()
        project.run("-q", "test_plain.py", *arguments)
        return time.perf_counter() - started

    seconds()
    pairs = [(seconds(), seconds("-p", "no:citespan")) for _ in range(3)]
    assert statistics.median(with_it / without for with_it, without in pairs) < 1.5


def test_the_process_is_as_it_was(project: Project) -> None:
    """The registry's own values, by identity, and no tracer provider that was not there."""
    project.tests(
        "from opentelemetry import trace\nfrom citespan.guard.context import current_run\n"
        "def test_it(citespan_run):\n    citespan_run.observe('root', '.')\n    careful()\n"
        "    assert isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)\n"
        "def test_after(): assert current_run() is None\n"
    )
    ready()
    before = dict(vars(registry))
    project.run().assert_outcomes(passed=2)
    assert {name: value is before[name] for name, value in vars(registry).items()} == dict.fromkeys(before, True)


def test_what_the_program_set_up_itself_stays(project: Project) -> None:
    """`configure` in the agent is the program's word: the end of the test does not take it back."""
    project.tests(
        "from citespan.guard.registry import registry\n"
        "def test_it(citespan_run):\n"
        "    citespan.configure(citespan.Policy(max_assumed=7), evidence=False)\n"
        "def test_after(): assert registry.policy.max_assumed == 7\n"
    )
    assert project.spawn("-q").code == 0


def test_the_program_s_own_spans_still_arrive(project: Project) -> None:
    """Its provider is used as it is, before, during and after; the calls of the watched test go elsewhere."""
    project.tests(
        "from opentelemetry import trace\nfrom opentelemetry.sdk.trace import TracerProvider\n"
        "from opentelemetry.sdk.trace.export import SimpleSpanProcessor\n"
        "from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter\n"
        "exporter = InMemorySpanExporter()\nprovider = TracerProvider()\n"
        "provider.add_span_processor(SimpleSpanProcessor(exporter))\ntrace.set_tracer_provider(provider)\n"
        "def names(): return [span.name for span in exporter.get_finished_spans()]\n"
        "def test_it(citespan_run):\n    citespan_run.observe('root', '.')\n"
        "    with trace.get_tracer('mine').start_as_current_span('mine'):\n        careful()\n"
        "    assert names() == ['mine']\n    assert len(citespan_run.spans) == 2\n"
        "    assert trace.get_tracer_provider() is provider\n"
        "def test_after():\n"
        "    with citespan.run(inputs={'root': '.'}):\n        careful()\n"
        "    assert names()[1:] == ['execute_tool list_files', 'execute_tool patch_file', 'invoke_agent']\n"
        "    assert len(provider._active_span_processor._span_processors) == 1\n"
    )
    done = project.spawn("-q")
    assert done.code == 0, done.text


def test_the_program_s_evidence_is_written_still(project: Project) -> None:
    project.tests(
        "from pathlib import Path\ncitespan.configure(evidence='evidence.jsonl')\n"
        "def test_it(citespan_run):\n    citespan_run.observe('root', '.')\n    careful()\n"
        "    assert len(Path('evidence.jsonl').read_text().splitlines()) == 2\n"
    )
    assert project.spawn("-q").code == 0


def test_where_it_is_switched_off_its_marker_is_unknown(project: Project) -> None:
    """With `--strict-markers` nobody takes an unwatched test for a watched one."""
    project.tests("@pytest.mark.citespan\ndef test_it(): pass\n")
    done = project.spawn("-p", "no:citespan")
    assert done.code == pytest.ExitCode.INTERRUPTED
    assert "'citespan' not found in `markers`" in done.text


def test_an_interrupt_goes_through(project: Project) -> None:
    """Whoever stops pytest stops it, whatever the agent did; the registry is as it was."""
    project.tests(MARKED + "def test_stop():\n    guessing()\n    pytest.exit('enough', returncode=9)\n")
    tally = registry.tally
    result = project.run()
    assert result.ret == 9
    assert registry.tally is tally
