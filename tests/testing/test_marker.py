"""What a marker may say, and what is said where it is wrong."""

from __future__ import annotations

import pytest
from tests.testing.conftest import Project, text_of

pytest_plugins = ["pytester"]


@pytest.mark.parametrize(
    "arguments, said",
    [
        ("polcy='citespan.toml'", "unknown argument 'polcy'; did you mean 'policy'?"),
        ("colour='red'", "unknown argument 'colour'; there are policy, max_assumed, mode, inputs"),
        ("'citespan.toml'", "takes named arguments only: policy=, max_assumed=, mode=, inputs="),
        ("max_assumed=-1", "max_assumed must be a whole number, 0 or more, not -1"),
        ("max_assumed=True", "max_assumed must be a whole number, 0 or more, not True"),
        ("mode='off'", "mode must be 'enforce' or 'tag', not 'off'"),
        ("inputs=['.']", "inputs must be a dict, not list"),
        ("inputs={'root': object()}", "are no JSON"),
        ("policy=3", "policy must be the path of a file, or a citespan.Policy, not 3"),
        ("policy=''", "policy must be the path of a file"),
        ("policy='none.toml'", "policy 'none.toml' is not there; looked for "),
        ("policy='bad.toml'", "bad.toml:1: version: "),
    ],
)
def test_a_mistake_fails_that_test_by_name_and_without_a_traceback(project: Project, arguments: str, said: str) -> None:
    (project.folder / "bad.toml").write_text("version = 2\n")
    project.tests(f"@pytest.mark.citespan({arguments})\ndef test_it(): pass\ndef test_other(): pass\n")
    result = project.run()
    result.assert_outcomes(errors=1, passed=1)
    text = text_of(result)
    assert "test_agent.py::test_it: @pytest.mark.citespan: " in text
    assert said in text
    assert "Traceback" not in text
    assert "marker.py" not in text


def test_a_missing_policy_names_both_places(project: Project) -> None:
    """The folder of the test, then the root folder."""
    project.tests("@pytest.mark.citespan(policy='none.toml')\ndef test_it(): pass\n", "deep/test_agent.py")
    result = project.run("-p", "no:terminalreporter", "-o", "pythonpath=.")
    assert result.ret == 1
    text = text_of(project.run("-o", "pythonpath=."))
    assert f"{project.folder}/deep/none.toml and {project.folder}/none.toml" in text


def test_a_policy_beside_the_test_comes_before_one_in_the_root_folder(project: Project) -> None:
    project.tests("@pytest.mark.citespan(policy='citespan.toml')\ndef test_it(): guessing()\n", "deep/test_agent.py")
    assert project.run("-o", "pythonpath=.").ret == 1
    (project.folder / "deep" / "citespan.toml").write_text("version = 1\n[tools.patch_file]\nmax_assumed = 1\n")
    result = project.run("-o", "pythonpath=.")
    assert "list_files.root" in text_of(result)
    assert "patch_file.path" not in text_of(result)


def test_markers_of_module_class_and_test_add_up_and_the_nearest_wins(project: Project) -> None:
    project.tests(
        "pytestmark = pytest.mark.citespan(policy='citespan.toml', max_assumed=0)\n"
        "class TestAgent:\n"
        "    @pytest.mark.citespan(max_assumed=1)\n    def test_one(self): careful()\n"
        "    def test_none(self): careful()\n"
    )
    project.run().assert_outcomes(passed=1, failed=1)


def test_without_a_policy_the_program_s_own_holds(project: Project) -> None:
    """The one that `CITESPAN_POLICY` names, else the defaults."""
    project.tests("@pytest.mark.citespan\ndef test_it(): careful()\n")
    assert "list_files.root" in project.spawn("-q").text
    assert project.spawn("-q", CITESPAN_POLICY="citespan.toml").code == 0
    assert "none.toml: this policy was named but cannot be read" in project.spawn(CITESPAN_POLICY="none.toml").text


def test_declared_inputs_are_sources(project: Project) -> None:
    project.tests("@pytest.mark.citespan(inputs={'root': '.'}, max_assumed=0)\ndef test_it(): careful()\n")
    project.run().assert_outcomes(passed=1)


def test_pytest_documents_marker_and_fixture(project: Project) -> None:
    project.tests("def test_it(): pass\n")
    markers = text_of(project.run("--markers"))
    assert "@pytest.mark.citespan(policy=None, max_assumed=None, mode='enforce', inputs=None)" in markers
    fixtures = text_of(project.run("--fixtures"))
    assert "citespan_run -- " in fixtures
    assert "The run of citespan that the test runs in." in fixtures
    assert "--citespan-report" in text_of(project.run("--help"))
