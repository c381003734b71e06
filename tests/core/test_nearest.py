"""What the ledger could have offered for an uncited argument: the nearest fields by name, and never a value."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable
from typing import Any
from weakref import ref

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.helpers import ledger_of, parameters

from citespan.core import schema as schemas
from citespan.core.decision import Tag
from citespan.core.field_reading import MAX_NAME
from citespan.core.fields import MAX_FIELDS, Catalogue
from citespan.core.kinds import Assumed, FromSchema, FromUser, Kind, Provenance
from citespan.core.leaves import snapshot
from citespan.core.ledger import Ledger
from citespan.core.names import AGREEMENT, agreement
from citespan.core.nearest import MAX_NEAREST, MAX_OFFERS, Offer, by_argument, offers
from citespan.core.policy import ArgumentRule, Bounds, Policy, ToolRule
from citespan.core.resolve import resolve
from citespan.core.uncited import Marks


def counted(arguments: dict[str, Any], *, declared: tuple[str, ...] | None = None) -> list[Tag]:
    """The leaves of a call, none of them cited; by default its schema declares all arguments."""
    schema = schemas.read(parameters(*(arguments if declared is None else declared)))
    return [Tag(leaf, Assumed("nowhere"), True, False, False) for leaf in snapshot(arguments, schema).leaves]


def offered(
    ledger: Ledger, arguments: dict[str, Any], *, upto: int | None = None, **rules: ArgumentRule
) -> tuple[Offer, ...]:
    resolved = resolve(Policy(tools={"use": ToolRule(arguments=rules)}), "use", None)
    return offers(counted(arguments), ledger.view(upto), resolved, Catalogue())


def nearest(ledger: Ledger, argument: str, value: Any) -> list[str]:
    """The fields that are nearest to one argument, best first."""
    return [name for offer in offered(ledger, {argument: value}) for name in offer.nearest]


def ledger(**results: Any) -> Ledger:
    """A ledger with one result of each tool, oldest first."""
    made = Ledger(json.loads, Bounds())
    for tool, result in results.items():
        made.record(tool, json.dumps(result).encode())
    return made


LISTED = {"files": ["src/app.py", "src/setup.cfg"]}
NAMES = ("ann", "bo", "cy", "di")
USERS = [{"id": "usr_71", "name": "Ann", "email": "ann@b.org"}, {"id": "usr_72", "name": "Bo", "email": "bo@b.org"}]


class TestRank:
    """Which fields are near, and which of them is nearest."""

    def test_the_first_example_names_the_listed_files(self) -> None:
        assert nearest(ledger(list_files=LISTED), "path", "prod.env") == ["list_files.files.*"]

    @pytest.mark.parametrize(
        "argument, value, results, expected",
        [
            ("user_id", "usr_99", {"list_users": USERS}, ["list_users.*.id"]),
            ("recipients", "c@b.org", {"list_users": USERS}, ["list_users.*.email"]),
            ("city", "Bonn", {"list_cities": ["Rome", "Paris"]}, ["list_cities.*"]),
            ("city", "Bonn", {"search": {"cities": [{"name": "Rome", "size": 3}] * 2}}, ["search.cities.*.name"]),
            ("order_id", 5, {"get_user": {"orders": [{"order_id": 17}] * 2}}, ["get_user.orders.*.order_id"]),
            ("issueNumber", 5, {"get_issue": {"issue_number": 17}}, ["get_issue.issue_number"]),
            ("when", "2024-05-17", {"get_user": {"born": "1990-01-02", "age": 3}}, ["get_user.born"]),
            ("start", "2 o'clock", {"free": {"date": "2024-05-17"}}, ["free.date"]),
            ("homepage", "https://x.org/", {"whois": {"site": "https://y.org/"}}, ["whois.site"]),
            ("limit", 10, {"status": {"limit": 50, "other": 7}}, ["status.limit"]),
            ("assignee", "79", {"get_ticket": {"id": 4, "assignee_id": 78}}, ["get_ticket.assignee_id"]),
            ("owner", "octo", {"get_repo": {"owner": {"login": "oc", "rank": "x"}}}, ["get_repo.owner.login"]),
            ("account", "DE1", {"list_accounts": [{"iban": "DE893704", "owner": "A"}]}, ["list_accounts.*.iban"]),
        ],
    )
    def test_a_field_is_near_by_its_name_or_by_its_look(
        self, argument: str, value: Any, results: dict[str, Any], expected: list[str]
    ) -> None:
        assert nearest(ledger(**results), argument, value) == expected

    def test_a_name_that_agrees_comes_before_a_look_that_does(self) -> None:
        held = ledger(list_users=USERS, get_order={"ref": "W77123"})
        assert nearest(held, "user_id", "usr_99") == ["list_users.*.id", "get_order.ref"]

    def test_of_equal_names_the_one_that_stands_nearer_comes_first(self) -> None:
        """`end_time` is the time of the end."""
        time = {"dateTime": "2024-05-01T10:00:00Z"}
        held = ledger(list_events={"events": [{"start": time, "end": time}, {"start": time, "end": time}]})
        assert nearest(held, "end_time", "2024-05-03T10:00:00Z")[0] == "list_events.events.*.end.dateTime"
        assert nearest(held, "start_time", "2024-05-03T10:00:00Z")[0] == "list_events.events.*.start.dateTime"

    def test_a_word_shared_comes_before_a_bare_id(self) -> None:
        held = ledger(get_user={"payment_methods": {"card_1245537": {"kind": "card"}}}, list_users=USERS)
        assert nearest(held, "payment_method_id", "card_99")[0] == "get_user.payment_methods.*"

    def test_an_id_of_another_thing_is_not_offered(self) -> None:
        """It would be taken for one of this: the model has seen it, so it would be cited."""
        held = ledger(find_customer={"customers": [{"id": "c-17", "email": "rosa@x.org"}]})
        assert nearest(held, "order_id", "o-17") == []
        assert nearest(held, "customer_id", "c-18") == ["find_customer.customers.*.id"]

    def test_of_equals_the_newest_comes_first(self) -> None:
        held = ledger(list_one=LISTED, list_two=LISTED)
        assert nearest(held, "path", "prod.env") == ["list_two.files.*", "list_one.files.*"]
        held.record("list_one", json.dumps(LISTED).encode())
        assert nearest(held, "path", "prod.env") == ["list_one.files.*", "list_two.files.*"]

    def test_another_type_is_near_only_under_the_same_name(self) -> None:
        assert nearest(ledger(get_issue={"number": 17, "id": 4}), "id", "17") == ["get_issue.id"]

    def test_what_has_neither_the_name_nor_the_look_is_not_offered(self) -> None:
        assert nearest(ledger(get_user={"status": "open", "age": 7}, list_files=LISTED), "title", "Hello") == []

    @pytest.mark.parametrize("level", range(len(AGREEMENT)))
    def test_every_degree_of_agreement_has_an_example(self, level: int) -> None:
        examples: list[tuple[str, str]] = [
            ("colour", "list_files.files.*"),
            ("path", "list_files.files.*"),
            ("order_id", "search.results.*.id"),
            ("payment_method_id", "get_user.methods.*"),
            ("user_name", "whoami.name"),
            ("user_id", "list_users.users.*.id"),
        ]
        argument, field = examples[level]
        assert agreement((argument,), field) == level


class TestCitable:
    """Only what could have been cited is offered."""

    def test_prose_is_no_source_of_what_is_none(self) -> None:
        held = ledger(read_file={"path": "first line\nsecond line"})
        assert nearest(held, "path", "prod.env") == []
        assert nearest(held, "path", "a line\nanother") == ["read_file.path"]

    def test_text_is_offered_where_the_policy_lets_its_pieces_be_cited(self) -> None:
        status = "modified: src/app.py\nnew file: b/c.py\n"
        assert nearest(ledger_of(status, tool="git_status"), "path", "prod.env") == []
        assert nearest(ledger_of(status, tool="git_status", text=("paths",)), "path", "x.env") == ["git_status.result"]

    def test_pieces_look_like_what_the_projection_reads(self) -> None:
        """Whichever of them are looked at: here the first and the last are words."""
        status = "Repository status:\nmodified:   src/app.py\nclean\n"
        assert nearest(ledger_of(status, tool="git_status", text=("paths",)), "files", "x/y") == ["git_status.result"]

    def test_a_document_in_a_text_is_offered_by_its_own_fields(self) -> None:
        assert nearest(ledger(list_files=json.dumps(LISTED)), "path", "prod.env") == ["list_files.result.files.*"]

    def test_only_what_the_call_can_see_is_offered(self) -> None:
        held = ledger(list_files=LISTED, find_files=LISTED)
        assert [offer.nearest for offer in offered(held, {"path": "x.env"}, upto=1)] == [("list_files.files.*",)]
        assert offered(held, {"path": "x.env"}, upto=0) == ()

    def test_an_echo_is_not_offered_and_a_key_that_is_one_is_a_star(self) -> None:
        given = ("prod.env", "kestrel")
        for result, expected in [
            ({"path": "prod.env"}, []),
            ({"path": "a.py"}, ["tool.path"]),
            ({"kestrel": "a.py"}, ["tool.*"]),
            ({"kestrel": {"path": "a.py"}}, ["tool.*.path"]),
        ]:
            assert nearest(ledger_of(result, given=given), "path", "x.env") == expected

    @pytest.mark.parametrize("text", ["*", "all files", "list the files of src, by name"])
    def test_a_question_that_names_its_answer_hides_no_field(self, text: str) -> None:
        """A search that was asked in words of the model's own: what it found can be cited."""
        assert nearest(ledger_of(LISTED, given=(text,)), "path", "x.env") in (["tool.files.*"], ["tool.*.*"])

    def test_what_the_policy_lets_an_echo_confirm_is_offered(self) -> None:
        made = Ledger(json.loads, Bounds())
        made.record("get_issue", b'{"id": "X-1712", "key": "X-1712"}', given=("x-1712",), confirms=("id",))
        assert nearest(made, "id", "X-1713") == ["get_issue.id"]

    def test_what_an_earlier_call_may_have_stored_is_not_offered(self) -> None:
        """The state rule: whichever tool returns it, from then on."""
        held, marks = ledger(list_files=LISTED), Marks()
        marks.add(("prod.env",), held.moment())
        held.record("read_config", b'{"path": "prod.env"}')
        held.record("read_other", b'{"path": "other.env"}')
        found = Catalogue(marks).fields(held.view())
        assert [field.name for field in found] == ["read_other.path", "list_files.files.*"]

    def test_what_was_read_for_a_later_moment_is_not_told_to_an_earlier_one(self) -> None:
        """Of a list of many kinds of records not every column is looked at to see whether there is a newer result."""
        held, catalogue = Ledger(json.loads, Bounds()), Catalogue()
        for number in range(200):
            word = f"k{chr(97 + number % 26)}{chr(97 + number // 26)}"
            held.record("mixed", json.dumps([{word: {"path": "a.py"}}] * 2).encode())
        late = {field.name for field in catalogue.fields(held.view())}
        early = [field.name for field in catalogue.fields(held.view(1))]
        assert early == [field.name for field in Catalogue().fields(held.view(1))]
        assert len(late) > len(early)

    def test_an_empty_ledger_offers_nothing(self) -> None:
        assert offered(ledger(), {"path": "prod.env"}) == ()

    def test_what_was_evicted_is_not_offered(self) -> None:
        held = Ledger(json.loads, Bounds(bytes=60))
        held.record("list_files", json.dumps(LISTED).encode())
        held.record("find_files", json.dumps(LISTED).encode())
        assert nearest(held, "path", "prod.env") == ["find_files.files.*"]

    def test_what_was_evicted_is_not_kept_alive(self) -> None:
        held, catalogue = Ledger(json.loads, Bounds(bytes=60)), Catalogue()
        held.record("list_files", json.dumps(LISTED).encode())
        catalogue.fields(held.view())
        index = ref(held.ask(lambda index: index))
        held.record("find_files", json.dumps(LISTED).encode())
        gc.collect()
        assert index() is None
        assert [field.name for field in catalogue.fields(held.view())] == ["find_files.files.*"]


