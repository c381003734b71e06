"""An agent that lets another process do the work.

Usage: python parent_agent.py FOLDER HOW, see `WAYS`
"""

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
AGENT = str(Path(__file__).with_name("mcp_agent.py"))


def work(folder: str) -> None:
    import mcp_agent

    mcp_agent.main(folder)


def process(method: str, folder: str) -> int:
    child: Any = multiprocessing.get_context(method).Process(target=work, args=(folder,))
    child.start()
    child.join()
    return int(child.exitcode)


def own_environment() -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "XDG_STATE_HOME": os.environ["XDG_STATE_HOME"]}


def after(change: Any, folder: str) -> int:
    change()
    return subprocess.run([sys.executable, AGENT, folder], check=False).returncode


WAYS = {
    "subprocess": lambda folder: subprocess.run([sys.executable, AGENT, folder], check=False).returncode,
    "own environment": lambda folder: (
        subprocess.run([sys.executable, AGENT, folder], check=False, env=own_environment()).returncode
    ),
    "cleared environment": lambda folder: after(lambda: os.environ.pop("CITESPAN_RUN", None), folder),
    "isolated": lambda folder: subprocess.run([sys.executable, "-I", AGENT, folder], check=False).returncode,
    "no site": lambda folder: (
        subprocess.run(
            [sys.executable, "-S", AGENT, folder],
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        ).returncode
    ),
    "shell": lambda folder: (
        subprocess.run(f"'{sys.executable}' '{AGENT}' '{folder}'", shell=True, check=False).returncode
    ),
    "exec": lambda folder: os.execv(sys.executable, [sys.executable, AGENT, folder]),
    "exec in own environment": lambda folder: os.execve(
        sys.executable, [sys.executable, AGENT, folder], own_environment()
    ),
    "exec of no site": lambda folder: os.execve(
        sys.executable,
        [sys.executable, "-S", AGENT, folder],
        {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ),
    "spawned in own environment": lambda folder: os.waitstatus_to_exitcode(
        os.waitpid(os.posix_spawn(sys.executable, [sys.executable, AGENT, folder], own_environment()), 0)[1]
    ),
    "changed policy": lambda folder: after(
        lambda: Path(os.environ["CITESPAN_POLICY"]).write_text('version = 1\n[defaults]\nmode = "off"\n'), folder
    ),
    "spawn": lambda folder: process("spawn", folder),
    "fork": lambda folder: process("fork", folder),
    "forkserver": lambda folder: process("forkserver", folder),
}

if __name__ == "__main__":
    sys.exit(WAYS[sys.argv[2]](sys.argv[1]))
