"""A watched test fails for what its tools did, whatever its own assertions say."""

from __future__ import annotations

import pytest
from tests.testing.conftest import Project, text_of

pytest_plugins = ["pytester"]

MARKED = '@pytest.mark.citespan(policy="citespan.toml")\n'


def test_an_agent_that_cites_its_sources_passes(project: Project) -> None:
    """The tagged listing is what the policy allows."""
    project.tests(MARKED + "def test_it(): careful()\n")
    project.run().assert_outcomes(passed=1)


def test_a_swallowed_refusal_fails_the_test_and_says_what_was_missing(project: Project) -> None:
    """The field that had no source, and the nearest one that the run has."""
    project.tests(MARKED + "def test_it(): guessing()\n")
    result = project.run()
    result.assert_outcomes(failed=1)
    text = text_of(result)
    assert "citespan: 1 tool call was refused: patch_file.path" in text
    assert "BLOCKED patch_file" in text
    assert "list_files.files.*" in text
    assert "policy: citespan.toml" in text
    assert "prod.env" not in text.replace('patch_file("prod.env"', "")


def test_the_failure_is_no_traceback_and_no_error_of_teardown(project: Project) -> None:
    project.tests(MARKED + "def test_it(): guessing()\n")
    text = text_of(project.run())
    assert "site-packages" not in text
    assert "phases.py" not in text
    assert "ERROR" not in text


def test_an_exception_of_the_test_stays_and_the_view_stands_beside_it(project: Project) -> None:
    project.tests(MARKED + "def test_it():\n    guessing()\n    assert 1 == 2\n")
    result = project.run()
    result.assert_outcomes(failed=1)
    text = text_of(result)
    assert "assert 1 == 2" in text
    assert "citespan: 1 tool call was refused: patch_file.path" in text
    assert text.index("assert 1 == 2") < text.index("citespan: 1 tool call")


def test_the_traceback_of_a_refusal_ends_where_the_tool_was_called(project: Project) -> None:
    project.tests(MARKED + 'def test_it():\n    patch_file("prod.env")\n')
    text = text_of(project.run())
    assert '>       patch_file("prod.env")' in text or 'patch_file("prod.env")' in text
    assert "ProvenanceDenied: patch_file was not run." in text
    assert "wrap.py" not in text


def test_a_test_case_that_fails_itself_shows_both(project: Project) -> None:
    """A TestCase keeps its exceptions from pytest's hooks."""
    project.tests(
        "import unittest\n"
        + MARKED
        + "class TestAgent(unittest.TestCase):\n"
        + "    def test_fine(self): careful()\n"
        + "    def test_guess(self): guessing()\n"
        + "    def test_both(self):\n        guessing()\n        self.assertEqual(1, 2)\n"
    )
    result = project.run()
    result.assert_outcomes(passed=1, failed=2)
    assert text_of(result).count("1 tool call was refused: patch_file.path") >= 2
    assert "AssertionError: 1 != 2" in text_of(result)


def test_a_skip_does_not_hide_a_refusal(project: Project) -> None:
    project.tests(
        MARKED
        + "def test_hidden():\n    guessing()\n    pytest.skip('later')\n"
        + MARKED
        + "def test_skipped():\n    careful()\n    pytest.skip('later')\n"
    )
    project.run().assert_outcomes(failed=1, skipped=1)


def test_an_expected_failure_is_one(project: Project) -> None:
    """`xfail` is told of the refusal like of any other failure, and `raises` looks at what it is."""
    project.tests(
        MARKED
        + "@pytest.mark.xfail(strict=True)\ndef test_known(): guessing()\n"
        + MARKED
        + "@pytest.mark.xfail(strict=True, raises=ValueError)\ndef test_other(): guessing()\n"
    )
    project.run().assert_outcomes(xfailed=1, failed=1)


def test_what_fixtures_do_counts(project: Project) -> None:
    """Before the body it fails the test; after it, it is an error of teardown."""
    project.tests(
        "@pytest.fixture\ndef before(): guessing()\n"
        "@pytest.fixture\ndef after():\n    yield\n    guessing()\n"
        + MARKED
        + "def test_before(before): careful()\n"
        + MARKED
        + "def test_after(after): careful()\n"
    )
    result = project.run()
    result.assert_outcomes(failed=1, passed=1, errors=1)
    assert "ERROR at teardown of test_after" in text_of(result)


def test_a_refusal_in_a_fixture_that_raises_is_an_error_with_the_view(project: Project) -> None:
    project.tests('@pytest.fixture\ndef before(): patch_file("prod.env")\n' + MARKED + "def test_it(before): pass\n")
    result = project.run()
    result.assert_outcomes(errors=2)
    assert "ProvenanceDenied" in text_of(result)
    assert "BLOCKED patch_file" in text_of(result)


