"""Keyed digests, and where their key is from."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citespan.otel.digest import Digester, find_key, key_file

SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text())


def test_a_digest_is_sixteen_hex_digits_and_depends_on_the_key() -> None:
    one, other = Digester(b"one"), Digester(b"other")
    assert len(one.digest("a.py")) == 16
    assert int(one.digest("a.py"), 16) >= 0
    assert one.digest("a.py") == Digester(b"one").digest("a.py") != other.digest("a.py")
    assert one.key_id != other.key_id


@given(SCALARS, SCALARS)
def test_equal_json_values_have_one_digest_and_others_have_not(left: object, right: object) -> None:
    digester = Digester(b"key")
    typed = isinstance(left, bool) == isinstance(right, bool) and left == right
    assert (digester.digest(left) == digester.digest(right)) is typed


def test_values_without_a_text_form_have_a_digest_too() -> None:
    assert len({Digester(b"key").digest(value) for value in ["\ud800", [], {}, object, 10**400]}) == 5


def test_the_variable_wins(tmp_path: Path) -> None:
    environ = {"CITESPAN_DIGEST_KEY": "secret", "XDG_STATE_HOME": str(tmp_path)}
    assert find_key(environ) == find_key({"CITESPAN_DIGEST_KEY": " secret "})
    assert list(tmp_path.iterdir()) == []


def test_a_key_file_is_made_once_for_the_user_alone(tmp_path: Path) -> None:
    environ = {"XDG_STATE_HOME": str(tmp_path / "state")}
    first = find_key(environ)
    file = key_file(environ)
    assert find_key(environ) == first
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert [entry.name for entry in file.parent.iterdir()] == ["digest.key"]


def test_a_key_file_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    environ = {"XDG_STATE_HOME": str(tmp_path)}
    first = find_key(environ)
    key_file(environ).chmod(0o644)
    assert find_key(environ) == first
    assert stat.S_IMODE(key_file(environ).stat().st_mode) == 0o600


def test_many_processes_that_start_at_once_agree_on_one_key(tmp_path: Path) -> None:
    script = "import os; from citespan.otel.digest import find_key; print(find_key(os.environ).hex())"
    environ = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    environ.pop("CITESPAN_DIGEST_KEY", None)
    starts = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environ)
        for _ in range(6)
    ]
    assert len({start.communicate()[0] for start in starts}) == 1


@pytest.mark.parametrize("content", ["", "no key", "ab" * 31])
def test_a_damaged_key_file_is_left_alone_and_the_key_is_random(tmp_path: Path, content: str) -> None:
    environ = {"XDG_STATE_HOME": str(tmp_path)}
    file = key_file(environ)
    file.parent.mkdir(parents=True)
    file.write_text(content)
    assert find_key(environ) != find_key(environ)
    assert file.read_text() == content


def test_a_home_that_cannot_be_written_gives_a_random_key() -> None:
    assert find_key({"XDG_STATE_HOME": "/dev/null"}) != find_key({"XDG_STATE_HOME": "/dev/null"})


def test_a_key_file_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    environ = {"XDG_STATE_HOME": str(tmp_path)}
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("00" * 32)
    key_file(environ).parent.mkdir(parents=True)
    key_file(environ).symlink_to(elsewhere)
    assert find_key(environ) != bytes(32)
