"""A file written whole or not at all."""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path

from citespan.errors import UsageError
from citespan.files.texts import plain


def write_whole(path: str, data: bytes | str) -> None:
    """Write a file whole or not at all: what was there stays until all of the new one is on disk.

    A link stays a link and the file keeps its mode. What is no regular file (`/dev/stdout`, a pipe) is written to as
    it is.

    Args:
        path: where to; its folder must be there. data: text is written as UTF-8, lone surrogates as `?`.

    Raises:
        UsageError: it cannot be written; says why.

    Example:
        `write_whole("report.html", page)`
    """
    content = data if isinstance(data, bytes) else data.encode("utf-8", "replace")
    try:
        _write(Path(path), content)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or type(error).__name__}") from error
    except (ValueError, RuntimeError):  # a NUL byte in the name; links in a circle, in Python before 3.13
        raise UsageError(f"{plain(path)}: cannot be written: this names no file") from None


def _write(path: Path, content: bytes) -> None:
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return
    path = path.resolve()
    part = path.with_name(f".{path.name[:200]}.{secrets.token_hex(4)}")
    try:
        with part.open("xb") as file:
            file.write(content)
        if path.exists():
            shutil.copymode(path, part)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
