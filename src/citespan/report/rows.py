"""One call as a row of the page's data: JSON with short keys, each text made harmless, each list bounded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import orjson

from citespan.calls import Argument, Call, Cited
from citespan.calls.words import violation
from citespan.files.texts import plain

#: characters of one text; arguments and links of a call; leaves and further sources of an argument; others
MAX_TEXT: Final = 300
MAX_ARGUMENTS: Final = 64
MAX_LINKS: Final = 1024
MAX_LEAVES: Final = 64
MAX_OTHERS: Final = 8
MAX_ITEMS: Final = 32
#: what a run's key may have
_MAX_KEY: Final = 1000
#: nanoseconds since 1970: what is no later is a call's number in its recorded run (`citespan.calls.from_replay`), and
#: with the year 10000 times end
_FIRST: Final = 1_000_000_000_000
_LAST: Final = 253_402_300_800_000_000_000


class Row(NamedTuple):
    """One call, encoded.

    Args:
        run: what the calls of one run have in common. order: sorts them. start, end: nanoseconds since 1970, 0 where
            unknown.
        body: the JSON object that the page's script reads. trouble: what to know of a call that somebody should look
            at, as one line; "" for the others.
    """

    run: str
    order: int
    start: int
    end: int
    body: bytes
    trouble: str


def encode(call: Call) -> Row:
    """Turn a call into what the page holds of it; absent facts take no room.

    Example:
        >>> encode(Call("list_files", status="ok")).body
        b'{"t":"list_files","s":"ok"}'
    """
    violations = [violation(text) for text in call.violations[:MAX_ITEMS]]
    traces = {link.span_id: link.trace_id for link in call.links if link.trace_id != call.trace_id}
    others = _others(call)
    body = _present(
        t=_text(call.name),
        s=call.status,
        ag=_text(call.agent),
        rn=_text(call.run),
        tr=_text(call.trace_id),
        sp=_text(call.span_id),
        pa=_text(call.parent_id),
        m=_text(call.mode),
        p=_text(call.policy),
        b=call.budget if 0 <= call.budget < 2**53 else None,
        st=_text(call.step),
        v=[_text(each) for each in violations],
        u=_texts(call.uncited_tokens),
        e=_text(call.error),
        ev=call.evicted if 0 < call.evicted < 2**53 else None,
        tc=_texts(call.truncated),
        un=_text(call.unrecorded),
        mu=call.mutating,
        sc=_text(call.scope),
        pl=_text(call.place),
        a=[_argument(each, traces, others.get(each.name, [])) for each in call.arguments[:MAX_ARGUMENTS]],
        more=len(call.arguments) - MAX_ARGUMENTS if len(call.arguments) > MAX_ARGUMENTS else None,
    )
    trouble = ""
    if call.troubled:
        trouble = f"{_text(call.name)}: {call.status}" + "".join(f"; {_text(each)}" for each in violations)
    return Row(
        run=(call.run or call.trace_id)[:_MAX_KEY],
        order=call.start,
        start=call.start if _FIRST < call.start < _LAST else 0,
        end=call.end if _FIRST < call.start <= call.end < _LAST else 0,
        body=orjson.dumps(body),
        trouble=trouble,
    )


def _others(call: Call) -> dict[str, list[list[str]]]:
    """By argument, the sources that its links name: tool, "" for the field, span, trace where it is another."""
    found: dict[str, list[list[str]]] = {}
    for link in call.links[:MAX_LINKS]:
        trace = "" if link.trace_id == call.trace_id else _text(link.trace_id)
        source = [_text(link.tool), "", _text(link.span_id), *([trace] if trace else [])]
        for name in link.arguments[:MAX_ARGUMENTS]:
            sources = found.setdefault(name, [])
            if len(sources) < MAX_OTHERS:
                sources.append(source)
    return found


def _argument(argument: Argument, traces: dict[str, str], others: list[list[str]]) -> dict[str, Any]:
    first = "" if argument.cited is None else argument.cited.span_id
    return _present(
        n=_text(argument.name),
        k=argument.kind,
        c=_cited(argument.cited, traces),
        pr=_projection(argument.projection),
        w=argument.weak or None,
        dg=_text(argument.digest),
        pv=_text(argument.preview),
        co=_texts(argument.counted),
        ac=_texts(argument.accepts),
        ne=_texts(argument.nearest),
        al=[source for source in others if source[2] != first],
        lv=[
            _present(
                n=_text(leaf.path),
                k=leaf.kind,
                c=_cited(leaf.cited, traces),
                pr=_projection(leaf.projection),
                w=leaf.weak or None,
                co=leaf.counted or None,
            )
            for leaf in argument.leaves[:MAX_LEAVES]
        ],
        more=len(argument.leaves) - MAX_LEAVES if len(argument.leaves) > MAX_LEAVES else None,
    )


def _cited(cited: Cited | None, traces: dict[str, str]) -> list[str] | None:
    """Tool, field, span and, where it is another one than the call's, trace; without empty ends."""
    if cited is None:
        return None
    parts = [_text(cited.tool), _text(cited.field), _text(cited.span_id), _text(traces.get(cited.span_id, ""))]
    while parts and not parts[-1]:
        parts.pop()
    return parts


def _projection(name: str) -> str:
    return "" if name == "exact" else _text(name)


def _present(**facts: Any) -> dict[str, Any]:
    return {key: value for key, value in facts.items() if value is not None and value not in ("", [])}


def _texts(texts: Iterable[str]) -> list[str]:
    shown = [_text(each) for each in texts]
    return shown if len(shown) <= MAX_ITEMS else [*shown[:MAX_ITEMS], f"and {len(shown) - MAX_ITEMS} more"]


def _text(text: str) -> str:
    return plain(text) if len(text) <= MAX_TEXT else f"{plain(text[:MAX_TEXT])}…"
