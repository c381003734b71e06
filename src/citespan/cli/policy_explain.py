"""Which rule of a policy decides about an argument: the matching tables, and each merged key with its origin."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Any, Final, NamedTuple

from citespan.calls.paths import head, steps
from citespan.core.kinds import KINDS
from citespan.core.leaves import Leaf, Path, wildcard
from citespan.core.policy import ArgumentRule, Policy, ToolRule
from citespan.core.resolve import Resolved, digest, resolve
from citespan.errors import PolicyError, Problem
from citespan.policy_file.lines import KeyPath
from citespan.policy_file.problems import dotted_key

#: keys of the file in the order in which they are shown, each with its name in the core
TOOL_KEYS: Final = ("mode", "on_violation", "max_assumed", "read_only")
EITHER_KEYS: Final = ("accept", "weak")
ARGUMENT_KEYS: Final = {
    "from": "sources",
    "normalize": "normalize",
    "projections": "projections",
    "values": "values",
    "derive": "derive",
    "propose_against": "propose_against",
}
BUILT_IN: Final = "built in"


class Origin(NamedTuple):
    """Where a value comes from: a table as its header names it, or `BUILT_IN`; and the line of the key, if any."""

    table: str
    line: int | None = None

    def render(self) -> str:
        """`[defaults], line 3`."""
        if self.table == BUILT_IN:
            return BUILT_IN
        return f"[{self.table}]" + ("" if self.line is None else f", line {self.line}")


class Setting(NamedTuple):
    """One key of the merged rule; None means: nobody says it."""

    key: str
    value: Any
    origins: tuple[Origin, ...]


class Match(NamedTuple):
    """A table that matches the tool: its glob, how many literal characters that has, whether it names the argument."""

    glob: str
    literal: int
    origin: Origin
    names: bool


class Explanation(NamedTuple):
    """What a policy says of one argument of one tool.

    Args:
        matches: least literal first; a later one wins. decides: the table that settles it.
        settings: the merged keys. why: the rule in sentences.
    """

    source: str
    digest: str
    tool: str
    argument: str
    matches: tuple[Match, ...]
    decides: Origin
    settings: tuple[Setting, ...]
    why: tuple[str, ...]


def explain(policy: Policy, lines: Mapping[KeyPath, int], tool: str, argument: str, source: str) -> Explanation:
    """Explain an argument of a tool.

    Args:
        lines: of the policy's keys, from its own table on. tool: its name, or `server/tool`.
        argument: `path`, or a leaf inside it: `files.0.path`, `files.*.path`.
        source: the file's name.

    Raises:
        PolicyError: two tables tie for this tool.
    """
    server, _, name = tool.rpartition("/")
    matching = _matching(policy, name, server or None)
    try:
        rules = resolve(policy, name, server or None)
    except PolicyError as error:
        raise PolicyError(source, _ties(matching, lines, tool)) from error
    path = _path(argument)
    rule = rules.argument(Leaf(path, None, "value", path))
    entry = _entry(path, rules)
    finder = _Finder(policy, lines, matching, name, entry)
    settings = finder.settings(rules, rule, str(path[0]))
    return Explanation(
        source,
        digest(policy),
        tool,
        argument,
        finder.matches(),
        finder.decides(rules, str(path[0])),
        settings,
        _why(policy, rules, rule, str(path[0])),
    )


def _path(argument: str) -> Path:
    """The steps of a dotted path, of which the first is a name, whatever it looks like."""
    return head(argument), *steps(argument)[1:]


def _entry(path: Path, rules: Resolved) -> str:
    """The key under `arguments` whose rule holds, as `Resolved.argument` finds it: the leaf's own, else the whole's."""
    own = wildcard(path)
    return own if len(path) > 1 and own in rules.arguments else str(path[0])


def _matching(policy: Policy, name: str, server: str | None) -> list[tuple[str, ToolRule]]:
    """The tables that `resolve` merges, in its order."""
    found = [
        (glob, rule)
        for glob, rule in policy.tools.items()
        if fnmatchcase(f"{server}/{name}" if "/" in glob else name, glob)
    ]
    return sorted(found, key=lambda entry: literal(entry[0]))


def _ties(matching: list[tuple[str, ToolRule]], lines: Mapping[KeyPath, int], tool: str) -> tuple[Problem, ...]:
    """Each pair of tables of which neither wins."""
    found = []
    for (first, _), (second, _) in pairwise(matching):
        if literal(first) == literal(second):
            path = ("tools", second)
            message = (
                f"ties with {dotted_key(('tools', first))} for {tool}: both have {literal(first)} literal characters"
            )
            found.append(Problem(dotted_key(path), message, lines.get(path)))
    return tuple(found)


def literal(glob: str) -> int:
    """How many characters of a glob stand for themselves; the table with most of them wins."""
    return sum(char not in "*?[]" for char in glob)


def _said(rule: ToolRule | ArgumentRule, key: str) -> bool:
    value = getattr(rule, key)
    return value is not None and value != ()


class _Finder:
    """Finds which table said what is left after `resolve` merged them."""

    def __init__(
        self,
        policy: Policy,
        lines: Mapping[KeyPath, int],
        matching: list[tuple[str, ToolRule]],
        tool: str,
        entry: str,
    ) -> None:
        self._policy = policy
        self._lines = lines
        self._matching = matching
        self._tool = tool
        self._entry = entry

    def matches(self) -> tuple[Match, ...]:
        return tuple(
            Match(glob, literal(glob), self._at("tools", glob), self._entry in rule.arguments)
            for glob, rule in self._matching
        )

    def decides(self, rules: Resolved, argument: str) -> Origin:
        """The table that settles it: of what exempts, else of the argument's own rule, else of the tool's."""
        if rules.mode == "off":
            return self._of_tool("mode")[0]
        if argument in rules.allow:
            return self._of_allow(argument)[-1]
        for glob, rule in reversed(self._matching):
            if self._entry in rule.arguments:
                return self._at("tools", glob, "arguments", self._entry)
        for glob, rule in reversed(self._matching):
            if any(_said(rule, key) for key in (*TOOL_KEYS, *EITHER_KEYS)):
                return self._at("tools", glob)
        return self._default()

    def settings(self, rules: Resolved, rule: ArgumentRule, argument: str) -> tuple[Setting, ...]:
        found = [Setting(key, getattr(rules, key), self._of_tool(key)) for key in TOOL_KEYS]
        for key in EITHER_KEYS:
            own = self._of_argument(key, key)
            found.append(Setting(key, getattr(rule, key) if own else getattr(rules, key), own or self._of_tool(key)))
        found.append(Setting("allow", rules.allow, self._of_allow(argument)))
        for key, name in ARGUMENT_KEYS.items():
            found.append(Setting(key, getattr(rule, name) or None, self._of_argument(key, name)))
        for key in ("max_assumed", "max_refused"):
            found.append(Setting(f"run.{key}", getattr(self._policy, f"run_{key}"), (self._default(key, table="run"),)))
        return tuple(found)

    def _of_tool(self, key: str) -> tuple[Origin, ...]:
        for glob, rule in reversed(self._matching):
            if _said(rule, key):
                return (self._at("tools", glob, key=key),)
        return () if key == "read_only" else (self._default(key),)

    def _of_argument(self, key: str, name: str) -> tuple[Origin, ...]:
        for glob, rule in reversed(self._matching):
            own = rule.arguments.get(self._entry)
            if own is not None and _said(own, name):
                return (self._at("tools", glob, "arguments", self._entry, key=key),)
        return ()

    def _of_allow(self, argument: str) -> tuple[Origin, ...]:
        """Those that exempt the argument; where none does, the defaults, which say what is exempt everywhere."""
        found = [self._at("tools", glob, key="allow") for glob, rule in self._matching if argument in rule.allow]
        everywhere = {argument, f"{self._tool}.{argument}"} & self._policy.allow
        return (self._default("allow"), *found) if everywhere or not found else tuple(found)

    def _default(self, key: str | None = None, *, table: str = "defaults") -> Origin:
        line = self._lines.get((table,) if key is None else (table, key))
        return Origin(BUILT_IN) if line is None else Origin(table, line)

    def _at(self, *path: str, key: str | None = None) -> Origin:
        return Origin(dotted_key(path), self._lines.get(path if key is None else (*path, key)))


def _why(policy: Policy, rules: Resolved, rule: ArgumentRule, argument: str) -> tuple[str, ...]:
    """The rule in sentences, what holds first."""
    if rules.mode == "off":
        return ('Nothing is held against a call of this tool: mode is "off".',)
    over = "is refused" if rules.mode == "enforce" else "runs all the same, and its span says flagged"
    if argument in rules.allow:
        return ("The argument is allowed: it is tagged, and never counted.",)
    accept = rules.accept if rule.accept is None else rule.accept
    kinds = ", ".join(kind for kind in KINDS if kind in accept) or "none at all"
    said = [f"Accepted kinds: {kinds}."]
    if rule.sources is not None:
        said.append(f"It counts as observed only in {', '.join(rule.sources)}.")
        said.append(f"A call in which one of its leaves is not accepted {over}, whatever the budget.")
    else:
        run = (
            f", and at most {policy.run_max_assumed} in a run" if rules.mode == "enforce" and rules.max_assumed else ""
        )
        said.append(f"Others: at most {rules.max_assumed} in a call, all its arguments together{run}.")
        said.append(f"A call with more {over}.")
    if rules.read_only is None and rules.mode == "enforce":
        said.append("Where the tool's own read-only hint is trusted, such a call runs, and its span says flagged.")
    return tuple(said)


def render(explanation: Explanation) -> str:
    """The explanation as text that ends with a line break."""
    lines = [f"{explanation.tool}, {explanation.argument}: {explanation.decides.render()} decides.", *explanation.why]
    lines.append("")
    lines.append(f"Tables of {explanation.source} that match (a later one wins, key by key):")
    for match in explanation.matches:
        named = ", names the argument" if match.names else ""
        lines.append(f"  {match.origin.render()}: {match.literal} literal characters{named}")
    if not explanation.matches:
        lines.append("  none: the defaults hold")
    lines.append("")
    rows = [
        (setting.key, "not set" if setting.value is None else _text(setting.value), _origins(setting))
        for setting in explanation.settings
        if setting.value is not None or setting.key == "from"
    ]
    widths = [max(len(row[at]) for row in rows) for at in (0, 1)]
    lines.extend(f"{key:{widths[0]}}  {value:{widths[1]}}  {origin}".rstrip() for key, value, origin in rows)
    lines.append(f"{'digest':{widths[0]}}  {explanation.digest}")
    return "\n".join(lines) + "\n"


def _origins(setting: Setting) -> str:
    return "; ".join(origin.render() for origin in setting.origins)


def _text(value: Any) -> str:
    if isinstance(value, frozenset):
        return ", ".join(_sorted(value)) or "none"
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _sorted(names: frozenset[str]) -> list[str]:
    """Kinds in the order of `KINDS`, other names by the alphabet."""
    return sorted(names, key=lambda name: (KINDS.index(name) if name in KINDS else 0, name))


def as_json(explanation: Explanation) -> dict[str, Any]:
    """The explanation as JSON values."""
    return {
        "file": explanation.source,
        "digest": explanation.digest,
        "tool": explanation.tool,
        "argument": explanation.argument,
        "decides": explanation.decides._asdict(),
        "why": list(explanation.why),
        "tables": [
            {"glob": match.glob, "literal": match.literal, "names_argument": match.names, "line": match.origin.line}
            for match in explanation.matches
        ],
        "keys": {
            setting.key: {
                "value": _sorted(setting.value) if isinstance(setting.value, frozenset) else setting.value,
                "origins": [origin._asdict() for origin in setting.origins],
            }
            for setting in explanation.settings
        },
    }
