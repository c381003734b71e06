"""`python -m citespan.cli`: the command, where no console script is on the path."""

import sys

from citespan.cli import main

sys.exit(main())