def test_a_limit_counts_every_uncited_leaf_also_where_the_policy_only_tags(project: Project) -> None:
    """`list_files(".")` is tagged by the policy: one uncited leaf."""
    project.tests(
        '@pytest.mark.citespan(policy="citespan.toml", max_assumed=1)\ndef test_one(): careful()\n'
        '@pytest.mark.citespan(policy="citespan.toml", max_assumed=0)\ndef test_none(): careful()\n'
        '@pytest.mark.citespan(policy="citespan.toml", max_assumed=1)\n'
        "def test_two():\n    careful()\n    careful()\n"
    )
    result = project.run()
    result.assert_outcomes(passed=1, failed=2)
    assert "1 uncited leaf in calls that ran, max_assumed is 0: list_files.root" in text_of(result)
    assert "2 uncited leaves in calls that ran, max_assumed is 1: list_files.root" in text_of(result)


def test_a_limit_lets_that_many_through_before_calls_are_refused(project: Project) -> None:
    """The default policy has none to spare; the marker gives one, for the whole test."""
    project.tests(
        '@pytest.mark.citespan(max_assumed=1)\ndef test_one(): patch_file("a.py")\n'
        '@pytest.mark.citespan(max_assumed=1)\ndef test_two():\n    patch_file("a.py")\n'
        '    with contextlib.suppress(PermissionError):\n        patch_file("b.py")\n'
    )
    result = project.run()
    result.assert_outcomes(passed=1, failed=1)
    assert "1 tool call was refused: patch_file.path" in text_of(result)


def test_tagging_lets_the_agent_run_to_its_end_and_counts_then(project: Project) -> None:
    project.tests(
        '@pytest.mark.citespan(mode="tag")\ndef test_it(capsys):\n'
        '    assert patch_file("prod.env") == "patched"\n    assert patch_file("b.env") == "patched"\n'
        '@pytest.mark.citespan(mode="tag", max_assumed=2)\ndef test_two():\n'
        '    assert patch_file("prod.env") == "patched"\n    assert patch_file("b.env") == "patched"\n'
    )
    result = project.run()
    result.assert_outcomes(passed=1, failed=1)
    assert "2 uncited leaves in calls that ran, max_assumed is 0: patch_file.path" in text_of(result)
    assert text_of(result).count("FLAGGED patch_file") == 2


def test_a_policy_that_only_tags_is_enforced_in_tests(project: Project) -> None:
    """A team that still records in production has a test that fails already."""
    project.tests(
        '@pytest.mark.citespan(policy=citespan.Policy(mode="tag"))\ndef test_it():\n'
        '    with contextlib.suppress(PermissionError):\n        patch_file("prod.env")\n'
    )
    assert "1 tool call was refused" in text_of(project.run())


def test_a_call_where_no_run_is_open_fails_the_test(project: Project) -> None:
    """A thread without the context has no ledger: even a call without arguments is judged against nothing."""
    project.tests(
        "import threading\n@citespan.tool\ndef ping(): return 'pong'\n"
        "@pytest.mark.citespan\ndef test_it():\n"
        "    thread = threading.Thread(target=ping)\n    thread.start()\n    thread.join()\n"
    )
    result = project.run()
    result.assert_outcomes(failed=1)
    assert "1 tool call was made where no run is open: ping" in text_of(result)


def test_what_an_earlier_test_left_running_is_told_as_that(project: Project) -> None:
    """Its calls reach a run that is over: the test that runs meanwhile hears of them, but is not said to guess."""
    project.tests("""
import concurrent.futures, contextvars, threading

POOL, GO, LEFT = concurrent.futures.ThreadPoolExecutor(), threading.Event(), []

def late():
    GO.wait(20)
    with contextlib.suppress(PermissionError):
        patch_file("prod.env")

@pytest.mark.citespan
def test_leaves_something_running():
    LEFT.append(POOL.submit(contextvars.copy_context().run, late))

@pytest.mark.citespan
def test_meanwhile():
    GO.set()
    LEFT[0].result()
""")
    result = project.run("-p", "no:randomly")
    result.assert_outcomes(passed=1, failed=1)
    text = text_of(result)
    assert "citespan: 1 tool call was made in a run that is over, by what was left running: patch_file.path" in text
    assert "was refused" not in text


def test_a_tool_span_that_nobody_judged_fails_the_test(project: Project) -> None:
    """A framework that is traced, by the program's own provider, but not guarded."""
    project.tests(
        "from opentelemetry import trace\nfrom opentelemetry.sdk.trace import TracerProvider\n"
        "trace.set_tracer_provider(TracerProvider())\n"
        "def framework():\n"
        "    with trace.get_tracer('some.framework').start_as_current_span(\n"
        "        'execute_tool send_mail', attributes={'gen_ai.operation.name': 'execute_tool',\n"
        "        'gen_ai.tool.name': 'send_mail'}):\n        pass\n"
        "@pytest.mark.citespan\ndef test_it(): framework()\n"
        "def test_not_watched(): framework()\n"
    )
    done = project.spawn("-q")
    assert done.code == 1
    assert "1 failed, 1 passed" in done.text
    assert "1 tool call was unguarded: nothing could have stopped the tool's body: send_mail" in done.text


