"""Lines from the end of a file on."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from citespan.show.backward import lines_backward


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from([b"\n", b"a", b"bb", b"\r", b"mark", b"\r\n"])).map(b"".join), st.integers(1, 9))
@example(b"", 1)
@example(b"a", 1)
@example(b"\n", 1)
def test_they_are_the_lines_of_the_file_whatever_the_blocks(tmp_path: Path, data: bytes, block: int) -> None:
    """With their offsets and line breaks, the last one first; a mark only leaves lines out."""
    file = tmp_path / "file"
    file.write_bytes(data)
    expected = []
    with file.open("rb") as opened:
        offset = 0
        for line in opened:
            expected.insert(0, (offset, line))
            offset += len(line)
    assert list(lines_backward(file, block=block)) == expected
    marked = [(offset, line) for offset, line in expected if b"ma" in line or b"bb" in line]
    assert list(lines_backward(file, (b"ma", b"bb"), block)) == marked
