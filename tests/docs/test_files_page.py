"""docs/files.md: the bounds on the page are those of the code, and its command reads what it says."""

from __future__ import annotations

from pathlib import Path

from citespan.files import MAX_DOCUMENT
from citespan.traces.binary import MAX_SPAN
from citespan.traces.decode import MAX_DEPTH

PAGE = " ".join((Path(__file__).parents[2] / "docs" / "files.md").read_text(encoding="utf-8").split())


def test_the_bounds_are_those_of_the_code() -> None:
    mib = 1024 * 1024
    assert f"One line, document or message may have {MAX_DOCUMENT // mib} MiB, one span {MAX_SPAN // mib} MiB" in PAGE
    assert f"{MAX_DEPTH} levels inside each other" in PAGE
