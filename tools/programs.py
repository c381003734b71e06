"""The two programs that are built from their Go modules for the tests of collector-config/.

`python tools/programs.py` builds what is missing and prints where they are. A program is kept outside the checkout,
under a name that says what it was built from, so a second build does nothing. Needs Go, and no Python package.

- `otelcol`: an OpenTelemetry Collector with exactly the components that the configurations name (`tools/collector`).
- `jaeger`: Jaeger v1.76.0, that is Jaeger 2.13, without the pages of its UI (`tools/jaeger`).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

HERE: Final = Path(__file__).parent


class Program(NamedTuple):
    """One program: the module that pins it (a folder here), and the package that is built in it."""

    folder: str
    package: str


PROGRAMS: Final = {
    "otelcol": Program("collector", "."),
    "jaeger": Program("jaeger", "github.com/jaegertracing/jaeger/cmd/jaeger"),
}


def cache() -> Path:
    """Where built programs are kept: `$XDG_CACHE_HOME/citespan/tools`, by default in `~/.cache`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "citespan" / "tools"


def path(name: str) -> Path:
    """Where a program is, or would be: its name ends in a digest of what it is built from."""
    digest = hashlib.sha256()
    for source in sorted((HERE / PROGRAMS[name].folder).glob("*")):
        if source.name in {"go.mod", "go.sum"} or source.suffix == ".go":
            digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return cache() / f"{name}-{digest.hexdigest()[:16]}"


def build(name: str) -> Path:
    """Build a program unless it is there; what it was built from earlier is removed.

    Raises:
        SystemExit: Go is missing, or the build failed.
    """
    target = path(name)
    if target.exists():
        return target
    go = shutil.which("go")
    if go is None:
        sys.exit(
            f"building {name} needs Go (see the `go` line of tools/{PROGRAMS[name].folder}/go.mod): not on the PATH"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_suffix(f".{os.getpid()}")
    # the program depends on nothing but its module: no version control, no path of this checkout's state
    command = [go, "build", "-mod=readonly", "-buildvcs=false", "-ldflags=-s -w", "-o", str(unfinished)]
    extra = ["-p", jobs] if (jobs := os.environ.get("GO_BUILD_JOBS")) else []
    sys.stderr.write(f"building {target}: some minutes the first time\n")
    if subprocess.run(
        [*command, *extra, PROGRAMS[name].package], cwd=HERE / PROGRAMS[name].folder, check=False
    ).returncode:
        sys.exit(f"building {name} failed")
    unfinished.rename(target)
    for old in target.parent.glob(f"{name}-*"):
        if old != target:
            old.unlink()
    return target


if __name__ == "__main__":
    for each in PROGRAMS:
        sys.stdout.write(f"{build(each)}\n")
