"""The driver makes an environment for each package, runs each builder in it, and says what failed and what to do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.accuracy.build import environments
from benchmarks.accuracy.build.common import BuildError
from benchmarks.accuracy.build.sources import BFCL, SOURCES, Source
from benchmarks.accuracy.data import ATTACKS, SUITES

ROOT = Path(__file__).parents[2]
#: its only recording that no package has: runs of a model
NOT_BUILT = {"tau1_gpt4o_airline"}


def run(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", f"benchmarks.accuracy.{module}", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def environment(cache: Path, source: Source) -> Path:
    """An environment that is ready, with this interpreter, which has none of the packages."""
    folder = cache / f"{source.package}-{source.version}-py{sys.version_info.major}.{sys.version_info.minor}"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(sys.executable)
    text = "\n".join(" ".join(step) for step in environments.requirements(source)) + "\n"
    (folder / environments.READY).write_text(text, encoding="utf-8")
    return folder


def test_every_file_that_is_judged_is_built_but_the_one_that_is_in_no_package() -> None:
    """A file that nobody builds, or nobody judges, is a mistake."""
    judged = {suite.file for suite in SUITES} | {attack.file for attack in ATTACKS}
    assert {file for source in SOURCES for file in source.files} == judged - NOT_BUILT


def test_without_recordings_it_says_how_to_make_them(tmp_path: Path) -> None:
    """The command is in the error."""
    done = run("__main__", str(tmp_path))
    assert done.returncode == 78
    assert "python -m benchmarks.accuracy.build FOLDER" in done.stderr


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_a_builder_without_its_package_says_what_it_needs(source: Source, tmp_path: Path) -> None:
    """And writes nothing."""
    done = run(f"build.{source.name}", str(tmp_path))
    assert done.returncode == 78
    assert f"needs {source.package}=={source.version}, found none" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [[], ["a", "b"]], ids=["none", "two"])
def test_a_builder_takes_one_folder(arguments: list[str]) -> None:
    """Anything else is a usage error."""
    assert run("build.bfcl", *arguments).returncode == 64


@pytest.mark.parametrize("arguments", [[], ["here", "--only", "swe"]], ids=["no folder", "no such source"])
def test_wrong_usage_is_64(arguments: list[str]) -> None:
    """With the usage on standard error."""
    done = run("build", *arguments)
    assert done.returncode == 64
    assert "usage: python -m benchmarks.accuracy.build" in done.stderr


def test_a_file_in_the_place_of_the_folder_is_64(tmp_path: Path) -> None:
    """Before anything is installed."""
    (tmp_path / "out").touch()
    done = run("build", str(tmp_path / "out"), "--cache", str(tmp_path / "cache"))
    assert done.returncode == 64
    assert "is not a folder" in done.stderr
    assert not (tmp_path / "cache").exists()


def test_a_source_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    """Each is told of, the exit code is 78, and a file that was there stays."""
    (tmp_path / "cache").touch()  # no environment can be made in a file
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "bfcl_gold.jsonl").write_text("kept", encoding="utf-8")
    done = run("build", str(tmp_path / "out"), "--cache", str(tmp_path / "cache"))
    assert done.returncode == 78
    for source in SOURCES:
        assert f"error: {source.name}: " in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.read_text(encoding="utf-8") for path in (tmp_path / "out").iterdir()] == ["kept"]


def test_only_the_named_source_is_built(tmp_path: Path) -> None:
    """The builder runs in the interpreter of its environment, and its exit code is the driver's."""
    environment(tmp_path, BFCL)
    done = run("build", str(tmp_path / "out"), "--cache", str(tmp_path), "--only", "bfcl")
    assert done.returncode == 78
    assert "bfcl: running its tasks" in done.stderr
    assert "needs bfcl-eval" in done.stderr
    assert "agentdojo" not in done.stderr


def test_an_environment_that_is_ready_is_used_again(tmp_path: Path) -> None:
    """Nothing is said, since nothing is installed."""
    said: list[str] = []
    folder = environment(tmp_path, BFCL)
    assert environments.make(BFCL, tmp_path, said.append) == folder / "bin" / "python"
    assert said == []


def test_an_environment_of_other_packages_is_made_anew(tmp_path: Path) -> None:
    """What cannot be installed is told of, with the command's own words; a half-made environment is not ready."""
    wrong = BFCL._replace(package="no:such name")  # no environment of venv, and no requirement, may be called so
    said: list[str] = []
    folder = environment(tmp_path, wrong)
    (folder / environments.READY).write_text("other\n", encoding="utf-8")
    with pytest.raises(BuildError, match=r"(?s)bfcl: .*no:such name.* failed with \d+; .*\n.+") as caught:
        environments.make(wrong, tmp_path, said.append)
    assert caught.value.code == 78
    assert len(said) == 1
    assert not (folder / environments.READY).exists()


def test_uv_is_used_where_it_is_and_venv_with_pip_where_it_is_not(tmp_path: Path) -> None:
    """Both make the same: the package without its dependencies, then what it needs."""
    python = tmp_path / "bin" / "python"
    with_uv = environments.commands(BFCL, tmp_path, python, "/bin/uv")
    without = environments.commands(BFCL, tmp_path, python, None)
    assert [command[:2] for command in with_uv] == [["/bin/uv", "venv"], ["/bin/uv", "pip"], ["/bin/uv", "pip"]]
    assert without[0][:3] == [sys.executable, "-m", "venv"]
    assert all(command[:3] == [str(python), "-m", "pip"] for command in without[1:])
    for _, package, needs in (with_uv, without):
        assert package[-2:] == ["--no-deps", "bfcl-eval==2026.3.23"]
        assert needs[-1:] == ["mpmath==1.3.0"]


@pytest.mark.parametrize(
    "named, folder",
    [
        ({"XDG_CACHE_HOME": "/var/cache/mine"}, Path("/var/cache/mine/citespan-benchmarks")),
        ({"XDG_CACHE_HOME": "relative"}, Path.home() / ".cache" / "citespan-benchmarks"),
        ({}, Path.home() / ".cache" / "citespan-benchmarks"),
    ],
    ids=["named", "relative", "default"],
)
def test_environments_are_kept_in_the_cache(named: dict[str, str], folder: Path) -> None:
    """By the XDG base directory specification, which ignores a relative path."""
    assert environments.cache_folder(named) == folder
