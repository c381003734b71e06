"""The examples for CI do what they say: each command of the workflow is run, the hook's entry on good and bad files."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOW = ROOT / "examples" / "ci" / "github.yml"
HOOKS = ROOT / ".pre-commit-hooks.yaml"
CONFIG = ROOT / "examples" / "ci" / "pre-commit-config.yaml"
POLICY = '[tools.patch_file.arguments.path]\nfrom = ["list_files.files.*"]\n'
TESTS = """\
import contextlib
import citespan
import pytest


@citespan.tool(read_only=True)
def list_files(root: str) -> dict:
    return {"files": ["app.py"]}


@citespan.tool
def patch_file(path: str) -> str:
    return "patched"


@pytest.mark.citespan(policy="citespan.toml", inputs={"root": "."})
def test_the_agent_patches_what_it_listed() -> None:
    listing = list_files(".")
    with contextlib.suppress(PermissionError):
        patch_file(NAME)
"""


def steps() -> list[dict[str, Any]]:
    (job,) = yaml.safe_load(WORKFLOW.read_text())["jobs"].values()
    return list(job["steps"])


def lay(folder: Path, name: str) -> None:
    (folder / "citespan.toml").write_text("version = 1\n" + POLICY)
    (folder / "test_agent.py").write_text(TESTS.replace("NAME", name))
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider -p no:schemathesis\n")


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a step as the runner does: bash, which stops at the first error."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command],
        check=False,
        cwd=folder,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=100,
    )


def run(folder: Path) -> dict[str, subprocess.CompletedProcess[str]]:
    """Every command of the workflow but the installation, with what `if` says of it."""
    done: dict[str, subprocess.CompletedProcess[str]] = {}
    failed = False
    for step in steps():
        command = step.get("run")
        if command is None or command.startswith("pip install"):
            continue
        wanted = {"failure()": failed, "${{ !cancelled() }}": True, None: not failed}[step.get("if")]
        if wanted:
            done[command] = shell(command, folder)
            failed = failed or done[command].returncode != 0
    return done


@pytest.mark.parametrize("name, code", [("listing['files'][0]", 0), ("'prod.env'", 1)])
def test_the_workflow_fails_for_a_guess_and_reports_it(tmp_path: Path, name: str, code: int) -> None:
    """The tests decide; what is uploaded is there either way."""
    lay(tmp_path, name)
    done = run(tmp_path)
    codes = {command.partition(" ")[0] + f" {at}": one.returncode for at, (command, one) in enumerate(done.items())}
    assert [one for key, one in codes.items() if key.startswith("pytest")] == [code], done
    assert [one for key, one in codes.items() if not key.startswith("pytest")] == [0] * (2 + code), done
    sarif = json.loads((tmp_path / "citespan.sarif").read_text())
    assert sarif["version"] == "2.1.0"
    results = sarif["runs"][0]["results"]
    assert any(result["level"] == "error" for result in results) is bool(code)
    assert len(list((tmp_path / "reports").glob("*.html"))) == code
    annotations = [one.stdout for command, one in done.items() if "--format github" in command]
    assert len(annotations) == code
    assert all("::error" in text and "patch_file" in text for text in annotations)


def test_an_audit_that_cannot_read_fails_the_workflow(tmp_path: Path) -> None:
    """Only violations and incomplete traces are left to the tests to decide."""
    lay(tmp_path, "'prod.env'")
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "broken.jsonl").write_text("no JSON")
    done = run(tmp_path)
    assert [one.returncode for command, one in done.items() if "sarif" in command] == [1]


def test_a_refusal_that_a_test_expects_is_not_said_in_the_pull_request(tmp_path: Path) -> None:
    """Beside one that fails."""
    lay(tmp_path, "'prod.env'")
    with (tmp_path / "test_agent.py").open("a") as file:
        file.write(
            "\n\n@pytest.mark.citespan(policy='citespan.toml', inputs={'root': '.'})\n"
            "def test_expected(citespan_run):\n    list_files('.')\n"
            "    with citespan_run.expect_blocked('patch_file', 'path'), contextlib.suppress(PermissionError):\n"
            "        patch_file('other.env')\n"
        )
    (told,) = [one.stdout for command, one in run(tmp_path).items() if "--format github" in command]
    assert told.count("::error") == 1
    assert len(list((tmp_path / "reports").glob("*.jsonl"))) == 2


def test_the_workflow_uses_what_it_makes() -> None:
    """Each file that an action uploads is written by a command before it."""
    made = " ".join(step.get("run", "") for step in steps())
    uploads = [step["with"] for step in steps() if "upload" in step.get("uses", "")]
    assert [upload.get("sarif_file", upload.get("path")) for upload in uploads] == ["citespan.sarif", "reports"]
    assert "-o citespan.sarif" in made
    assert "--citespan-report reports" in made
    assert all(re.fullmatch(r"[\w-]+/[\w/-]+@v\d+", step["uses"]) for step in steps() if "uses" in step)


def hook() -> dict[str, Any]:
    (found,) = yaml.safe_load(HOOKS.read_text())
    return dict(found)


@pytest.mark.parametrize(
    "text, code",
    [("version = 1\n", 0), ("version = 2\n", 65), ("version = 1\n[tools.a]\nmood = 1\n", 65), ("= \n", 65)],
)
def test_the_hook_checks_every_file_that_it_is_given(tmp_path: Path, text: str, code: int) -> None:
    """pre-commit appends the names of the changed files to the entry; any code but 0 stops the commit."""
    (tmp_path / "citespan.toml").write_text("version = 1\n" + POLICY)
    (tmp_path / "citespan.tests.toml").write_text(text)
    done = shell(f"{hook()['entry']} citespan.toml citespan.tests.toml", tmp_path)
    assert done.returncode == code
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == ["citespan.toml", "citespan.tests.toml"]


def test_the_hook_is_given_policies_only() -> None:
    pattern = re.compile(hook()["files"])
    named = ["citespan.toml", "agents/citespan.toml", "citespan.strict.toml", "citespan-prod.toml"]
    others = ["pyproject.toml", "my_citespan.toml", "citespan.toml.orig", "citespan/other.toml", "citespan_toml"]
    assert [name for name in named + others if pattern.search(name)] == named


def test_the_hook_has_what_pre_commit_asks_of_one() -> None:
    assert {"id", "name", "entry", "language"} <= hook().keys()
    assert hook()["language"] == "python"
    assert hook().get("pass_filenames", True) is True


def test_the_local_hook_is_the_same_one() -> None:
    """For those who have citespan installed: what differs is where it comes from."""
    ((local,),) = [repo["hooks"] for repo in yaml.safe_load(CONFIG.read_text())["repos"]]
    assert local == {key: value for key, value in hook().items() if key in local} | {"language": "system"}
