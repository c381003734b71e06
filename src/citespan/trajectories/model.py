"""A recorded run as a trajectory file tells it: plain values, whoever recorded them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

_REFUSED: Final = re.compile(r"\s*refused\b", re.IGNORECASE)
_SERVED: Final = re.compile(r"([\w-]+)/([^/]+)", re.ASCII)


class RecordedTool(NamedTuple):
    """What the recording says of a tool.

    Args:
        parameters: JSON Schema of its arguments, None where unknown.
        read_only_hint: its annotation, None where it has none.
    """

    parameters: Mapping[str, Any] | None = None
    read_only_hint: bool | None = None


class RecordedCall(NamedTuple):
    """One tool call with what came of it.

    Args:
        tool: as recorded: a name, or `server/name`.
        result: a JSON value. error: None where the call succeeded.
        turn: index of the user message that was said last before the call.
        step: key of the model response that wrote the call, None where calls are sequential.
    """

    tool: str
    arguments: dict[str, Any]
    result: Any
    error: Any
    turn: int
    step: str | None

    @property
    def name(self) -> str:
        """The tool's name without its server."""
        found = _SERVED.fullmatch(self.tool)
        return self.tool if found is None else found[2]

    @property
    def server(self) -> str | None:
        """The server of `server/name`, None for a local tool.

        Example:
            >>> RecordedCall("github/get_issue", {}, None, None, 0, None).server
            'github'
        """
        found = _SERVED.fullmatch(self.tool)
        return None if found is None else found[1]

    @property
    def failed(self) -> bool:
        """Whether the call failed: it then teaches nothing (design section 2)."""
        return self.error is not None

    @property
    def refused(self) -> bool:
        """Whether the call never ran: a refusal leaves no mark (design section 2, state).

        Recognised by an error that starts with "refused", or by citespan's own words, `<tool> was not run.`
        """
        error = self.error
        if not isinstance(error, str):
            return False
        first, _, _ = error.lstrip().partition("\n")
        return bool(_REFUSED.match(error)) or first.rstrip().endswith(f"{self.name} was not run.")


class Trajectory(NamedTuple):
    """One recorded run.

    Args:
        id: unique in its file. user_messages: the message at index i is said before turn i.
        tools: by name as the calls have it. policy: TOML text, None where the recording has none.
        calls: in order. place: where it was read, `file:line`.
        raw: the whole record, with the keys that citespan ignores.
    """

    id: str
    user_messages: tuple[str, ...]
    tools: Mapping[str, RecordedTool]
    policy: str | None
    calls: tuple[RecordedCall, ...]
    place: str
    raw: Mapping[str, Any]
