"""A progress bar on standard error, where that is a terminal; nothing anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final

import typer

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

#: bytes between two updates
_STEP: Final = 256 * 1024


class Bar:
    """How much of some files has been read.

    Args:
        label: what is done. sources: the files, `-` for standard input.
        shown: False keeps it off, as where results go to the same terminal line by line.

    Example:
        `with Bar("replay", paths) as bar: bar.advance(len(line))`
    """

    def __init__(self, label: str, sources: Sequence[str], *, shown: bool = True) -> None:
        self._label = label
        self._sources = sources
        self._shown = shown and sys.stderr.isatty()
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._waiting = 0

    def __enter__(self) -> Bar:
        if self._shown and not _small(self._sources):
            from rich.console import Console
            from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
            self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._progress.add_task(self._label, total=_size(self._sources))
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def advance(self, size: int) -> None:
        """Count some bytes as read."""
        self._waiting += size
        if self._progress is not None and self._task is not None and self._waiting >= _STEP:
            self._progress.advance(self._task, self._waiting)
            self._waiting = 0

    def say(self, text: str) -> None:
        """Print a line on standard error, above the bar."""
        if self._progress is None:
            typer.echo(text, err=True)
        else:
            self._progress.console.print(text, markup=False, highlight=False, soft_wrap=True)


def _small(sources: Sequence[str]) -> bool:
    """Whether all files together are read before anybody looks."""
    size = _size(sources)
    return size is not None and size < _STEP


def _size(sources: Sequence[str]) -> int | None:
    """Bytes of all files together, None where one of them has no size."""
    total = 0
    for source in sources:
        path = Path(source)
        try:
            if not path.is_file():
                return None
            total += path.stat().st_size
        except OSError:  # the reader says why
            return None
    return total