def test_a_span_that_somebody_else_opened_is_judged_and_told_once(project: Project) -> None:
    """Hand-written spans pass the second gate, which the program's provider has for the time of the test."""
    project.tests(
        "import json\nfrom opentelemetry import trace\nfrom opentelemetry.sdk.trace import TracerProvider\n"
        "provider = TracerProvider()\ntrace.set_tracer_provider(provider)\n"
        "def delete(path):\n"
        "    with trace.get_tracer('my.agent').start_as_current_span(\n"
        "        'execute_tool delete_file', attributes={'gen_ai.operation.name': 'execute_tool',\n"
        "        'gen_ai.tool.name': 'delete_file', 'gen_ai.tool.call.arguments': json.dumps({'path': path})}):\n"
        "        pass\n"
        "def test_it(citespan_run):\n"
        "    with pytest.raises(PermissionError):\n        delete('prod.env')\n"
        "    assert [(call.tool, call.status) for call in citespan_run.calls] == [('delete_file', 'blocked')]\n"
        "    assert not any('prod.env' in str(span.attributes) for span in citespan_run.spans)\n"
        "def test_after():\n"
        "    delete('prod.env')\n"
        "    assert not provider._active_span_processor._span_processors\n"
    )
    done = project.spawn("-q")
    assert "1 failed, 1 passed" in done.text
    assert done.text.count("BLOCKED delete_file") == 1


@pytest.mark.parametrize("variables", [{"OTEL_SDK_DISABLED": "true"}, {"OTEL_TRACES_SAMPLER": "always_off"}])
def test_nothing_depends_on_tracing(project: Project, variables: dict[str, str]) -> None:
    """Test suites switch the SDK off: the verdict, the view and the trace file are the same."""
    project.tests(MARKED + "def test_it(): guessing()\n")
    done = project.spawn("--citespan-report", "out", **variables)
    assert done.code == 1
    assert "BLOCKED patch_file" in done.text
    assert "list_files.files.*" in done.text
    (trace,) = (project.folder / "out").glob("*.jsonl")
    assert "execute_tool patch_file" in trace.read_text()


def test_what_an_agent_sets_up_itself_is_watched(project: Project) -> None:
    """`citespan.configure` in the agent, a run of its own, a set of tools: all of them inside the test's run."""
    project.tests(
        "def test_configure(citespan_run):\n"
        "    citespan.configure(citespan.Policy(), evidence=False)\n"
        "    with citespan.run('inner', inputs={'root': '.'}):\n        guessing()\n"
        "def test_tools(citespan_run):\n"
        "    tools = citespan.TracedTools({'patch_file': lambda path: 'patched'})\n"
        "    with contextlib.suppress(PermissionError):\n        tools.call('patch_file', path='prod.env')\n"
        "    assert [call.status for call in citespan_run.calls] == ['blocked']\n"
    )
    done = project.spawn("-q")
    assert "2 failed" in done.text
    assert done.text.count("citespan: 1 tool call was refused: patch_file.path") == 2


@pytest.mark.parametrize("mode", ["tag", "off"])
def test_an_agent_cannot_loosen_its_own_test(project: Project, mode: str) -> None:
    """A run of its own, or a set of tools, with a policy that refuses nothing: what the test's would have refused."""
    project.tests(f"""
POLICY = citespan.Policy(mode="{mode}")

@pytest.mark.citespan(policy="citespan.toml", inputs={{"root": "."}})
def test_run():
    with citespan.run(policy=POLICY):
        guessing()

@pytest.mark.citespan(policy="citespan.toml", max_assumed=1)
def test_allowed():
    with citespan.run(policy=POLICY):
        patch_file("prod.env", comment="")

@pytest.mark.citespan(policy="citespan.toml")
def test_tagged_by_the_test_s_policy_too():
    with citespan.run(policy=POLICY):
        list_files(".")
""")
    result = project.run()
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        ["citespan: 1 tool call was let through by a policy that is not the test's: patch_file.*"]
    )


def test_only_the_first_calls_are_shown_in_full(project: Project) -> None:
    project.tests(
        "@pytest.mark.citespan\ndef test_it():\n    for number in range(12):\n"
        "        with contextlib.suppress(PermissionError):\n            patch_file(f'{number}.env')\n"
    )
    text = text_of(project.run())
    assert "12 tool calls were refused: patch_file.path" in text
    assert text.count("BLOCKED patch_file") == 3
    assert "and 9 more calls" in text


def test_what_cannot_be_shown_hides_nothing(project: Project) -> None:
    """Neither the finding, nor the test's own exception, nor the other tests."""
    project.tests(
        "import citespan.testing.reports as reports\nimport citespan.testing.verdict as verdict\n"
        "@pytest.fixture(autouse=True)\ndef broken(monkeypatch):\n"
        "    for module, name in ((verdict, 'view'), (reports, 'page')):\n"
        "        monkeypatch.setattr(module, name, lambda *_, **__: 1 / 0)\n"
        + MARKED
        + "def test_it():\n    guessing()\n    assert 1 == 2\n"
    )
    result = project.run("--citespan-report", "out")
    result.assert_outcomes(failed=1)
    text = text_of(result)
    assert "assert 1 == 2" in text
    assert "1 tool call was refused: patch_file.path" in text
    assert "patch_file cannot be shown: ZeroDivisionError" in text
    assert "not written: ZeroDivisionError" in text
