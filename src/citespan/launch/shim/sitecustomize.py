"""Stops a Python in which nothing can guard the program: `citespan run` puts this folder on the path of its command.

A guarded Python takes the folder off its path before this module is looked for. So whoever gets here has no citespan.
It is read by whatever Python that is: it imports nothing of citespan.
"""

import os
import sys

_REASON = (
    "citespan: this Python has no citespan, so nothing can be guarded in it: {}\n"
    "Install citespan there, or put `citespan run` behind what chooses the Python, as in\n"
    "    uv run citespan run ... -- python agent.py\n"
)

try:
    os.write(2, _REASON.format(sys.executable).encode("utf-8", "replace"))
finally:
    os._exit(78)
