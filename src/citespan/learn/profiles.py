"""How much a finding must be backed before it loosens the policy: three profiles, each a row of one table."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias

ProfileName: TypeAlias = Literal["strict", "balanced", "loose"]


class Profile(NamedTuple):
    """Thresholds of one profile. A number of tasks is one of distinct tasks: near-copies of a task count once.

    Args:
        constants: tasks in which one and the same text must have been seen before it is declared.
        numbers: the same of a small number, where the argument was uncited in `constants` tasks.
        vocabulary: most different values that an argument may get declared.
        unseen: the share of an argument's values that were seen in one task only, above which its vocabulary is
            taken to be open and nothing of it is declared.
        commentary: tasks in which an argument, or one of its name in other tools, held uncited prose.
        by_name: "own": only what the tool itself showed counts; "called": other tools of the recording with an argument
            of this name count too, where the tool was called; "declared": also where it was not. Dates are pooled by
            name for every tool that the recording names, unless "own".
        text: tasks that needed a text projection of a tool's output. prose: the share of lines in that output that may
            read as prose.
        argument: tasks that needed a projection of an argument. derive: tasks that needed a computation.
        said_dates: tasks that needed a date of which the user said the day or the offset and a result the rest.
        days: tasks in which one and the same uncited date must have been seen before it is declared; None: never.
        chance: how often a computation may explain a made-up value beside the recorded one.
        sources: tasks that an argument's citations must span before its fields are closed with `from`, which tightens;
            None: never.
    """

    name: ProfileName
    constants: int
    numbers: int
    vocabulary: int
    unseen: float
    commentary: int
    by_name: Literal["own", "called", "declared"]
    text: int
    prose: float
    argument: int
    derive: int
    said_dates: int
    days: int | None
    chance: float
    sources: int | None


PROFILES: Final[dict[ProfileName, Profile]] = {
    "strict": Profile("strict", 3, 3, 6, 0.2, 3, "own", 3, 0.0, 3, 3, 3, None, 0.05, 6),
    "balanced": Profile("balanced", 2, 1, 12, 0.5, 2, "called", 2, 0.1, 2, 2, 1, 2, 0.1, 12),
    "loose": Profile("loose", 1, 1, 24, 1.0, 1, "declared", 2, 0.1, 1, 1, 1, 2, 0.3, None),
}
