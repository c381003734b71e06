"""The fixture `citespan_run`: a real run for one test, and what happened in it."""

from __future__ import annotations

from tests.testing.conftest import Project, text_of

from citespan.calls import call_of
from citespan.traces.reader import read_spans

pytest_plugins = ["pytester"]


def test_it_says_what_is_known_and_shows_what_was_called(project: Project) -> None:
    project.tests(
        "def test_it(citespan_run):\n"
        "    citespan_run.user('please patch setup.py')\n"
        "    citespan_run.observe('root', '.')\n"
        "    careful()\n"
        "    patch_file('setup.py')\n"
        "    assert [call.tool for call in citespan_run.calls] == ['list_files', 'patch_file', 'patch_file']\n"
        "    assert [call.arguments[0].kind for call in citespan_run.calls] == ['user', 'observed', 'user']\n"
        "    assert citespan_run.calls[1].links[0].span_id == citespan_run.calls[0].span_id\n"
        "    assert [span.name for span in citespan_run.spans] == [\n"
        "        'execute_tool list_files', 'execute_tool patch_file', 'execute_tool patch_file']\n"
        "    assert citespan_run.run.policy.mode == 'enforce'\n"
    )
    project.run().assert_outcomes(passed=1)


def test_without_a_marker_a_swallowed_refusal_fails_the_test_too(project: Project) -> None:
    project.tests("def test_it(citespan_run):\n    citespan_run.observe('root', '.')\n    guessing()\n")
    assert "1 tool call was refused: patch_file.path" in text_of(project.run())


def test_it_saves_a_trace_file(project: Project) -> None:
    project.tests(
        "def test_it(citespan_run, tmp_path):\n    citespan_run.observe('root', '.')\n    careful()\n"
        "    assert citespan_run.save('trace.jsonl') == 2\n"
    )
    project.run().assert_outcomes(passed=1)
    calls = [call_of(span) for span in read_spans(project.folder / "trace.jsonl")]
    assert [call.tool for call in calls if call is not None] == ["list_files", "patch_file"]


def test_an_expected_refusal_does_not_fail_the_test(project: Project) -> None:
    """Whether the agent swallows it or not."""
    project.tests(
        "pytestmark = pytest.mark.citespan(policy='citespan.toml')\n"
        "def test_swallowed(citespan_run):\n"
        "    with citespan_run.expect_blocked('patch_file', 'path'):\n        guessing()\n"
        "def test_raised(citespan_run):\n"
        "    with citespan_run.expect_blocked('patch_file'):\n        patch_file('prod.env')\n"
        "def test_raises(citespan_run):\n"
        "    with citespan_run.expect_blocked('patch_file'), pytest.raises(PermissionError):\n"
        "        patch_file('prod.env')\n"
    )
    project.run().assert_outcomes(passed=3)


def test_only_the_expected_refusal_is_excused(project: Project) -> None:
    project.tests(
        "pytestmark = pytest.mark.citespan(policy='citespan.toml')\n"
        "def test_other_tool(citespan_run):\n"
        "    with citespan_run.expect_blocked('delete_file'):\n        guessing()\n"
        "def test_other_argument(citespan_run):\n"
        "    with citespan_run.expect_blocked('patch_file', 'comment'):\n        patch_file('prod.env')\n"
        "def test_later(citespan_run):\n"
        "    with citespan_run.expect_blocked('patch_file', 'path'):\n        guessing()\n"
        "    guessing()\n"
        "def test_nothing_refused(citespan_run):\n"
        "    with citespan_run.expect_blocked('patch_file', 'path'):\n        careful()\n"
    )
    result = project.run()
    result.assert_outcomes(failed=4)
    text = text_of(result)
    assert "citespan: no call was refused for delete_file" in text
    assert "citespan: no call was refused for patch_file.path" in text
    assert text.count("1 tool call was refused: patch_file.path") >= 3


def test_only_a_refusal_for_its_arguments_can_be_expected(project: Project) -> None:
    """Where no run is open everything is refused, and a guard that fails refuses everything too."""
    project.tests("""
import threading
import citespan.guard.examine

def quietly():
    with contextlib.suppress(PermissionError):
        patch_file("prod.env")

def test_thread(citespan_run):
    with citespan_run.expect_blocked("patch_file", "path"):
        other = threading.Thread(target=quietly)
        other.start()
        other.join()

def test_broken(citespan_run, monkeypatch):
    monkeypatch.setattr(citespan.guard.examine, "decide", None)
    with citespan_run.expect_blocked("patch_file"):
        quietly()
""")
    result = project.run()
    result.assert_outcomes(failed=2)
    assert text_of(result).count("no call was refused for patch_file") >= 2


def test_an_async_test_case_runs_inside_its_run(project: Project) -> None:
    """It has a context of its own, made when the tests were collected: for its set-up, its body and its clean-up."""
    project.tests("""
import unittest

@pytest.mark.citespan(policy="citespan.toml", inputs={"root": "."})
class TestAgent(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        careful()
        self.addAsyncCleanup(self.clean)

    async def clean(self):
        careful()

    async def test_careful(self):
        careful()

    async def test_guess(self):
        guessing()
""")
    result = project.run()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["citespan: 1 tool call was refused: patch_file.path"])


