"""Two recordings of an agent compared: which calls it made, and what each argument was cited from. No I/O here.

`collect` keeps of each call what is compared, `compare` pairs runs and aligns their calls, and the renderers tell it.
"""

from citespan.diff.collect import Chosen, collect
from citespan.diff.compare import compare
from citespan.diff.model import Change, Diff, Entry, Run, RunDiff, Step, Summary
from citespan.diff.render_json import render_json
from citespan.diff.render_text import Line, render_text

__all__ = [
    "Change",
    "Chosen",
    "Diff",
    "Entry",
    "Line",
    "Run",
    "RunDiff",
    "Step",
    "Summary",
    "collect",
    "compare",
    "render_json",
    "render_text",
]
