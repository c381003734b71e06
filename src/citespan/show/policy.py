"""The fields that a policy names as sources of an argument, for calls whose spans do not say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from citespan.calls import Argument, Call
from citespan.calls.paths import head, pattern, written
from citespan.core.policy import PLAIN, ArgumentRule, Policy
from citespan.core.resolve import Rulebook
from citespan.show.text import Accepts


def accepted_by(policy: Policy) -> Accepts:
    """What tells the fields that a policy names for the leaves of an argument that counted: `from`, or a proposal's.

    Raises:
        PolicyError: when it is asked: two globs of the policy tie for the call's tool.

    Example:
        >>> from citespan.core.policy import ArgumentRule, ToolRule
        >>> rule = ToolRule(arguments={"path": ArgumentRule(sources=("list_files.files.*",))})
        >>> accepted_by(Policy(tools={"patch_file": rule}))(Call("patch_file"), Argument("path", "assumed"))
        ('list_files.files.*',)
    """
    rulebook = Rulebook(policy)

    def accepts(call: Call, argument: Argument) -> Sequence[str]:
        rules = rulebook.tool(call.tool, call.server or None).arguments
        named = [_named(_rule(rules, path)) for path in argument.counted or (argument.name,)]
        return tuple(dict.fromkeys(field for fields in named for field in fields))

    return accepts


def _rule(rules: Mapping[str, ArgumentRule], path: str) -> ArgumentRule:
    """The rule of a leaf, as the guard finds it (`core.resolve.Resolved.argument`): its own, else its argument's."""
    own = rules.get(pattern(path)) if len(written(path)) > 1 else None
    return rules.get(head(path), PLAIN) if own is None else own


def _named(rule: ArgumentRule) -> Sequence[str]:
    """As the guard puts it on the span (`core.nearest.Offer`)."""
    if rule.sources is not None:
        return rule.sources
    return () if rule.propose_against is None else (rule.propose_against,)