def test_fixtures_of_a_wider_scope_keep_their_context(project: Project) -> None:
    """What one put there in a watched test is there in the next, and nothing of the run is left when it goes."""
    project.tests("""
from opentelemetry import context

@pytest.fixture(scope="module")
def wide():
    token = context.attach(context.set_value("mine", 1))
    yield
    context.detach(token)

@pytest.mark.citespan(inputs={"root": "."})
def test_first(wide):
    careful()

def test_unwatched(wide):
    assert dict(context.get_current()) == {"mine": 1}

@pytest.mark.citespan(inputs={"root": "."})
def test_second(wide):
    assert context.get_value("mine") == 1
    careful()
""")
    project.tests(
        """
from opentelemetry import context

def test_after():
    assert dict(context.get_current()) == {}
""",
        "test_later.py",
    )
    project.run("-p", "no:randomly").assert_outcomes(passed=4)


def test_fixtures_of_a_wider_scope_end_in_an_unwatched_test(project: Project) -> None:
    """Nothing of the run is left there either."""
    project.tests("""
from opentelemetry import context

@pytest.fixture(scope="class")
def wide():
    token = context.attach(context.set_value("mine", 1))
    yield
    context.detach(token)

class TestWide:
    @pytest.mark.citespan(inputs={"root": "."})
    def test_first(self, wide):
        careful()

    def test_unwatched(self, wide):
        assert context.get_value("mine") == 1

def test_after():
    assert dict(context.get_current()) == {}
""")
    project.run().assert_outcomes(passed=3)


def test_async_tests_run_inside_their_run(project: Project) -> None:
    """Also where a fixture of the module made the task before the run was opened; and in tasks of the test."""
    project.tests(
        "import asyncio\n"
        "@pytest.fixture(scope='module')\ndef anyio_backend(): return 'asyncio'\n"
        "@pytest.fixture(scope='module')\nasync def server(anyio_backend):\n    yield 'up'\n"
        "async def test_first(server, citespan_run):\n"
        "    citespan_run.observe('root', '.')\n    careful()\n    assert len(citespan_run.calls) == 2\n"
        "class TestAgent:\n"
        "    @pytest.mark.citespan(policy='citespan.toml')\n"
        "    async def test_tasks(self, server):\n"
        "        await asyncio.gather(asyncio.to_thread(careful), asyncio.create_task(asyncio.to_thread(careful)))\n"
        "    @pytest.mark.citespan(policy='citespan.toml')\n"
        "    async def test_guess(self, server): guessing()\n"
    )
    result = project.run()
    result.assert_outcomes(passed=2, failed=1)
    assert "1 tool call was refused: patch_file.path" in text_of(result)


def test_tests_share_nothing(project: Project) -> None:
    """What one test observed is no source in the next, and kept conversations of frameworks begin anew."""
    project.tests(
        "pytestmark = pytest.mark.citespan(policy='citespan.toml')\n"
        "def test_first(): careful()\n"
        "def test_second(citespan_run):\n"
        "    with citespan_run.expect_blocked('patch_file', 'path'):\n        patch_file('src/app.py')\n"
        "    assert [call.tool for call in citespan_run.calls] == ['patch_file']\n"
    )
    project.run().assert_outcomes(passed=2)


def test_fixtures_of_the_test_are_inside_the_run(project: Project) -> None:
    project.tests(
        "@pytest.fixture\ndef listing(citespan_run):\n"
        "    citespan_run.observe('root', '.')\n    yield list_files('.')\n    patch_file('README.md')\n"
        "def test_it(listing): patch_file(listing['files'][1])\n"
    )
    project.run().assert_outcomes(passed=1)


def test_a_late_request_says_what_to_do(project: Project) -> None:
    project.tests("def test_it(request): request.getfixturevalue('citespan_run')\n")
    assert "citespan_run must be an argument of the test or of its fixtures" in text_of(project.run())


def test_more_calls_than_are_kept_fail_the_test(project: Project) -> None:
    """What was not looked at does not pass."""
    project.tests(
        "import citespan.testing.journal as journal\n"
        "def test_it(citespan_run, monkeypatch):\n    monkeypatch.setattr(journal, 'MOST', 3)\n"
        "    citespan_run.observe('root', '.')\n    for _ in range(5): list_files('.')\n"
    )
    assert "not all were looked at" in text_of(project.run())


def test_sets_of_tools_and_runs_of_the_agent_tell_their_spans_there(project: Project) -> None:
    """`TracedTools` keeps them for its own `dump` too; an agent's `configure` does not take them away."""
    project.tests(
        "def test_tools(citespan_run, tmp_path):\n"
        "    citespan_run.observe('root', '.')\n"
        "    with citespan.TracedTools({'names': lambda root: ['a.py'], 'patch': lambda path: 1}) as tools:\n"
        "        tools.call('patch', path=tools.call('names', root='.')[0])\n"
        "        first, second = citespan_run.calls\n"
        "        assert second.links[0].span_id == first.span_id\n"
        "        assert citespan_run.save(tmp_path / 'mine') == tools.dump(tmp_path / 'its') == 2\n"
        "def test_runs(citespan_run):\n"
        "    citespan.configure(evidence=False)\n"
        "    with citespan.run('inner', inputs={'root': '.'}):\n        careful()\n"
        "    assert len(citespan_run.spans) == 2\n"
    )
    assert project.spawn("-q").code == 0
