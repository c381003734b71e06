"""The file of approvals: what a line must be, who may own the file, and what is said where it cannot be used."""

from __future__ import annotations

import json
import os
import pickle
import stat
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from citespan.core.proposals import Proposal
from citespan.errors import EXIT_BAD_INPUT, UsageError
from citespan.stores import approval_file
from citespan.stores.approval_file import MAX_BYTES, MAX_PROBLEMS, Approval, ApprovalsError, parse, read
from citespan.stores.approvals import DigestKey, RecordedApprovals, digest_of, record

KEY = DigestKey(b"one secret", "0123abcd")
OTHER = DigestKey(b"another secret", "4567cdef")
VALUE = "-".join(("docs", "guide", "4711"))
PROPOSAL = Proposal("create_file", "path", VALUE)
GOOD: dict[str, Any] = {
    "schema": "citespan.approval/1",
    "tool": "create_file",
    "argument": "path",
    "digest": "0f" * 16,
    "digest_key": KEY.name,
}


def problems(data: bytes) -> list[tuple[str, int | None]]:
    """Key and line of each problem of a file."""
    with pytest.raises(ApprovalsError) as raised:
        parse(data, "approvals.jsonl", KEY.name)
    return [(problem.key, problem.line) for problem in raised.value.problems]


def line(**changed: Any) -> bytes:
    return json.dumps({key: value for key, value in {**GOOD, **changed}.items() if value is not ...}).encode()


class TestLines:
    def test_a_good_line_is_an_approval(self) -> None:
        assert parse(line(reason="a guide"), "f", KEY.name) == (
            Approval("create_file", "path", "0f" * 16, KEY.name, "a guide"),
        )

    def test_blank_lines_and_a_last_line_without_a_break_are_no_mistake(self) -> None:
        assert len(parse(b"\n" + line() + b"\r\n\n" + line(), "f", KEY.name)) == 2

    @pytest.mark.parametrize(
        "changed, key",
        [
            ({"schema": "citespan.approval/2"}, "schema"),
            ({"schema": ...}, "schema"),
            ({"tool": ""}, "tool"),
            ({"tool": ...}, "tool"),
            ({"tool": "t" * 1001}, "tool"),
            ({"argument": 1}, "argument"),
            ({"digest": "0F" * 16}, "digest"),
            ({"digest": "0f" * 8}, "digest"),
            ({"digest": "0f" * 16 + "\n"}, "digest"),
            ({"digest_key": ...}, "digest_key"),
            ({"digest_key": OTHER.name}, "digest_key"),
            ({"reason": None}, "reason"),
            ({"approved_by": ["rosa"]}, "approved_by"),
            ({"time": 0}, "time"),
            ({"vlaue": VALUE}, "vlaue"),
        ],
        ids=str,
    )
    def test_a_wrong_key_is_named_with_its_line(self, changed: dict[str, Any], key: str) -> None:
        assert problems(line() + b"\n" + line(**changed)) == [(key, 2)]

    @pytest.mark.parametrize(
        "wrong", [b"{", b"[]", b"1", b"\xff", b"[" * 100_000, b"1" * 5000, line()[:-1] + b', "tool": "other"}'], ids=len
    )
    def test_what_is_no_object_or_has_a_key_twice_is_an_error(self, wrong: bytes) -> None:
        assert problems(line() + b"\n\n" + wrong) == [("", 3)]

    def test_all_problems_are_reported_at_once(self) -> None:
        assert problems(line(tool="") + b"\n" + line() + b"\n" + line(digest=1)) == [("tool", 1), ("digest", 3)]

    def test_the_number_of_problems_is_bounded(self) -> None:
        assert len(problems(b"x\n" * 1000)) == MAX_PROBLEMS

    def test_an_error_says_file_and_line_and_no_content(self) -> None:
        with pytest.raises(ApprovalsError) as raised:
            parse(line(digest=VALUE), "approvals.jsonl", KEY.name)
        assert str(raised.value) == "approvals.jsonl:1: digest: must be 32 hex digits in lower case"
        assert raised.value.exit_code == EXIT_BAD_INPUT

    def test_another_key_is_told_from_a_broken_line(self) -> None:
        with pytest.raises(ApprovalsError, match=r"recorded with the digest key 4567cdef.*CITESPAN_DIGEST_KEY"):
            parse(line(digest_key=OTHER.name), "f", KEY.name)

    def test_an_error_pickles(self) -> None:
        with pytest.raises(ApprovalsError) as raised:
            parse(b"x", "f", KEY.name)
        again = pickle.loads(pickle.dumps(raised.value))
        assert (str(again), again.problems) == (str(raised.value), raised.value.problems)


