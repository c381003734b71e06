"""An agent that starts its child in ways that lose its environment.

Usage: python odd_parent_agent.py FOLDER HOW, see `WAYS`
"""

import multiprocessing
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import MappingProxyType
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
AGENT = str(Path(__file__).with_name("mcp_agent.py"))


def work(folder: str) -> None:
    import mcp_agent

    mcp_agent.main(folder)


def clear() -> None:
    """As a program does that wants a clean environment."""
    kept = {name: os.environ[name] for name in ("PATH", "XDG_STATE_HOME")}
    os.environ.clear()
    os.environ.update(kept)


def cleared(start: Callable[[str], Any]) -> Callable[[str], Any]:
    def way(folder: str) -> Any:
        clear()
        return start(folder)

    return way


def worker(method: str) -> Callable[[str], int]:
    def way(folder: str) -> int:
        child: Any = multiprocessing.get_context(method).Process(target=work, args=(folder,))  # type: ignore[attr-defined]
        child.start()
        child.join()
        return int(child.exitcode)

    return way


def pool(folder: str) -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as workers:
        workers.submit(work, folder).result()


def started(environment: Any, *command: str) -> int:
    return subprocess.run(command or ["true"], check=False, env=environment).returncode


def with_path() -> Mapping[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def link(folder: str) -> int:
    place = Path(folder, "agent-runtime")
    place.symlink_to(sys.executable)
    return started(with_path(), str(place), "-S", AGENT, folder)


def script(first: str) -> Callable[[str], int]:
    def way(folder: str) -> int:
        place = Path(folder, "console-script")
        text = f"import runpy, sys\nsys.argv[1:] = [{folder!r}]\nrunpy.run_path({AGENT!r}, run_name='__main__')\n"
        place.write_text(f"#!/usr/bin/env {first.format(sys.executable)}\n{text}")
        place.chmod(0o755)
        return started(with_path(), str(place))

    return way


def open_file(folder: str) -> None:
    os.execve(os.open("/bin/sh", os.O_RDONLY), ["sh", "-c", "exit 0"], {"PATH": "/bin"})


WAYS: dict[str, Callable[[str], Any]] = {
    "cleared, spawn": cleared(worker("spawn")),
    "cleared, forkserver": cleared(worker("forkserver")),
    "cleared, pool": cleared(pool),
    "cleared, execvp": cleared(lambda folder: os.execvp(sys.executable, [sys.executable, AGENT, folder])),
    "cleared, system": cleared(
        lambda folder: os.waitstatus_to_exitcode(os.system(shlex.join([sys.executable, AGENT, folder])))
    ),
    "cleared, as bytes": cleared(lambda folder: started(os.environb, sys.executable, AGENT, folder)),
    "emptied": lambda folder: started({**os.environ, "CITESPAN_RUN": ""}, sys.executable, AGENT, folder),
    "cleared, execve": cleared(lambda folder: os.execve(sys.executable, [sys.executable, AGENT, folder], os.environ)),
    "cleared, posix_spawn": cleared(
        lambda folder: os.waitpid(os.posix_spawn(sys.executable, [sys.executable, AGENT, folder], os.environ), 0)
    ),
    "a link": link,
    "a script with -S": script("-S {} -S"),
    "env -i": lambda folder: started(None, "env", "-i", sys.executable, AGENT, folder),
    "true, as bytes": lambda folder: started(os.environb),
    "true, read only": lambda folder: started(MappingProxyType({"PATH": os.environ["PATH"]})),
    "an open file": open_file,
}

if __name__ == "__main__":
    sys.exit(WAYS[sys.argv[2]](sys.argv[1]))
