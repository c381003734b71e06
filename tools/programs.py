"""What the tests need that is no Python package: two programs built from their Go modules, and a checker from npm.

`python tools/programs.py` makes what is missing and prints where it is. All of it is kept outside the checkout, under
a name that says what it was made from, so a second time does nothing. Needs Go and npm, and no Python package.

- `otelcol`: an OpenTelemetry Collector with exactly the components that the configurations name (`tools/collector`).
- `jaeger`: Jaeger v1.76.0, that is Jaeger 2.13, without the pages of its UI (`tools/jaeger`).
- `axe`: axe-core, which looks for accessibility mistakes in the page of `citespan report` (`tools/axe`).
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


#: the folder here whose lock file pins axe-core, and the file of it that is used
AXE: Final = Path("axe"), Path("node_modules", "axe-core", "axe.min.js")


def cache() -> Path:
    """Where all of it is kept: `$XDG_CACHE_HOME/citespan/tools`, by default in `~/.cache`."""
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


def axe_path() -> Path:
    """Where the script of axe-core is, or would be."""
    digest = hashlib.sha256((HERE / AXE[0] / "package-lock.json").read_bytes())
    return cache() / f"axe-{digest.hexdigest()[:16]}" / AXE[1]


def install_axe() -> Path:
    """Install axe-core unless it is there, as the lock file has it; what was there earlier is removed.

    Raises:
        SystemExit: npm is missing, or the installation failed.
    """
    target = axe_path()
    if target.exists():
        return target
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("installing axe-core needs npm: not on the PATH")
    folder = target.parents[2]
    unfinished = folder.with_name(f"{folder.name}.{os.getpid()}")
    unfinished.mkdir(parents=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / AXE[0] / name, unfinished / name)
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
    if subprocess.run(command, cwd=unfinished, check=False).returncode:
        sys.exit("installing axe-core failed")
    unfinished.rename(folder)
    for old in folder.parent.glob("axe-*"):
        if old != folder:
            shutil.rmtree(old)
    return target


if __name__ == "__main__":
    for each in PROGRAMS:
        sys.stdout.write(f"{build(each)}\n")
    sys.stdout.write(f"{install_axe()}\n")