class TestFile:
    @pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
    def test_one_that_others_can_write_is_not_read(self, mode: int, tmp_path: Path) -> None:
        file = tmp_path / "approvals.jsonl"
        file.write_bytes(line())
        file.chmod(mode)
        with pytest.raises(ApprovalsError, match=r"can be written by others.*chmod go-w"):
            read(file)
        file.chmod(mode & ~0o022)
        assert read(file) == line()

    def test_one_that_others_can_write_is_not_appended_to(self, tmp_path: Path) -> None:
        file = tmp_path / "approvals.jsonl"
        file.touch()
        file.chmod(0o666)
        with pytest.raises(ApprovalsError, match="can be written by others"):
            record(file, PROPOSAL, KEY)
        assert file.read_bytes() == b""

    @pytest.mark.parametrize("owner, trusted", [(os.getuid(), True), (0, True), (os.getuid() + 1, False)])
    def test_one_of_another_user_than_this_one_and_root_is_not_read(self, owner: int, trusted: bool) -> None:
        state = os.stat_result((stat.S_IFREG | 0o644, 0, 0, 1, owner, 0, 0, 0, 0, 0))
        if trusted:
            approval_file.check(state, "f")
            return
        with pytest.raises(ApprovalsError, match="another user"):
            approval_file.check(state, "f")

    def test_one_that_is_missing_or_no_file_is_an_error(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe", 0o600)
        for name, reason in {"none": "No such file", ".": "no regular file", "pipe": "no regular file"}.items():
            with pytest.raises(ApprovalsError, match=reason):
                read(tmp_path / name)

    def test_one_that_is_too_large_is_an_error(self, tmp_path: Path) -> None:
        file = tmp_path / "approvals.jsonl"
        file.write_bytes(b"\n" * (MAX_BYTES + 1))
        file.chmod(0o600)
        with pytest.raises(ApprovalsError, match="larger than"):
            read(file)

    def test_one_that_is_full_takes_no_more(self, tmp_path: Path) -> None:
        file = tmp_path / "approvals.jsonl"
        file.write_bytes(b"\n" * (MAX_BYTES - 10))
        file.chmod(0o600)
        with pytest.raises(ApprovalsError, match="is full"):
            record(file, PROPOSAL, KEY)
        assert file.stat().st_size == MAX_BYTES - 10


class TestRecording:
    def test_what_is_recorded_is_read_back(self, tmp_path: Path) -> None:
        file = tmp_path / "approvals.jsonl"
        said = record(file, PROPOSAL._replace(reason="a guide"), KEY, approved_by="rosa")
        assert parse(read(file), "f", KEY.name) == (said,)
        assert (said.digest, said.reason, said.approved_by) == (digest_of(PROPOSAL, KEY), "a guide", "rosa")

    def test_a_new_file_is_its_owners_alone(self, tmp_path: Path) -> None:
        before = os.umask(0)
        try:
            record(tmp_path / "approvals.jsonl", PROPOSAL, KEY)
        finally:
            os.umask(before)
        assert stat.S_IMODE((tmp_path / "approvals.jsonl").stat().st_mode) == 0o600

    def test_the_value_is_not_in_the_file(self, tmp_path: Path) -> None:
        record(tmp_path / "approvals.jsonl", PROPOSAL, KEY)
        assert VALUE not in (tmp_path / "approvals.jsonl").read_text()

    def test_lines_are_only_added_and_each_stands_on_its_own(self, tmp_path: Path) -> None:
        file = tmp_path / "approvals.jsonl"
        file.write_bytes(line())
        file.chmod(0o600)
        record(file, PROPOSAL, KEY)
        record(file, PROPOSAL, KEY)
        assert file.read_bytes().startswith(line() + b"\n")
        assert len(parse(read(file), "f", KEY.name)) == 3

    def test_nothing_is_added_to_a_broken_file_or_to_one_of_another_key(self, tmp_path: Path) -> None:
        file = tmp_path / "approvals.jsonl"
        record(file, PROPOSAL, OTHER)
        before = file.read_bytes()
        with pytest.raises(ApprovalsError, match=":1: digest_key"):
            record(file, PROPOSAL, KEY)
        assert file.read_bytes() == before

    @pytest.mark.parametrize(
        "value", [["a"], {"a": 1}, float("nan"), "\ud800", pytest.param(object(), id="object")], ids=repr
    )
    def test_what_is_no_leaf_cannot_be_approved(self, value: Any, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="one leaf"):
            record(tmp_path / "approvals.jsonl", PROPOSAL._replace(value=value), KEY)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("proposal", [PROPOSAL._replace(tool=""), PROPOSAL._replace(argument="a" * 1001)])
    def test_a_name_that_cannot_be_read_back_is_refused(self, proposal: Proposal, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="1 to 1000 characters"):
            record(tmp_path / "approvals.jsonl", proposal, KEY)


class TestDigests:
    def test_a_digest_names_tool_argument_value_with_its_type_and_key(self) -> None:
        parts: list[tuple[str, str, Any]] = [
            ("t", "a", 1),
            ("t", "a", "1"),
            ("t", "a", True),
            ("t", "a", None),
            ("t", "a", []),
            ("t", "a", 1.5),
            ("t", "b", 1),
            ("u", "a", 1),
        ]
        digests = {digest_of(Proposal(*part), key) for part in parts for key in (KEY, OTHER)}
        assert len(digests) == 2 * len(parts)

    def test_numbers_that_are_equal_have_one_digest(self) -> None:
        assert digest_of(Proposal("t", "a", 2.0), KEY) == digest_of(Proposal("t", "a", 2), KEY)


class TestUse:
    def test_each_line_is_good_once(self, tmp_path: Path) -> None:
        for _ in range(2):
            record(tmp_path / "f", PROPOSAL, KEY)
        recorded = RecordedApprovals(tmp_path / "f", KEY)
        assert [recorded.proposal(PROPOSAL) for _ in range(3)] == [True, True, False]

    def test_reading_the_file_again_makes_nothing_good_again(self, tmp_path: Path) -> None:
        record(tmp_path / "f", PROPOSAL, KEY)
        assert RecordedApprovals(tmp_path / "f", KEY).proposal(PROPOSAL)
        (tmp_path / "link").symlink_to(tmp_path / "f")
        assert not RecordedApprovals(tmp_path / "link", KEY).proposal(PROPOSAL)
        record(tmp_path / "f", PROPOSAL, KEY)
        assert RecordedApprovals(tmp_path / "f", KEY).proposal(PROPOSAL)

    def test_of_many_threads_each_line_lets_one_through(self, tmp_path: Path) -> None:
        (tmp_path / "f").write_bytes((line(digest=digest_of(PROPOSAL, KEY)) + b"\n") * 100)
        (tmp_path / "f").chmod(0o600)
        recorded = RecordedApprovals(tmp_path / "f", KEY)
        start = threading.Barrier(8)

        def take(_: int) -> int:
            start.wait()
            return [recorded.proposal(PROPOSAL) for _ in range(100)].count(True)

        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            with ThreadPoolExecutor(8) as pool:
                let_through = sum(pool.map(take, range(8)))
        finally:
            sys.setswitchinterval(interval)
        assert let_through == 100

    def test_what_is_added_after_it_was_read_is_not_seen(self, tmp_path: Path) -> None:
        (tmp_path / "f").touch(0o600)
        recorded = RecordedApprovals(tmp_path / "f", KEY)
        record(tmp_path / "f", PROPOSAL, KEY)
        assert not recorded.proposal(PROPOSAL)

    def test_a_line_that_says_another_tool_than_its_digest_approves_nothing(self, tmp_path: Path) -> None:
        """What a person reads in the file is what it approves."""
        (tmp_path / "f").write_bytes(line(tool="list_files", digest=digest_of(PROPOSAL, KEY)))
        (tmp_path / "f").chmod(0o600)
        assert not RecordedApprovals(tmp_path / "f", KEY).proposal(PROPOSAL)
