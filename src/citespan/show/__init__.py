"""The view of a call: which argument had no source, and what would have given it one.

`view` is one call as plain text; `gather` finds the calls that a person should see first.
"""

from __future__ import annotations

from collections.abc import Iterable

from citespan.calls import Call
from citespan.show.gather import Gathering
from citespan.show.model import Wanted
from citespan.show.text import Accepts, as_text, call_lines, nothing_accepted

__all__ = ["view"]


def view(call: Call, run_calls: Iterable[Call] = (), accepts: Accepts = nothing_accepted) -> str:
    r"""One call in full, as plain text: verdict, violations, arguments with their sources, and what was missing.

    The text has no colours, no control characters and no fixed width; it ends with a line break. It is what
    `citespan show` prints for a call, without what it says about the run and the next command.

    Args:
        call: of any status. run_calls: calls of the same run (others are ignored), this one may be among them: they
            say how long ago a source was, and what other calls cited for the same argument.
        accepts: the fields that a policy names for an argument, for spans that do not say; see `show.policy`.

    Example:
        >>> from citespan.calls import Argument
        >>> path = Argument("path", "assumed", counted=("path",), nearest=("list_files.files.*",))
        >>> print(view(Call("patch_file", status="blocked", arguments=(path,))))
        BLOCKED patch_file  at an unknown time
          the tool's body did not run
        <BLANKLINE>
          ! path  assumed   no source
              missing: nearest in this run: list_files.files.*
        <BLANKLINE>
    """
    gathering = Gathering(Wanted())
    for other in run_calls:
        gathering.add(other)
    return as_text(call_lines(call, gathering.context(call), accepts))
