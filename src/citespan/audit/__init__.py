"""The audit of traces: spans in, findings out. What `citespan audit`, the service and the pytest plugin share.

No I/O but a private temporary database for spans that do not fit into memory. See docs/audit.md.
"""

from citespan.audit.auditor import Auditor
from citespan.audit.formats import FORMATS, render_github, render_json, render_junit, render_sarif, render_text
from citespan.audit.model import Audit, Finding
from citespan.audit.rules import RULES, Rule

__all__ = [
    "FORMATS",
    "RULES",
    "Audit",
    "Auditor",
    "Finding",
    "Rule",
    "render_github",
    "render_json",
    "render_junit",
    "render_sarif",
    "render_text",
]
