"""Starts by which a process could lose the guard, or be broken by it, without anybody meaning to."""

from __future__ import annotations

import os
import subprocess
import venv
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.launch.conftest import PYTHON, REFUSED, World
from tests.launch.test_fail_open import site_packages

from citespan.launch.commands import Interpreter, interpreter

ODD = "odd_parent_agent.py"


@pytest.mark.parametrize(
    "way",
    [
        "cleared, spawn",
        "cleared, forkserver",
        "cleared, pool",
        "cleared, execvp",
        "cleared, system",
        "cleared, as bytes",
        "emptied",
    ],
)
def test_an_agent_whose_parent_cleared_its_environment_is_guarded(world: World, way: str) -> None:
    """What a program takes out of its own environment, its children get all the same."""
    done = world.run("--required", "--", PYTHON, *world.agent(ODD, way))
    assert (done.returncode, world.body_ran) == (0, False)
    assert REFUSED in done.stdout


@pytest.mark.parametrize("way", ["cleared, execve", "cleared, posix_spawn", "a link", "a script with -S", "env -i"])
def test_a_child_that_would_lose_the_guard_is_not_started(world: World, way: str) -> None:
    """Also where its name, its first line or its environment hide that it is a Python without the guard."""
    done = world.run("--required", "--", PYTHON, *world.agent(ODD, way))
    assert (done.returncode, world.body_ran) == (1, False)
    assert "citespan.errors.NotGuarded: a Python" in done.stderr


@pytest.mark.parametrize("way", ["true, as bytes", "true, read only", "an open file"])
def test_a_child_that_is_no_python_starts_whatever_its_environment_is(world: World, way: str) -> None:
    done = world.run("--required", "--", PYTHON, *world.agent(ODD, way))
    assert (done.returncode, done.stderr) == (0, "")


def link(world: World) -> list[str]:
    place = world.folder / "agent-runtime"
    place.symlink_to(PYTHON)
    return [str(place), "-S", *world.agent()]


def script(world: World) -> list[str]:
    place = world.folder / "console-script"
    path, folder = world.agent()
    text = f"import runpy, sys\nsys.argv[1:] = [{folder!r}]\nrunpy.run_path({path!r}, run_name='__main__')\n"
    place.write_text(f"#!/usr/bin/env -S {PYTHON} -S\n{text}")
    place.chmod(0o755)
    return [str(place)]


def cleared(world: World) -> list[str]:
    return ["env", "-i", f"XDG_STATE_HOME={world.folder}", PYTHON, *world.agent()]


def elsewhere(world: World) -> list[str]:
    place = world.folder / "venv"
    venv.create(place, with_pip=False, symlinks=True)
    return ["env", f"PATH={place / 'bin'}", "python", *world.agent()]


@pytest.mark.parametrize("command", [link, script, cleared, elsewhere])
def test_a_command_that_hides_its_python_ends_with_78(world: World, command: Callable[[World], list[str]]) -> None:
    """Nothing is started; without `citespan run` the agent runs."""
    words = command(world)
    done = world.run("--required", "--", *words, PYTHONPATH=site_packages())
    assert (done.returncode, world.body_ran) == (78, False)
    assert "the command was not started" in done.stderr
    world.play(*words, PYTHONPATH=site_packages())
    assert world.body_ran


@pytest.mark.parametrize(
    "words, found",
    [
        ("env python -I a.py", Interpreter("python", ("-I",))),
        ("env A=1 -u B python a.py", Interpreter("python", before=("env", "A=1", "-u", "B"))),
        ("env -C/ --unset=B python a.py", Interpreter("python", before=("env", "-C", "/", "--unset=B"))),
        ("env -i python a.py", Interpreter("python", cleared=True)),
        ("env - python a.py", Interpreter("python", cleared=True)),
        ("env --ignore-environment -C / python -S a.py", Interpreter("python", ("-S",), True, ("env", "-C", "/"))),
        ("env -vS python\\ -S a.py", Interpreter("python", ("-S",))),
        ("env -Spython a.py", Interpreter("python")),
        ("env --split-string=python\\ -S a.py", Interpreter("python", ("-S",))),
        ("env make", None),
        ("env", None),
        ("env -S 'python", None),
        ("python3.13t -S a.py", Interpreter("python3.13t", ("-S",))),
    ],
)
def test_a_python_behind_env_is_known(words: str, found: Interpreter | None) -> None:
    """`\\ ` is a space inside a word here."""
    command = [word.replace("\0", " ") for word in words.replace("\\ ", "\0").split(" ")]
    assert interpreter(command) == found


def test_a_command_that_is_no_python_gets_the_open_files(world: World) -> None:
    """A job server's or a supervisor's files reach what stands behind a shell, as without `citespan run`."""
    place = Path(world.folder, "given")
    place.write_text("text")
    file = os.open(place, os.O_RDONLY)
    try:
        done = subprocess.run(
            [PYTHON, "-m", "citespan", "run", "--", "sh", "-c", f"cat /dev/fd/{file}"],
            env=world.environment,
            capture_output=True,
            text=True,
            check=False,
            pass_fds=(file,),
        )
    finally:
        os.close(file)
    assert (done.returncode, done.stdout) == (0, "text")


def test_an_exec_that_failed_leaves_nothing_on_the_path(world: World) -> None:
    """What is put there for a process that takes this one's place must not stop those that this one starts."""
    program = (
        "import os, subprocess\n"
        "try:\n    os.execv('/nowhere', ['nowhere'])\nexcept OSError:\n    pass\n"
        "subprocess.run(['sh', '-c', 'echo \"<$PYTHONPATH>\"'], check=True)\n"
    )
    done = world.run("--required", "--", PYTHON, "-c", program)
    assert (done.returncode, done.stdout) == (0, "<>\n")
