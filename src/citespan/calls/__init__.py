"""Tool calls as files tell of them: spans, evidence lines and recorded runs as one kind of value.

What `citespan show`, `diff`, `audit` and `report`, the service and the pytest plugin have in common.
"""

from citespan.calls.from_span import call_of, is_run
from citespan.calls.model import Argument, Call, Cited, Leaf, Link

__all__ = ["Argument", "Call", "Cited", "Leaf", "Link", "call_of", "is_run"]
