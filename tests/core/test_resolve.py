"""Which rules hold for a tool: globs, the most literal wins, a tie is an error, keys merge one by one."""

from __future__ import annotations

import pytest
from tests.core.helpers import Agent, attached, parameters

from citespan.core.policy import ALLOW, ArgumentRule, Policy, ToolRule
from citespan.core.resolve import Rulebook, digest, resolve
from citespan.errors import PolicyError
from citespan.guard.examine import judge
from citespan.guard.ports import Tool


def test_without_a_rule_the_defaults_hold() -> None:
    rules = resolve(Policy(), "list_files", None)
    assert (rules.mode, rules.on_violation, rules.max_assumed, rules.weak) == ("enforce", "tell", 0, "count")
    assert rules.accept == {"observed", "user", "schema", "invented"}
    assert rules.allow == ALLOW == {"reason", "comment", "summary"}


def test_a_glob_covers_the_tools_that_it_matches_and_no_other() -> None:
    rules = Policy(tools={"list_*": ToolRule(mode="tag"), "get_?": ToolRule(mode="off")})
    assert resolve(rules, "list_files", None).mode == "tag"
    assert resolve(rules, "get_x", None).mode == "off"
    assert {resolve(rules, tool, None).mode for tool in ("relist_files", "List_files", "get_xy")} == {"enforce"}


def test_the_glob_with_the_most_literal_characters_wins_wherever_it_stands() -> None:
    tools = {"list_files": ToolRule(max_assumed=3), "*": ToolRule(max_assumed=1), "list_*": ToolRule(max_assumed=2)}
    for order in (list(tools), list(reversed(tools))):
        rules = Policy(tools={name: tools[name] for name in order})
        assert [resolve(rules, tool, None).max_assumed for tool in ("x", "list_x", "list_files")] == [1, 2, 3]


def test_keys_merge_one_by_one() -> None:
    rules = resolve(
        Policy(
            tools={
                "*": ToolRule(mode="tag", text=("lines",), weak="ignore", read_only=True),
                "list_*": ToolRule(text=("paths",), max_assumed=2),
                "list_files": ToolRule(output="computed", read_only=False),
            }
        ),
        "list_files",
        None,
    )
    assert (rules.mode, rules.text, rules.weak) == ("tag", ("paths",), "ignore")
    assert (rules.max_assumed, rules.output, rules.read_only) == (2, "computed", False)


def test_a_more_literal_rule_can_set_a_budget_back_to_zero() -> None:
    rules = Policy(max_assumed=5, tools={"*": ToolRule(max_assumed=3), "send": ToolRule(max_assumed=0)})
    assert resolve(rules, "send", None).max_assumed == 0


def test_rules_of_one_argument_merge_key_by_key_as_well() -> None:
    tools = {
        "send_*": ToolRule(
            arguments={"to": ArgumentRule(weak="ignore", values=("ops",)), "cc": ArgumentRule(weak="count")}
        ),
        "send_mail": ToolRule(arguments={"to": ArgumentRule(accept=frozenset({"observed"}))}),
    }
    arguments = resolve(Policy(tools=tools), "send_mail", None).arguments
    assert arguments["to"] == ArgumentRule(weak="ignore", values=("ops",), accept=frozenset({"observed"}))
    assert arguments["cc"] == ArgumentRule(weak="count")


def test_two_equally_literal_globs_are_an_error_that_names_both() -> None:
    rules = Policy(tools={"list_*": ToolRule(), "*files": ToolRule()})
    with pytest.raises(PolicyError, match=r"list_\*.*\*files.*list_files"):
        resolve(rules, "list_files", None)


def test_a_tie_below_the_winning_glob_is_an_error_too_since_keys_merge() -> None:
    rules = Policy(tools={"list_*": ToolRule(), "*files": ToolRule(), "list_files": ToolRule()})
    with pytest.raises(PolicyError):
        resolve(rules, "list_files", None)


def test_equally_literal_globs_that_match_different_tools_do_not_tie() -> None:
    rules = Policy(tools={"list_*": ToolRule(mode="tag"), "read_*": ToolRule(mode="off")})
    assert resolve(rules, "list_files", None).mode == "tag"


def test_a_tie_denies_the_call() -> None:
    agent = Agent(Policy(tools={"us*": ToolRule(), "*se": ToolRule()}))
    decision = agent.judge({"value": None})
    assert decision.deny
    assert decision.violations[0].rule == "guard"


def test_a_glob_with_a_slash_binds_the_server() -> None:
    rules = Policy(tools={"github/list_*": ToolRule(mode="tag")})
    assert resolve(rules, "list_issues", "github").mode == "tag"
    assert resolve(rules, "list_issues", "gitlab").mode == "enforce"
    assert resolve(rules, "list_issues", None).mode == "enforce"


