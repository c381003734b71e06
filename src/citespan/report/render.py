"""From calls to the page: one HTML text with its data, style and script in it, and nothing fetched from anywhere."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Final

import orjson

from citespan.calls import Call
from citespan.files.texts import plain
from citespan.report.gather import Gathered, gather

#: in the order in which they are joined to the one script
SCRIPTS: Final = ("base.js", "model.js", "rows.js", "grid.js", "arrows.js", "detail.js", "main.js")
_MAX_TITLE: Final = 200
#: lines of the list for readers without JavaScript
_MAX_LINES: Final = 200
_HOLE: Final = re.compile(r"\{\{(\w+)\}\}")
#: what could end the data's element, or start another, or a comment (HTML standard, "restrictions for contents of
#: script elements"); and the two line separators of JavaScript
_UNSAFE: Final = str.maketrans({character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"})


def page(calls: Iterable[Call], *, title: str = "citespan report") -> str:
    """Render calls as one self-contained HTML page.

    Args:
        calls: of one or several runs, in any order; the newest `MOST` of them, the last in this order, are shown, and
            the page says how many were left out.
        title: the page's title; its first 200 characters.

    Example:
        >>> page([]).startswith("<!doctype html>")
        True
    """
    shown = gather(calls)
    title = plain(title[:_MAX_TITLE])
    style, script = _asset("page.css"), f"(() => {{\n{''.join(map(_asset, SCRIPTS))}}})();"
    parts = {
        "policy": f"default-src 'none'; style-src {_source(style)}; script-src {_source(script)}; "
        "base-uri 'none'; form-action 'none'",
        "title": html.escape(title),
        "style": style,
        "script": script,
        "data": _data(shown, title),
        "noscript": _lines(shown),
    }
    return _filled(_asset("page.html"), parts)


def _filled(template: str, parts: Mapping[str, str]) -> str:
    """Fill all holes in one pass: what is filled in is not looked at again."""
    return _HOLE.sub(lambda hole: parts[hole[1]], template)


@cache
def _asset(name: str) -> str:
    return (resources.files(__package__) / "static" / name).read_text(encoding="utf-8").replace("\r\n", "\n")


def _source(text: str) -> str:
    """The one inline text that the Content Security Policy lets in."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _data(shown: Gathered, title: str) -> str:
    """The page's data: a call is `[offset, duration, facts]`, times in microseconds, null where unknown."""
    runs = []
    for run in shown.runs:
        calls = []
        for row in run.rows:
            offset = b"%d" % ((row.start - run.start) // 1000) if row.start else b"null"
            duration = b"%d" % ((row.end - row.start) // 1000) if row.end else b"null"
            calls.append(b"[%b,%b,%b]" % (offset, duration, row.body))
        runs.append(b'{"start":%d,"calls":[%b]}' % (run.start // 1_000_000, b",".join(calls)))
    head = {
        "title": title,
        "total": shown.calls,
        "left_out": shown.left_out,
        "left_out_troubled": shown.left_out_troubled,
    }
    data = orjson.dumps(head)[:-1] + b',"runs":[' + b",".join(runs) + b"]}"
    return data.decode().translate(_UNSAFE)


def _lines(shown: Gathered) -> str:
    """What somebody should look at, as list items, for readers without JavaScript."""
    troubles = [row.trouble for run in shown.runs for row in run.rows if row.trouble]
    calls = shown.calls - shown.left_out
    said = f"{calls} of {shown.calls} tool calls are on this page, {len(troubles)} of them to look at."
    items = "".join(f"<li>{html.escape(trouble)}</li>" for trouble in troubles[-_MAX_LINES:])
    more = f"<p>The last {_MAX_LINES} of {len(troubles)}:</p>" if len(troubles) > _MAX_LINES else ""
    return f"<p>{said}</p>{more}<ul>{items}</ul>" if items else f"<p>{said}</p>"
