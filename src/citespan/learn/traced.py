"""What a trace shows: kinds, sources and projections of arguments. It has no values, and needs none.

A trace file holds calls in any order, so each call is read by itself; the calls of one trace are one run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import orjson

from citespan import semconv
from citespan.calls import Argument, Call, Leaf
from citespan.calls.paths import field, pattern
from citespan.learn.evidence import Explained, Explanation, Fact
from citespan.learn.probe import is_argument_projection, is_text_projection


def is_judged(call: Call) -> bool:
    """Whether citespan judged a call, and it was neither refused nor broken."""
    return call.status in {"ok", "flagged"}


def key(call: Call) -> int:
    """What a call shares with its near-copies: the tool and the digests of its arguments, which are keyed. Hashed."""
    digests = {argument.name: argument.digest for argument in call.arguments}
    data = orjson.dumps([call.tool, digests], option=orjson.OPT_SORT_KEYS)
    return int.from_bytes(hashlib.blake2b(data, digest_size=12).digest(), "big")


def facts(call: Call) -> Iterator[Fact]:
    """One fact for each argument, or for each leaf of an argument that has several; what no schema names says nothing.

    Example:
        `{fact.argument: fact.kind for fact in facts(call)}` is `{"path": "observed", "files.*": "user"}`.
    """
    for argument in call.arguments:
        if argument.name != semconv.UNDECLARED:
            for leaf in argument.leaves:
                yield _fact(call, leaf.path, leaf)
            if not argument.leaves:
                yield _fact(call, argument.name, argument)


def _fact(call: Call, path: str, seen: Leaf | Argument) -> Fact:
    mutating = call.mutating is not False
    fact = Fact(call.tool, pattern(path), mutating, False, None, "other", seen.kind, seen.weak)
    if seen.kind != "observed" or seen.cited is None or not seen.cited.field:
        return fact
    source = field(seen.cited.shown)
    return fact._replace(fields=(source,), explained=_explained(seen.cited.tool, source, seen.projection))


def _explained(tool: str, source: str, projection: str) -> tuple[Explained, ...]:
    if is_text_projection(projection):
        return (Explained(Explanation("text", tool, projection)),)
    if is_argument_projection(projection):
        return (Explained(Explanation("argument", source, projection)),)
    return ()
