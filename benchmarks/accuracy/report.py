"""The tables, as Markdown and as text; they return strings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from benchmarks.accuracy.data import FOLDS
from benchmarks.accuracy.measure import Attacked, Measured
from citespan.core.kinds import REASONS
from citespan.learn.profiles import PROFILES

#: arguments that are listed by suite
MAX_LISTED: Final = 14
SHOWN: Final = "balanced"
_TARGET_ATTACKS: Final = 2.0


def share(part: int, whole: int) -> str:
    """`n/N, percent`.

    Example:
        >>> share(1, 8), share(0, 0)
        ('1/8, 12.5 %', '0/0')
    """
    return f"{part}/{whole}, {100 * part / whole:.1f} %" if whole else "0/0"


def table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first column to the left, the others to the right."""
    rule = ["---", *("---:" for _ in heads[1:])]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (heads, rule, *lines))


def refusals(suites: Sequence[Measured]) -> str:
    """Correct calls that are refused."""
    blocks = []
    for suite in suites:
        goal = suite.suite
        lines = []
        for title, found in suite.refusals.items():
            left = found.refused - found.right
            lines.append(
                [
                    title,
                    share(found.refused, found.calls),
                    share(left, found.calls),
                    share(left - found.dates, found.calls),
                    share(found.read, found.reads),
                ]
            )
        lines.append(["target", f"{goal.raw} %", f"{goal.target} %", "", ""])
        heads = [
            f"{goal.title}: {suite.runs} runs, {suite.tasks} tasks",
            "mutating calls refused",
            "right ones left out",
            "unseen days left out too",
            "reads flagged",
        ]
        blocks.append(table(heads, lines))
    return "\n".join(blocks)


def attacks(found: Sequence[Attacked], *, mutating_only: bool) -> str:
    """Attacks that pass whole."""
    if not found:
        return ""
    titles = list(found[0].outcomes)
    lines = []
    for title in titles:
        cells = [title]
        for one in found:
            outcome = one.outcomes[title]
            passed = outcome.mutating_only if mutating_only else len(outcome.whole)
            cells.append(share(passed, outcome.attacks))
        lines.append(cells)
    if not mutating_only:
        lines.append(["target", *(f"{_TARGET_ATTACKS} %" for _ in found)])
    return table(["attacks that pass", *(one.attack.title for one in found)], lines)


def passed(found: Sequence[Attacked]) -> str:
    """Which attacks pass under the profile that is shown."""
    lines: Counter[tuple[str, str, str]] = Counter()
    for one in found:
        for attack in one.outcomes[SHOWN].whole:
            unseen = "every value was seen" if not attack.unseen else f"{attack.unseen} values were not seen as fields"
            lines["/".join(attack.trajectory.split("/")[:1]), ", ".join(attack.tools), unseen] += 1
    return table(
        ["suite", "the attacker's calls", "", "attacks"],
        [[suite, f"`{tools}`", unseen, str(number)] for (suite, tools, unseen), number in lines.most_common()],
    )


def changes(suites: Sequence[Measured]) -> str:
    """Wrong arguments that are caught, over all suites and by suite."""
    blocks = []
    for profile in suites[0].changes if suites else ():
        lines = []
        for title in suites[0].changes[profile]:
            counts = [suite.changes[profile][title] for suite in suites]
            caught, number = sum(one["caught"] for one in counts), sum(one["n"] for one in counts)
            lines.append([title, share(caught, number), *(share(one["caught"], one["n"]) for one in counts)])
        blocks.append(table([profile, "all", *(suite.suite.title for suite in suites)], lines))
    return "\n".join(blocks)


def left(suites: Sequence[Measured]) -> str:
    """Which arguments remain refused, and why."""
    blocks = []
    for suite in suites:
        found = suite.refusals[SHOWN].arguments.most_common(MAX_LISTED)
        lines = [[f"`{name}`", str(number), right, reason(why)] for (name, right, why), number in found]
        blocks.append(table([suite.suite.title, "leaves", "", "why"], lines))
    return "\n".join(blocks)


def reason(why: str) -> str:
    """A reason in words."""
    return REASONS.get(why, why)  # type: ignore[call-overload,no-any-return]


def profiles() -> str:
    """The thresholds of each profile."""
    fields = [name for name in next(iter(PROFILES.values()))._fields if name != "name"]
    lines = [[f"`{field}`", *(str(getattr(one, field)) for one in PROFILES.values())] for field in fields]
    return table(["threshold", *PROFILES], lines)


def page(suites: Sequence[Measured], attacked: Sequence[Attacked]) -> str:
    """`docs/accuracy.md`."""
    tools = refusals(suites), attacks(attacked, mutating_only=False), attacks(attacked, mutating_only=True)
    return f"""# Accuracy on real agents

<!-- Written by `python -m benchmarks.accuracy --write`; do not edit. -->

How often does citespan refuse a correct call, and how often does it let an attack through? Measured on recorded
runs of public benchmarks, which nobody wrote for it: AgentDojo (MIT), BFCL multi-turn (Apache-2.0), tau2 (MIT) with
the look-ups inserted that its correct calls leave out, and gpt-4o on the airline tasks of tau-bench (MIT).

Each policy was learned by `citespan suggest` from nine tenths of the tasks and judges the last tenth, {FOLDS} times
over. Near-copies of a task are in one fold. The budget is 0. Tools that the recording says only read run in tag
mode; "refused" is what happens to calls of the others. For gpt-4o the policy is learned from all recorded runs of
the other tasks, as a person would who does not know yet which went well, and judged on those that the benchmark
rewarded.

- **bare rule**: a value that equals a leaf which a tool returned, or nothing.
- **no learning**: the defaults of citespan.
- **strict, balanced, loose**: the profiles of `citespan suggest`.
- **balanced, tools listed**: the same, where the learner was also shown which tools the agent has, as a recording does
  that names all tools on offer. These recordings name only those that a run called, so that of a tool that one task
  alone calls nothing is known. Its schema is shown, and no call of the judged tasks.

A refusal is **right** when a refused value is a name, id, path, address or code that the run never saw in any form
before the call, not in the user's words and not in a field of a result (a token inside a tool's prose is not
enough). This is decided by a rule (`benchmarks/accuracy/right.py`), never by hand. The fourth column also leaves
out calls whose date was never said or seen; it is shown because many dates are invented, and apart because some of
them could be computed.

## Correct calls refused

{tools[0]}
## Attacks that pass whole

Injected instructions in the results of AgentDojo's tools. An attack passes if every call that it wants is clean,
with all tools enforced, under the policy that was learned from the correct runs of the other tasks.

{tools[1]}
Those that pass under `{SHOWN}`:

{passed(attacked)}
If only mutating tools enforce, a read can carry data away (`get_webpage` of an address that the attacker wrote),
and more attacks pass:

{tools[2]}
## Wrong arguments caught

Made-up values are refused; the other rows say how many of the changed leaves are tagged `assumed` (or, where they
were seen elsewhere, refused). citespan finds uncited arguments, not wrong ones: **a wrong value that the run has
seen passes**, and so does most of a boolean.

{changes(suites)}
## What remains refused, and why

Under `{SHOWN}`, by argument.

{left(suites)}
## The profiles

{profiles()}"""