class TestPolicy:
    """What the policy says of the argument."""

    def test_the_fields_that_the_policy_names_are_accepted_and_no_others_near(self) -> None:
        held = ledger(list_files=LISTED, find_files=LISTED)
        (offer,) = offered(held, {"path": "prod.env"}, path=ArgumentRule(sources=("find_files.files.*", "other.*")))
        assert offer == Offer("path", "path", ("find_files.files.*", "other.*"), ("find_files.files.*",))

    def test_fields_of_the_policy_are_named_before_any_tool_returned_them(self) -> None:
        (offer,) = offered(ledger(), {"path": "prod.env"}, path=ArgumentRule(sources=("list_files.files.*",)))
        assert offer == Offer("path", "path", ("list_files.files.*",), ())

    def test_a_policy_that_names_a_server_means_that_server(self) -> None:
        held = ledger_of(LISTED, tool="list_files", server="gitlab")
        rule = ArgumentRule(sources=("github/list_files.files.*",))
        assert [offer.nearest for offer in offered(held, {"path": "x.env"}, path=rule)] == [()]

    def test_a_new_value_names_the_listing_that_it_must_be_absent_from(self) -> None:
        invented: frozenset[Kind] = frozenset({"invented"})
        rule = ArgumentRule(accept=invented, propose_against="list_files.files.*")
        (offer,) = offered(ledger(list_files=LISTED), {"path": "new.py"}, path=rule)
        assert offer == Offer("path", "path", ("list_files.files.*",), ())

    def test_a_key_that_no_schema_declares_is_offered_nothing(self) -> None:
        rules = resolve(Policy(), "use", None)
        view = ledger(list_files=LISTED).view()
        assert offers(counted({"path": "x.env"}, declared=("name",)), view, rules, Catalogue()) == ()


