"""The formats of an audit: one small module each, all of one shape: an audit in, bytes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from citespan.audit.formats.github import render_github
from citespan.audit.formats.json import render_json
from citespan.audit.formats.junit import render_junit
from citespan.audit.formats.sarif import render_sarif
from citespan.audit.formats.text import render_text
from citespan.audit.model import Audit

Format: TypeAlias = Literal["text", "json", "sarif", "junit", "github"]

FORMATS: Final[Mapping[Format, Callable[[Audit], bytes]]] = MappingProxyType(
    {
        "text": render_text,
        "json": render_json,
        "sarif": render_sarif,
        "junit": render_junit,
        "github": render_github,
    }
)

__all__ = ["FORMATS", "Format", "render_github", "render_json", "render_junit", "render_sarif", "render_text"]
