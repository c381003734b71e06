"""What spans say, in words for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

#: what stands before `=` in the text of a violation (`citespan.core.decision.Violation`), and how a reader is told
_RULES: Final[Mapping[str, str]] = {
    "assumed_fields": "no accepted source: {}",
    "required_source": "not from a field that the policy names: {}",
    "run_budget": "the run has used up its budget: {}",
    "refusals": "refused too often: {}",
    "guard": "the guard itself failed: {}",
    "ledger": "the run's results did not fit into its ledger: {}",
}


def violation(text: str) -> str:
    """A violation's text as a reader is told it; one of an unknown rule stays as it is.

    Example:
        >>> violation("assumed_fields=[path, to.0]")
        'no accepted source: path, to.0'
    """
    rule, equals, rest = text.partition("=")
    if not equals or rule not in _RULES:
        return text
    return _RULES[rule].replace("{}", rest.removeprefix("[").removesuffix("]"))


def number(amount: int, what: str) -> str:
    """A number of things.

    Example:
        >>> number(1, "call"), number(2000, "blocked call")
        ('1 call', '2,000 blocked calls')
    """
    return f"{amount:,} {what}" if amount == 1 else f"{amount:,} {what}s"