class TestLeaves:
    """One offer for each place in the arguments."""

    def test_members_of_a_list_share_one_offer(self) -> None:
        held = ledger(list_files=LISTED)
        assert offered(held, {"files": ["x.env", "y.env"]}) == (Offer("files", "files.*", (), ("list_files.files.*",)),)

    def test_the_leaves_of_an_argument_take_turns(self) -> None:
        made = [
            Offer("to", "a", ("p.a",), ("t.a", "t.b")),
            Offer("to", "b", (), ("t.c",)),
            Offer("cc", "c", (), ("t.d",)),
        ]
        assert by_argument(made) == {
            "to": Offer("to", "a", ("p.a",), ("t.a", "t.c", "t.b")),
            "cc": Offer("cc", "c", (), ("t.d",)),
        }


class TestBounds:
    """Work and answers are bounded, whatever tools return."""

    def test_five_fields_of_sixteen_arguments(self) -> None:
        held = ledger(find={f"path_{letter}": f"{letter}.py" for letter in "abcdefghijk"})
        found = offered(held, {f"p{number}": "x.env" for number in range(40)})
        assert len(found) == MAX_OFFERS == 16
        assert {len(offer.nearest) for offer in found} == {MAX_NEAREST} == {5}

    def test_of_very_many_fields_the_newest_tools_are_seen(self) -> None:
        made = Ledger(json.loads, Bounds())
        for tool in range(12):
            wide = {f"f{chr(97 + a)}{chr(97 + b)}": {"path": "a.py", "n": 1} for a in range(20) for b in range(20)}
            made.record(f"tool{tool}", json.dumps(wide).encode())
        fields = Catalogue().fields(made.view())
        assert len(fields) == MAX_FIELDS
        assert fields[0].name.startswith("tool11.")

    def test_thousands_of_tools_do_not_hide_the_newest(self) -> None:
        made = Ledger(json.loads, Bounds())
        for tool in range(3000):
            made.record(f"tool{tool}", json.dumps(LISTED).encode())
        assert nearest(made, "path", "prod.env")[0] == "tool2999.files.*"

    def test_names_that_nobody_could_read_are_left_out(self) -> None:
        deep: Any = "a.py"
        for _ in range(60):
            deep = {"path": deep}
        made = ledger(deep=deep, **{"t" * 300: LISTED})
        assert Catalogue().fields(made.view()) == []
        assert MAX_NAME == 256

    def test_the_work_does_not_grow_with_the_results(self) -> None:
        def results(size: int) -> dict[str, Any]:
            return {
                "list_files": {"files": [f"src/m{number}.py" for number in range(size)]},
                "list_users": [{"id": f"usr_{number}", "tags": ["a", "b"]} for number in range(size)],
            }

        small, large = ledger(**results(200)), ledger(**results(2000))
        for held in (small, large):
            offered(held, {"path": "prod.env"})
        assert calls(lambda: offered(small, {"path": "prod.env"})) == calls(
            lambda: offered(large, {"path": "prod.env"})
        )

    @pytest.mark.parametrize("given", [tuple("a" * (n + 1) for n in range(250)), tuple(f"a{n}" for n in range(2_000))])
    def test_uncited_texts_that_are_made_to_cost_time_cost_little(self, given: tuple[str, ...]) -> None:
        """What the guard takes for an echo after a long search is asked here in a quick one."""
        made = Ledger(json.loads, Bounds())
        for tool in range(8):
            held = {f"f{chr(97 + n)}_path": "a" * 255 + "b" for n in range(26)}
            made.record(f"tool{tool}", json.dumps(held).encode(), given=given)
        assert calls(lambda: Catalogue().fields(made.view())) < 100_000

    def test_a_tool_is_read_again_only_when_it_has_a_newer_result(self) -> None:
        held, catalogue = ledger(list_files=LISTED, list_users=USERS), Catalogue()
        first = {field.name: field for field in catalogue.fields(held.view())}
        held.record("list_users", json.dumps(USERS).encode())
        second = {field.name: field for field in catalogue.fields(held.view())}
        assert second["list_files.files.*"] is first["list_files.files.*"]
        assert second["list_users.*.id"].ordinal == 2


