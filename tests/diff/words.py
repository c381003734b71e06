"""Runs in few words: `read:a` is a call of `read` whose argument `path` is observed and has the digest `a`.

`read:a!` has it uncited, `read:a?` weak, `read:a@search.hits.0` cited from another field, `read` has no argument.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from citespan.calls import Argument, Call, Cited
from citespan.diff import Run, RunDiff, Step, collect

_WORD = re.compile(r"(?P<tool>\w+)(?::(?P<value>\w*)(?P<mark>[!?]?)(?:@(?P<source>[\w.]+))?)?")
SIGNS = {"same": "=", "changed": "~", "added": "+", "removed": "-", "moved": ">"}


def call(word: str, at: int = 0, *, run: str = "r", digest_key: str = "k") -> Call:
    """The call that a word stands for; it starts at `at`."""
    found = _WORD.fullmatch(word)
    assert found is not None, word
    tool, value, mark, source = found["tool"], found["value"], found["mark"], found["source"] or "list.files.0"
    arguments: tuple[Argument, ...] = ()
    if value is not None and mark == "!":
        arguments = (Argument("path", "assumed", counted=("path",)),)
    elif value is not None:
        cited = Cited(*source.split(".", 1))
        arguments = (Argument("path", "observed", cited, weak=mark == "?", digest=value),)
    return Call(
        tool=tool,
        status="blocked" if mark == "!" else "ok",
        arguments=arguments,
        assumed_fields=("path",) if mark == "!" else (),
        run=run,
        start=at,
        digest_key=digest_key,
        place=f"f:{at + 1}",
    )


def calls(words: str | Iterable[str], *, run: str = "r", digest_key: str = "k") -> list[Call]:
    """The calls of a run."""
    listed = words.split() if isinstance(words, str) else list(words)
    return [call(word, at, run=run, digest_key=digest_key) for at, word in enumerate(listed)]


def runs(words: str | Iterable[str], *, run: str = "r", digest_key: str = "k") -> tuple[Run, ...]:
    """The same as `collect` gives it."""
    return collect(calls(words, run=run, digest_key=digest_key), "f")


def told(run: RunDiff) -> str:
    """The steps of a comparison in few words: `=read ~write +read(1)`; in brackets which earlier call it repeats."""
    return " ".join(_told(run, step) for step in run.steps)


def _told(run: RunDiff, step: Step) -> str:
    again = "" if step.repeats is None else f"({step.repeats + 1})"
    return SIGNS[step.op] + run.entry(step).tool + again