def test_a_glob_without_a_slash_covers_a_tool_on_any_server() -> None:
    rules = Policy(tools={"list_issues": ToolRule(mode="tag")})
    assert {resolve(rules, "list_issues", server).mode for server in (None, "github", "gitlab")} == {"tag"}


def test_a_glob_that_names_the_server_is_more_literal_than_one_that_does_not() -> None:
    rules = Policy(tools={"list_issues": ToolRule(mode="tag"), "*/list_issues": ToolRule(mode="off")})
    assert resolve(rules, "list_issues", "github").mode == "off"


def test_a_server_glob_covers_all_of_its_tools() -> None:
    assert resolve(Policy(tools={"github/*": ToolRule(mode="tag")}), "anything", "github").mode == "tag"


# allow


def test_an_argument_is_allowed_by_name_for_every_tool() -> None:
    rules = Policy(allow=frozenset({"note"}))
    assert resolve(rules, "a", None).allow == resolve(rules, "b", None).allow == {"note"}


def test_an_argument_is_allowed_for_one_tool() -> None:
    rules = Policy(allow=frozenset({"send.body"}))
    assert resolve(rules, "send", None).allow == {"body"}
    assert resolve(rules, "resend", None).allow == set()


def test_a_tools_own_table_adds_to_what_is_allowed() -> None:
    rules = Policy(allow=frozenset({"reason"}), tools={"send": ToolRule(allow=frozenset({"body"}))})
    assert resolve(rules, "send", None).allow == {"reason", "body"}
    assert resolve(rules, "other", None).allow == {"reason"}


def test_an_allowed_argument_is_tagged_in_all_its_leaves_and_never_counted() -> None:
    agent = Agent(Policy())
    decision = agent.judge(
        {"comment": {"a": ["x", "y"]}, "reason": "z"}, Tool("t", schema=parameters("comment", "reason"))
    )
    assert not decision.violations
    assert all(tag.allowed and not tag.counted for tag in decision.tags)
    assert {tag.provenance.kind for tag in decision.tags} == {"assumed"}


def test_only_whole_top_level_arguments_are_allowed() -> None:
    agent = Agent(Policy())
    decision = agent.judge({"options": {"comment": "x"}}, Tool("t", schema=parameters(options=parameters("comment"))))
    assert [tag.counted for tag in decision.tags] == [True]


# what code and servers declare


def test_what_a_tools_code_declares_fills_what_the_policy_leaves_open() -> None:
    book = Rulebook(Policy(tools={"b": ToolRule(output="data", read_only=False, confirms=("x",))}))
    silent = book.tool("a", None, output="model", read_only=True, confirms=("id",))
    spoken = book.tool("b", None, output="model", read_only=True, confirms=("id",))
    assert (silent.output, silent.read_only, silent.confirms) == ("model", True, ("id",))
    assert (spoken.output, spoken.read_only, spoken.confirms) == ("data", False, ("x",))


def test_a_hint_is_believed_of_servers_that_the_policy_trusts_only() -> None:
    rules = Policy(servers={"github": True, "gitlab": False})
    assert [resolve(rules, "t", server).hint_trusted for server in ("github", "gitlab", "other", None)] == [
        True,
        False,
        False,
        False,
    ]


def test_a_trusted_read_only_hint_puts_the_tool_into_tag_mode() -> None:
    rules = Policy(servers={"github": True})
    hinted = Tool("peek", "github", parameters("path"), hint=True)
    for tool, status in (
        (hinted, "flagged"),
        (hinted._replace(server="gitlab"), "blocked"),
        (hinted._replace(hint=False), "blocked"),
    ):
        with attached(Agent(rules).context):
            assert judge(tool, {"path": "x"}).status == status


def test_a_hint_that_flips_later_loosens_nothing() -> None:
    agent = Agent(Policy(servers={"github": True}))
    tool = Tool("peek", "github", parameters("path"), hint=False)
    with attached(agent.context):
        judge(tool, {"path": "x"})
        decision = judge(tool._replace(hint=True), {"path": "x"})
    assert decision.deny
    assert decision.mutating


# digest


def test_two_policies_of_one_meaning_have_one_digest() -> None:
    left = Policy(allow=frozenset({"a", "b"}), tools={"x": ToolRule(mode="tag"), "y": ToolRule(mode="off")})
    right = Policy(allow=frozenset({"b", "a"}), tools={"y": ToolRule(mode="off"), "x": ToolRule(mode="tag")})
    assert digest(left) == digest(right)
    assert len(digest(left)) == 16


@pytest.mark.parametrize(
    "other",
    [
        Policy(max_assumed=1),
        Policy(allow=frozenset()),
        Policy(tools={"x": ToolRule()}),
        Policy(run_max_refused=21),
        Policy(servers={"github": True}),
    ],
)
def test_any_other_meaning_has_another_digest(other: Policy) -> None:
    assert digest(other) != digest(Policy())
