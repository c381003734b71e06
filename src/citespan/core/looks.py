"""Like its field: whether a leaf looks like what its field holds in this run (design section 2).

Counted lazily, per field, each leaf at most once, and no further than an answer needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from citespan.core import shapes
from citespan.core.leaves import field_step
from citespan.core.places import Node, Place, Shape, field_at, member, values
from citespan.core.shapes import PROSE_LENGTH, SHAPED, count, is_document, is_prose, shape

#: texts of a field whose shapes are counted, evenly spread over it, so that one decision's time has a bound
MAX_SAMPLED: Final = 1024
#: a sample is taken anew when its field has grown by this
GROWTH: Final = 1.25


class Looks:
    """What is known of one field.

    Args:
        texts: how many texts it holds. prose: whether any of them is prose; both of every text.
        surveyed: how many of the field's columns and objects those were counted in.
        sample: the texts whose shapes are counted, `sampled` of them; counts: how many fit each shape asked for.
        upto: `texts` when the sample was taken. taken: the columns and objects that there were then.
    """

    __slots__ = ("counts", "prose", "sample", "sampled", "surveyed", "taken", "texts", "upto")

    def __init__(self) -> None:
        self.texts = 0
        self.prose = False
        self.surveyed = (0, 0)
        self.upto = 0
        self.taken = (0, 0)
        self.sampled = 0
        self.sample: list[Sequence[str]] = []
        self.counts: dict[shapes.Shape, int] = {}


def looks_like_its_field(place: Place) -> bool:
    """Whether the leaf at a place, and every text leaf that it was read out of, looks like its field."""
    node = place.node
    if not _like(node, field_at(node, place.step), place.value):
        return False
    while node.parent is not None:
        above = node.parent
        if node.via == "json":
            holder = member(above, node.step)
            # only the outermost container of a document hangs on a text leaf; inner ones hang on containers
            if type(holder) is str and not _like(above, field_at(above, node.step), holder):
                return False
        node = above
    return True


def _like(node: Node, at: str, value: Any) -> bool:
    place = node.shape
    looks = place.looks.get(at)
    if looks is None:
        looks = place.looks[at] = Looks()
    _survey(looks, place, at)
    if type(value) is not str:
        return not looks.prose
    own = shape(value)
    if looks.prose:
        return own != "json" and is_prose(value)
    if own not in SHAPED and own != "json":
        return True
    _take_sample(looks, place, at)
    alike = looks.counts.get(own)
    if alike is None:
        alike = looks.counts[own] = sum(count(texts, own) for texts in looks.sample)
    others = looks.sampled - 1
    return 2 * (alike - 1) >= others


def _survey(looks: Looks, place: Shape, at: str) -> None:
    """Count the field's texts and look for prose among those that came since."""
    columns, objects = place.columns.get(at, ()), place.objects
    now = (len(columns), len(objects))
    if looks.prose or looks.surveyed == now:
        return
    for texts, longest in _texts(columns[looks.surveyed[0] :], objects[looks.surveyed[1] :], at):
        looks.texts += len(texts)
        if (longest > PROSE_LENGTH or _broken(texts)) and any(
            is_prose(text) and not is_document(text) for text in texts
        ):
            looks.prose = True
            return
    looks.surveyed = now


def _take_sample(looks: Looks, place: Shape, at: str) -> None:
    """All texts of a field, or `MAX_SAMPLED` of them, evenly spread; taken anew when the field has grown."""
    if looks.texts == looks.upto or (looks.upto > MAX_SAMPLED and looks.texts < GROWTH * looks.upto):
        return
    columns, objects = place.columns.get(at, ()), place.objects
    if looks.texts <= MAX_SAMPLED:
        # all are counted: those that came since are added, so that a growing field costs each text once
        fresh = [texts for texts, _ in _texts(columns[looks.taken[0] :], objects[looks.taken[1] :], at)]
        looks.sample += fresh
        looks.sampled += sum(map(len, fresh))
        for wanted in looks.counts:
            looks.counts[wanted] += sum(count(texts, wanted) for texts in fresh)
    else:
        stride = 1 + looks.texts // MAX_SAMPLED
        # where the sample starts differs from process to process, so that nobody can write for it
        first = hash((place.name, at, looks.texts)) % stride
        looks.sample = [texts for texts, _ in _texts(columns[first::stride], objects[first::stride], at)]
        looks.sampled = sum(map(len, looks.sample))
        looks.counts.clear()
    looks.upto, looks.taken = looks.texts, (len(columns), len(objects))


def _broken(texts: Sequence[str]) -> bool:
    joined = "".join(texts)
    return "\n" in joined or "\r" in joined


def _texts(columns: Sequence[Node], objects: Sequence[Node], at: str) -> Iterator[tuple[Sequence[str], int]]:
    """The texts of a field's nodes, and the length of each node's longest; empty ones say nothing and are left out."""
    for node in columns:
        held = values(node)
        try:
            "".join(held)  # the fastest test that they are texts, all of them
            lengths = set(map(len, held))
        except TypeError:
            lengths = {0}
        if 0 in lengths:
            held = [value for value in held if type(value) is str and value]
            lengths = set(map(len, held))
        if held:
            yield held, max(lengths)
    for node in objects:
        if at != "*":
            value = node.part.get(at)
            if type(value) is str and value:
                yield (value,), len(value)
        else:
            held = [
                value for key, value in node.part.items() if type(value) is str and value and field_step(key) == "*"
            ]
            if held:
                yield held, max(map(len, held))
