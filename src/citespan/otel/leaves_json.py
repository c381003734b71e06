"""`provenance.leaves`: each leaf of the arguments that have several, as JSON that is never cut inside."""

from __future__ import annotations

from collections.abc import Set
from json.encoder import encode_basestring_ascii as quote
from typing import Final

from citespan.core.decision import Tag
from citespan.core.kinds import Derived, FromUser, Observed
from citespan.core.leaves import dotted
from citespan.otel.names import MAX_TEXT, ToolNames

#: more never fit, whatever their paths
MAX_LEAVES: Final = MAX_TEXT // 24


def leaves_json(tags: tuple[Tag, ...], names: ToolNames, several: Set[str]) -> tuple[str, int]:
    """Exported path, kind, source and projection of each leaf, in order; no values.

    Where they do not all fit into `MAX_TEXT` bytes, those that counted against the budget come first.

    Args:
        tags: all tags of the call. names: the tool's names. several: labels of arguments with several leaves.

    Returns:
        The JSON text, ASCII, and how many leaves are missing from it.
    """
    chosen = [
        tag for tag in tags if (keys := names.arguments.get(tag.leaf.path[0])) is not None and keys.label in several
    ]
    text, missing = _fit(chosen)
    if missing:
        text, missing = _fit(sorted(chosen, key=lambda tag: not tag.counted))
    return text, missing


def _fit(tags: list[Tag]) -> tuple[str, int]:
    parts: list[str] = []
    size = 2
    for tag in tags[:MAX_LEAVES]:
        part = _leaf(tag)
        size += len(part) + 1
        if size > MAX_TEXT:
            break
        parts.append(part)
    return f"[{','.join(parts)}]", len(tags) - len(parts)


def _leaf(tag: Tag) -> str:
    provenance = tag.provenance
    text = f'{{"path":{quote(dotted(tag.leaf.exported))},"kind":"{provenance.kind}"'
    if isinstance(provenance, Observed | Derived) and provenance.sources:
        source = provenance.sources[0]
        text += f',"source":{quote(f"{source.tool}.{source.shown}")}'
        if source.projection != "exact":
            text += f',"projection":{quote(source.projection)}'
    elif isinstance(provenance, FromUser):
        text += f',"source":{quote(provenance.origin)}'
    return text + "}"
