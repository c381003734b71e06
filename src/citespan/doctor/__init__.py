"""What is installed, what would be guarded and how, and what is reachable: facts in, findings out."""

from __future__ import annotations

from citespan.doctor import render
from citespan.doctor.examine import examine
from citespan.doctor.findings import Finding, Framework, Health

__all__ = ["Finding", "Framework", "Health", "examine", "render"]