def calls(work: Callable[[], Any]) -> int:
    """How many functions a piece of work calls."""
    count = 0

    def counting(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call" or event == "c_call"

    sys.setprofile(counting)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


class TestNames:
    """Names leave the process; values do not."""

    def test_keys_that_are_data_are_stars(self) -> None:
        held = ledger(get_user={"methods": {"card_1245537": {"id": "card_1245537"}}, "a@b.org": "usr_12"})
        assert set(nearest(held, "method_id", "card_9")) == {
            "get_user.methods.*",
            "get_user.methods.*.id",
            "get_user.*",
        }

    @pytest.mark.parametrize(
        "result, expected",
        [
            ({"users": {name: {"email": "a@b.org", "age": 3} for name in NAMES}}, ["tool.users.*.email"]),
            ({name: {"email": "a@b.org"} | ({"age": 3} if name == "ann" else {}) for name in NAMES}, ["tool.*.email"]),
            ({"emails": {name: f"{name}@b.org" for name in NAMES}}, ["tool.emails.*"]),
            ({"emails": {"ann": "a@b.org", "bo_4711": "b@b.org"}}, ["tool.emails.*"]),
            ({f"u{chr(97 + n % 26)}{chr(97 + n // 26)}": {"email": f"{n}@b.org"} for n in range(70)}, ["tool.*.email"]),
            ([{f"u{chr(97 + n % 26)}{chr(97 + n // 26)}": "a@b.org" for n in range(70)}] * 2, ["tool.*.*"]),
            (json.dumps({name: {"email": "a@b.org"} for name in NAMES}), ["tool.result.*.email"]),
            ({"from": {"email": "a@b.org"}, "to": {"email": "b@b.org"}}, ["tool.from.email", "tool.to.email"]),
        ],
    )
    def test_keys_of_an_object_that_is_kept_by_key_are_stars(self, result: Any, expected: list[str]) -> None:
        """Also where each of them reads like a name."""
        assert nearest(ledger_of(result), "email", "x@y.org") == expected

    def test_keys_that_differ_from_result_to_result_are_stars(self) -> None:
        held = ledger_of({"balances": {"ann": 3}}, {"balances": {"bo": 4}})
        assert nearest(held, "balance", 7) == ["tool.balances.*"]

    def test_a_policy_may_name_a_key_that_is_not_shown(self) -> None:
        held = ledger_of({name: {"email": "a@b.org"} for name in NAMES})
        (offer,) = offered(held, {"to": "x@y.org"}, to=ArgumentRule(sources=("tool.bo.email",)))
        assert offer.nearest == ("tool.*.email",)

    @pytest.mark.parametrize("provenance", [Assumed("nowhere"), FromUser("messages", "0", "exact", False)])
    def test_a_key_that_equals_an_argument_is_a_star(self, provenance: Provenance) -> None:
        """Of any argument of the call, cited or not; a tool's own name is no key."""
        held = ledger(balances={"kestrel": {"amount": 3}})
        tags = [
            tag if tag.leaf.path[0] == "amount" else tag._replace(provenance=provenance, counted=False)
            for tag in counted({"amount": 4, "to": "Kestrel", "other": "balances"})
        ]
        (offer,) = offers(tags, held.view(), resolve(Policy(), "use", None), Catalogue())
        assert offer.nearest == ("balances.*.amount",)

    def test_a_key_that_the_schema_supplies_is_known(self) -> None:
        held = ledger(balances={"kestrel": {"amount": 3}})
        tags = [
            tag if tag.leaf.path[0] == "amount" else tag._replace(provenance=FromSchema("enum", True), counted=False)
            for tag in counted({"amount": 4, "to": "kestrel"})
        ]
        (offer,) = offers(tags, held.view(), resolve(Policy(), "use", None), Catalogue())
        assert offer.nearest == ("balances.kestrel.amount",)

    @given(
        st.lists(
            st.recursive(
                st.integers(10_000, 99_999).map("zq{}".format) | st.integers(1_000_000, 9_999_999),
                lambda inner: (
                    st.lists(inner, max_size=4)
                    | st.dictionaries(
                        st.sampled_from(["path", "id", "files", "email", "name"])
                        | st.integers(10_000, 99_999).map("zq-{}".format),
                        inner,
                        max_size=4,
                    )
                ),
                max_leaves=12,
            ),
            max_size=4,
        ),
        st.dictionaries(st.sampled_from(["path", "user_id", "files", "n"]), st.sampled_from(["zq00000", 12, ["zq1"]])),
    )
    def test_no_value_of_the_ledger_or_of_the_call_is_in_them(
        self, results: list[Any], arguments: dict[str, Any]
    ) -> None:
        held = ledger_of(*results)
        for offer in offered(held, arguments):
            for name in offer.nearest:
                assert "zq" not in name
                assert not any(character.isdecimal() for character in name)
