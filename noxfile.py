"""The tests in more environments than `make test`: other Pythons, oldest and newest versions, both MCP SDKs.

`make nox` runs all sessions; `.venv-tools/bin/nox -s lowest` runs one.
"""

import re
from pathlib import Path

import nox

PYTHONS = ("3.11", "3.12", "3.13")
INSTRUMENTATION = "tests/instrument"
#: all that the tests use, of which `lowest` and `newest` choose the versions themselves
EVERYTHING = ("-e", ".[demo,serve]", "--group", "test", "--group", "docs")
#: `langchain-oldest` and so on: the pins, from which `make lock` makes the lock file beside them
FRAMEWORKS = sorted(pins.stem for pins in Path("requirements/frameworks").glob("*.in"))

nox.needs_version = ">=2025.5.1"
nox.options.default_venv_backend = "uv"
nox.options.error_on_missing_interpreters = True


def pytest(session: nox.Session, *arguments: str) -> None:
    """Run pytest with the session's own arguments, if any, in place of the default ones."""
    session.run("python", "-m", "pytest", *(session.posargs or arguments))


@nox.session(python=False)
def lint(session: nox.Session) -> None:
    """Format, lint, types and layers: once, in the environment of the Makefile."""
    session.run("make", "lint", external=True)


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """All tests with the locked versions."""
    session.install("--require-hashes", "-r", "requirements/dev.txt")
    session.install("--no-deps", "--no-build-isolation", "-e", ".")
    pytest(session)


@nox.session(python=[PYTHONS[0], PYTHONS[-1]])
def lowest(session: nox.Session) -> None:
    """All tests with the lowest version that pyproject.toml allows of each direct dependency."""
    session.install("--resolution", "lowest-direct", *EVERYTHING)
    pytest(session)


@nox.session(python=PYTHONS[-1])
def newest(session: nox.Session) -> None:
    """All tests with the newest version of everything, whatever the lock says."""
    session.install("--upgrade", *EVERYTHING)
    pytest(session)


@nox.session(python=PYTHONS[0])
@nox.parametrize("mcp", ["1.30", "2.3"])
def mcp(session: nox.Session, mcp: str) -> None:
    """The instrumentation's tests with the oldest and newest supported line of the MCP SDK."""
    session.install("-e", ".[demo]", "--group", "test", f"mcp=={mcp}.*")
    pytest(session, INSTRUMENTATION)


@nox.session(python=PYTHONS[0], tags=["frameworks"])
@nox.parametrize("pins", FRAMEWORKS)
def frameworks(session: nox.Session, pins: str) -> None:
    """A framework's tests with one end of the range that its adapter supports; they check which versions they run."""
    folder = Path("requirements/frameworks")
    name = pins.rpartition("-")[0]
    pinned = re.findall(r"^([\w-]+)(?:\[.*\])?==(\S+)$", (folder / f"{pins}.in").read_text(), re.MULTILINE)
    session.install("--require-hashes", "-r", str(folder / f"{pins}.txt"))
    session.install("--no-deps", "--no-build-isolation", "-e", ".")
    session.env["CITESPAN_FRAMEWORK"] = name
    session.env.update({f"CITESPAN_EXPECT_{one.upper().replace('-', '_')}": version for one, version in pinned})
    measured = ["tests/benchmarks/test_frameworks.py"] if pins.endswith("-newest") else []
    pytest(session, f"{INSTRUMENTATION}/frameworks/{name}", *measured)


@nox.session(python=PYTHONS[0], default=False)
@nox.parametrize("name", [pins.removesuffix("-newest") for pins in FRAMEWORKS if pins.endswith("-newest")])
def bench_frameworks(session: nox.Session, name: str) -> None:
    """What the guard adds to a tool call through a framework, in the newest version that is supported."""
    session.install("--require-hashes", "-r", f"requirements/frameworks/{name}-newest.txt")
    session.install("--no-deps", "--no-build-isolation", "-e", ".")
    session.run("python", "-m", "benchmarks", *session.posargs, name)


@nox.session(python=PYTHONS[0], default=False)
def recordings(session: nox.Session) -> None:
    """Build the accuracy benchmark's recordings from the public packages, and judge them."""
    session.install("-e", ".")
    folder = session.create_tmp()
    session.run("python", "-m", "benchmarks.accuracy.build", folder)
    session.run("python", "-m", "benchmarks.accuracy", folder)
