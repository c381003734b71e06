"""`python -m citespan`: the same as the `citespan` command."""

import sys

from citespan.cli import main

sys.exit(main())
