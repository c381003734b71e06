"""What a replay prints: one JSON object per call, and a summary that a terminal can show."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.replay.recordings import call, judged, run

from citespan.core.leaves import MAX_LEAVES
from citespan.core.policy import Policy
from citespan.replay import Tally, call_line, render
from citespan.replay.summary import MAX_REASONS, MAX_SHOWN
from citespan.trajectories import Trajectory

ASSUMED = {
    "kind": "assumed",
    "weak": False,
    "source_tool": None,
    "source_field": None,
    "source_call": None,
    "projection": None,
    "allowed": False,
}


def lines(trajectory: Trajectory, policy: Policy | None = None) -> list[dict[str, Any]]:
    texts = [call_line(one) for one in judged(trajectory, policy)]
    assert all(text.endswith(b"\n") and text.count(b"\n") == 1 for text in texts)
    return [json.loads(text) for text in texts]


def tally(*runs: Trajectory, name: str = "runs.jsonl", policy: Policy | None = None) -> Tally:
    counted = Tally(name)
    for one in runs:
        counted.begin()
        for call_judged in judged(one, policy):
            counted.add(call_judged)
    return counted


class TestCallLine:
    def test_a_whole_line(self) -> None:
        calls = (
            call("look", error="timed out"),
            call("files/ls", result={"files": [{"name": "a1.md"}]}),
            call("cut", paths=["a1.md", "b2.md"], force=True, comment="tidy up", ticket=50417),
        )
        *_, line = lines(run(*calls, said=("see ticket 50417",)))
        assert line == {
            "trajectory": "r1",
            "call": 2,
            "tool": "cut",
            "status": "blocked",
            "violations": ["assumed_fields=[paths.1, force]"],
            "arguments": {
                "paths.0": {
                    "kind": "observed",
                    "weak": False,
                    "source_tool": "files/ls",
                    "source_field": "files.0.name",
                    "source_call": 1,
                    "projection": "exact",
                    "allowed": False,
                },
                "paths.1": ASSUMED,
                "force": ASSUMED,
                "comment": ASSUMED | {"allowed": True},
                "ticket": ASSUMED | {"kind": "user", "source_field": "message.0", "projection": "exact"},
            },
        }

    def test_a_call_is_counted_whether_or_not_it_left_an_observation(self) -> None:
        calls = (call("a", result=None), call("b", result=[]), call("c", error="x"), call("d", result=[70021]))
        *_, line = lines(run(*calls, call("cut", id=70021)))
        assert (line["arguments"]["id"]["source_call"], line["arguments"]["id"]["source_tool"]) == (3, "d")

    def test_what_the_schema_supplies_has_no_source(self) -> None:
        schema = {"type": "object", "properties": {"mode": {"enum": ["fast", "slow"]}}}
        recorded = run(call("cut", mode="slow"))
        recorded = recorded._replace(tools={"cut": recorded.tools["cut"]._replace(parameters=schema)})
        assert lines(recorded)[0]["arguments"] == {"mode": ASSUMED | {"kind": "schema", "weak": True}}

    def test_a_key_that_the_schema_does_not_name_has_a_path_of_its_own(self) -> None:
        *_, line = lines(run(call("label", labels={"prod.env": 70021})))
        assert list(line["arguments"]) == [r"labels.prod\.env.~key", r"labels.prod\.env"]

    def test_no_leaf_hides_another(self) -> None:
        """An argument may be called like the mark of a key."""
        *_, line = lines(run(call("label", labels={"a": {"~key": 70021, "~key~": 70022}})))
        assert len(line["arguments"]) == 6 - 1
        assert all(leaf["kind"] == "assumed" for leaf in line["arguments"].values())

    def test_statuses_by_mode(self) -> None:
        recorded = run(call("cut", path="b2.md"))
        modes = ("enforce", "tag", "off")
        assert [lines(recorded, Policy(mode=mode))[0]["status"] for mode in modes] == ["blocked", "flagged", "ok"]

    def test_no_value_is_printed(self) -> None:
        calls = (call("ls", result=["a1.md"]), call("cut", path="a1.md", to="b2.md"))
        assert not {"a1.md", "b2.md"} & set("".join(map(str, lines(run(*calls)))).split("'"))


class TestSummary:
    def test_one_row_per_file_and_one_for_all(self) -> None:
        calls = (
            call("ls", result=["a1.md"]),
            call("stat", path="b2.md"),
            call("cut", path="a1.md"),
            call("cut", path="c3"),
        )
        hints = {"ls": True, "stat": True}
        first = tally(run(*calls, hints=hints), run(call("cut", path="c3"), call("cut", path="c3")), name="first.jsonl")
        text = render([first, tally(run(), name="b")])
        assert text == (
            "file         runs  calls  blocked  flagged  mutating refused  observed  assumed\n"
            "first.jsonl     2      6        3        1       3/4  75.0 %         1        4\n"
            "b               1      0        0        0               0/0         0        0\n"
            "total           3      6        3        1       3/4  75.0 %         1        4\n"
            "\n"
            "Refused in first.jsonl, by reason (a call may have several):\n"
            "      3 x cut.path: in no result, message, input or schema of this run (first: r1, call 3)\n"
        )

    def test_bad_lines_are_counted_where_there_are_any(self) -> None:
        counted = tally(run())
        counted.bad = 2
        assert render([counted]) == (
            "file        runs  bad lines  calls  blocked  flagged  mutating refused\n"
            "runs.jsonl     1          2      0        0        0               0/0\n"
        )

    def test_errors_of_the_guard_are_counted_where_there_are_any(self) -> None:
        many = call("cut", paths=list(range(MAX_LEAVES + 1)))
        assert re.search(r"flagged  errors .*\n.* 0 +1 ", render([tally(run(many), policy=Policy(mode="tag"))]))

    def test_reasons_name_the_kind_that_is_not_accepted_and_the_budget_that_is_spent(self) -> None:
        strict = Policy(accept=frozenset({"observed"}))
        assert "cut.path: its kind, user, is not accepted here" in render(
            [tally(run(call("cut", path="a1.md"), said=("a1.md",)), policy=strict)]
        )
        spent = Policy(max_assumed=1, run_max_assumed=0)
        assert "cut: run_budget=" in render([tally(run(call("cut", path="a1.md")), policy=spent)])

    def test_runs_that_would_have_been_stopped_are_counted_once(self) -> None:
        guesses = run(*[call("cut", path=f"b{number}.md") for number in range(5)])
        text = render([tally(guesses, guesses, run(call("cut", path="b")), policy=Policy(run_max_refused=1))])
        assert text.splitlines()[-1].startswith("2 runs would have been stopped")

    def test_only_so_many_reasons_are_shown(self) -> None:
        calls = [call(f"cut{number}", path="b2.md") for number in range(MAX_SHOWN + 7)]
        text = render([tally(run(*calls))])
        assert text.count("\n") == 4 + MAX_SHOWN + 1 + 1
        assert "      7 x for 7 further reasons\n" in text

    def test_only_so_many_reasons_are_kept(self) -> None:
        (one,) = judged(run(call("cut", path="b2.md")))
        counted = Tally("runs.jsonl")
        for number in range(MAX_REASONS + 5):
            counted.add(one._replace(call=one.call._replace(tool=f"cut{number}")))
        assert len(counted.reasons) == MAX_REASONS + 1
        assert counted.reasons.total() == MAX_REASONS + 5
        assert "5 x in further tools and arguments" in render([counted])

    def test_names_out_of_the_file_cannot_drive_the_terminal(self) -> None:
        text = render([tally(run(call("cut\x1b[2J\x9b", path="b2.md"), id="r\r1"), name="a\nb")])
        assert "\x1b" not in text
        assert "\x9b" not in text
        assert "\r" not in text
        assert "cut?[2J?.path" in text
