"""Approvals that somebody wants to use twice, or to have written elsewhere."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.stores.test_approval_file import KEY, PROPOSAL

from citespan.stores.approval_file import ApprovalsError
from citespan.stores.approvals import RecordedApprovals, record


def _link(old: Path, new: Path) -> None:
    new.hardlink_to(old)


def _symlink(old: Path, new: Path) -> None:
    new.symlink_to(old)


def _rename(old: Path, new: Path) -> None:
    old.rename(new)


@pytest.mark.parametrize("again", [_link, _symlink, _rename])
def test_another_name_of_the_file_makes_nothing_good_again(again: Callable[[Path, Path], None], tmp_path: Path) -> None:
    """Reading it again makes nothing good again, under whatever name (ADR 0017)."""
    record(tmp_path / "f", PROPOSAL, KEY)
    assert RecordedApprovals(tmp_path / "f", KEY).proposal(PROPOSAL)
    again(tmp_path / "f", tmp_path / "g")
    assert not RecordedApprovals(tmp_path / "g", KEY).proposal(PROPOSAL)


def test_nor_does_another_file_of_its_name(tmp_path: Path) -> None:
    """An editor writes a new file and gives it the old one's name."""
    record(tmp_path / "f", PROPOSAL, KEY)
    assert RecordedApprovals(tmp_path / "f", KEY).proposal(PROPOSAL)
    (tmp_path / "new").write_bytes((tmp_path / "f").read_bytes())
    (tmp_path / "new").chmod(0o600)
    (tmp_path / "new").replace(tmp_path / "f")
    assert not RecordedApprovals(tmp_path / "f", KEY).proposal(PROPOSAL)


def test_two_that_read_one_file_under_two_names_share_its_lines(tmp_path: Path) -> None:
    record(tmp_path / "f", PROPOSAL, KEY)
    (tmp_path / "g").hardlink_to(tmp_path / "f")
    one, other = RecordedApprovals(tmp_path / "f", KEY), RecordedApprovals(tmp_path / "g", KEY)
    assert (one.proposal(PROPOSAL), other.proposal(PROPOSAL)) == (True, False)


def test_a_file_that_took_the_name_of_a_used_one_has_its_own_uses_too(tmp_path: Path) -> None:
    """Two lines, each used under the name that its file then had: none is left in either."""
    for name in ("f", "g"):
        record(tmp_path / name, PROPOSAL, KEY)
        assert RecordedApprovals(tmp_path / name, KEY).proposal(PROPOSAL)
    (tmp_path / "g").replace(tmp_path / "f")
    assert not RecordedApprovals(tmp_path / "f", KEY).proposal(PROPOSAL)


def test_other_files_are_not_touched_by_what_was_used(tmp_path: Path) -> None:
    for name in ("f", "g"):
        record(tmp_path / name, PROPOSAL, KEY)
    assert RecordedApprovals(tmp_path / "f", KEY).proposal(PROPOSAL)
    assert RecordedApprovals(tmp_path / "g", KEY).proposal(PROPOSAL)


def test_a_new_file_is_not_made_where_a_link_points(tmp_path: Path) -> None:
    """Whoever can plant a link beside the file must not choose where a person's approval creates one."""
    (tmp_path / "home").mkdir()
    (tmp_path / "f").symlink_to(tmp_path / "home" / "planted")
    with pytest.raises(ApprovalsError, match="cannot be written"):
        record(tmp_path / "f", PROPOSAL, KEY)
    assert os.listdir(tmp_path / "home") == []


def test_a_link_to_a_file_that_is_there_is_followed(tmp_path: Path) -> None:
    record(tmp_path / "f", PROPOSAL, KEY)
    (tmp_path / "link").symlink_to(tmp_path / "f")
    record(tmp_path / "link", PROPOSAL, KEY)
    assert len(RecordedApprovals(tmp_path / "f", KEY)) == 2
