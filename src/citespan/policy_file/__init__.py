"""The policy file: TOML in, a frozen `citespan.core.policy.Policy` out, or every problem with line and key.

A policy is found by an explicit argument or by the environment variable `CITESPAN_POLICY`, and nowhere else:
the working directory is never searched, because the agent may be able to write there (design section 3).

Importing this package is cheap; pydantic is loaded when the first policy is read.

Example:
    >>> load('version = 1\\n[defaults]\\nmode = "tag"\\n').mode
    'tag'
"""

from __future__ import annotations

from citespan.policy_file.loader import ENVIRONMENT_VARIABLE, MAX_BYTES, find, load, loads

__all__ = ["ENVIRONMENT_VARIABLE", "MAX_BYTES", "find", "load", "loads"]
