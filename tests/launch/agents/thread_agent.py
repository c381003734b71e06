"""A tool runs an agent of its own in a thread, and tells it what to do as a human would.

Usage: python thread_agent.py FOLDER HOW, see `WAYS`
"""

import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import citespan
from citespan.guard.context import current_call

POOL = ThreadPoolExecutor(1)


@citespan.tool
def delete_note(name: str) -> str:
    """Remove one note."""
    (Path(sys.argv[1]) / name).unlink()
    return f"{name} is gone"


def inner_agent() -> None:
    with citespan.run("inner", inputs={"name": "hidden.env"}):
        try:
            print(delete_note("hidden.env"))
        except citespan.ProvenanceDenied as refusal:
            print(refusal)


def in_thread(work: Callable[[], Any]) -> None:
    worker = threading.Thread(target=work)
    worker.start()
    worker.join()


WAYS: dict[str, Callable[[], Any]] = {
    "thread": lambda: in_thread(inner_agent),
    "pool": lambda: POOL.submit(inner_agent).result(),
    "thread in a thread": lambda: in_thread(lambda: in_thread(inner_agent)),
    "worker": lambda: POOL.submit(int).result(),
}


@citespan.tool
def ask() -> str:
    """Let another agent do it."""
    WAYS[sys.argv[2]]()
    return "asked"


if __name__ == "__main__":
    with citespan.run("outer"):
        ask()
    print("a worker has a call:", POOL.submit(current_call).result() is not None)
