"""What calls of other runs say about one, and the list of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import citespan
from citespan.calls import Argument, Call, Cited
from citespan.cli import main
from citespan.show import view
from citespan.show.advice import missing
from citespan.show.gather import Gathering
from citespan.show.model import Wanted
from citespan.show.runs import MOST_RUNS, runs


def play(path: Path, order: str | None = None, amount: float | None = None, *, orders: bool = True) -> None:
    """An agent that refunds an order of a customer; a guess where one is given."""
    tools = citespan.TracedTools(
        {
            "find_customer": lambda name: {"customers": [{"id": "c-17"}]},
            "list_orders": lambda customer_id: {"orders": [{"id": "o-1", "total": 41.5}]},
            "refund": lambda order_id, amount: "done",
        },
        inputs={"name": "rosa"},
    )
    try:
        customer = tools.call("find_customer", name="rosa")["customers"][0]["id"]
        first: dict[str, Any] = {}
        if orders:
            first = tools.call("list_orders", customer_id=customer)["orders"][0]
        tools.call("refund", order_id=order or first["id"], amount=amount or first["total"])
    except PermissionError:
        pass
    tools.dump(path)


class TestOtherRuns:
    """A good run beside a bad one names what the bad one did not look up."""

    def test_a_number_that_no_name_tells_is_found_in_a_good_run(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Nothing about `amount` says `total`; a run in which the agent looked does."""
        play(tmp_path / "good.jsonl")
        play(tmp_path / "bad.jsonl", amount=977.0)
        assert main(["show", str(tmp_path / "bad.jsonl")]) == 1
        assert "list_orders.orders.*.total" not in capsys.readouterr().out
        for files in (["bad.jsonl", "good.jsonl"], ["good.jsonl", "bad.jsonl"]):
            assert main(["show", *(str(tmp_path / name) for name in files)]) == 1
            assert "missing: in another run it came from list_orders.orders.*.total\n" in capsys.readouterr().out

    def test_a_tool_that_was_never_called_is_named(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """And the id of another thing is not."""
        play(tmp_path / "good.jsonl")
        play(tmp_path / "bad.jsonl", order="o-77", amount=977.0, orders=False)
        assert main(["show", str(tmp_path / "bad.jsonl"), str(tmp_path / "good.jsonl")]) == 1
        out = capsys.readouterr().out
        assert "missing: in another run it came from list_orders.orders.*.id\n" in out
        assert "find_customer.customers" not in out.partition("! order_id")[2]

    def test_the_same_run_is_no_other(self) -> None:
        gathering = Gathering(Wanted())
        cited = Argument("path", "observed", Cited("list_files", "files.0"))
        bad = Call(
            "patch", status="blocked", trace_id="a1", arguments=(Argument("path", "assumed", counted=("path",)),)
        )
        for call in (Call("patch", status="ok", trace_id="a1", arguments=(cited,)), bad):
            gathering.add(call)
        gathering.add(Call("patch", status="ok", trace_id="a2", arguments=(cited,)))
        context = gathering.context(bad)
        assert context.other_runs == {}
        assert context.elsewhere["path"][0].cited == Cited("list_files", "files.0")

    def test_the_last_of_several_runs_is_named(self) -> None:
        gathering = Gathering(Wanted())
        bad = Call(
            "patch", status="blocked", trace_id="a1", arguments=(Argument("path", "assumed", counted=("path",)),)
        )
        for number, run in enumerate(["a2", "a3", "a2", "a4", "a3"]):
            cited = Argument("path", "observed", Cited("list_files", f"files.{number}"))
            gathering.add(Call("patch", status="ok", trace_id=run, arguments=(cited,)))
        gathering.add(bad)
        assert gathering.context(bad).other_runs["path"].cited.field == "files.4"

    def test_a_refused_call_of_another_run_says_nothing(self) -> None:
        """Its other arguments were cited; what it did was not wanted."""
        gathering = Gathering(Wanted())
        cited = Argument("path", "observed", Cited("list_files", "files.0"))
        bad = Call(
            "patch", status="blocked", trace_id="a1", arguments=(Argument("path", "assumed", counted=("path",)),)
        )
        for call in (Call("patch", status="blocked", trace_id="a2", arguments=(cited,)), bad):
            gathering.add(call)
        assert gathering.context(bad).other_runs == {}

    def test_what_the_run_itself_names_is_not_said_twice(self) -> None:
        gathering = Gathering(Wanted())
        cited = Argument("path", "observed", Cited("list_files", "files.0"))
        uncited = Argument("path", "assumed", counted=("path",), nearest=("list_files.files.*",))
        bad = Call("patch", status="blocked", trace_id="a1", arguments=(uncited,))
        for call in (Call("patch", status="ok", trace_id="a2", arguments=(cited,)), bad):
            gathering.add(call)
        assert [hint.why for hint in missing(bad, uncited, gathering.context(bad))] == ["nearest"]

    def test_the_view_of_one_run_knows_no_other(self) -> None:
        """A test's failure shows its own run."""
        bad = Call(
            "patch", status="blocked", trace_id="a1", arguments=(Argument("path", "assumed", counted=("path",)),)
        )
        assert "another run" not in view(bad, [bad])


class TestList:
    """`--runs`: a line each."""

    def test_each_run_has_a_line_the_earliest_first(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Its trace id, time, calls by verdict, and the tools in trouble."""
        play(tmp_path / "good.jsonl")
        play(tmp_path / "bad.jsonl", amount=977.0)
        assert main(["show", "--runs", str(tmp_path / "bad.jsonl"), str(tmp_path / "good.jsonl")]) == 1
        first, second = capsys.readouterr().out.splitlines()
        assert first.endswith("3 calls: 3 ok")
        assert second.endswith("3 calls: 1 blocked, 2 ok (refund)")
        assert main(["show", "--runs", str(tmp_path / "good.jsonl"), "--trace", first[:8]]) == 0
        assert capsys.readouterr().out.splitlines() == [first]

    def test_no_run_is_no_answer(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        play(tmp_path / "good.jsonl")
        assert main(["show", "--runs", str(tmp_path / "good.jsonl"), "--trace", "ffff"]) == 2
        assert capsys.readouterr().out == ""

    def test_further_runs_are_counted(self) -> None:
        """Memory is bounded, and the bound says so."""
        found, left_out = runs(Call("patch", trace_id=f"{number:032x}") for number in range(MOST_RUNS + 3))
        assert (len(found), left_out) == (MOST_RUNS, 3)
