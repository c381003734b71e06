"""Hypothesis as these tests use it: no deadlines on shared machines, and no database beside the sources."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("core", deadline=None, database=None, max_examples=80)
settings.load_profile("core")
