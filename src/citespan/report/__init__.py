"""The run as one page of HTML: `page` renders it, `citespan report` writes it."""

from citespan.report.gather import MOST
from citespan.report.render import page

__all__ = ["MOST", "page"]
