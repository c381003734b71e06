"""What the options of `citespan run` come to, and how the processes that it starts read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from citespan.core.policy import Policy, ToolRule
from citespan.core.resolve import digest
from citespan.errors import NotGuarded, UsageError
from citespan.launch.settings import Settings, asked, decode, enforces, under

POLICY = Policy(
    tools={"a": ToolRule(mode="enforce"), "b": ToolRule(mode="tag"), "c": ToolRule(mode="off"), "d": ToolRule()}
)


@pytest.fixture(autouse=True)
def no_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CITESPAN_POLICY", raising=False)


def policy(folder: Path, mode: str = "enforce") -> str:
    path = folder / "citespan.toml"
    path.write_text(f'version = 1\n[defaults]\nmode = "{mode}"\n')
    return str(path)


def test_settings_survive_the_environment() -> None:
    settings = Settings(True, "/p.toml", "0123", "tag", False, "/tmp/x", True, True)
    assert decode(settings.encode()) == settings


@pytest.mark.parametrize("value", ["required", "required {}{", 'optional {"colour": 1}', "optional []", "optional 1"])
def test_what_another_version_wrote_is_not_guessed_at(value: str) -> None:
    with pytest.raises(NotGuarded, match="another version"):
        decode(value)


@pytest.mark.parametrize(
    "mode, modes",
    [
        ("enforce", ["enforce", "tag", "off", None]),
        ("tag", ["tag", "tag", "off", None]),
        ("off", ["off", "off", "off", None]),
    ],
)
def test_a_tool_keeps_a_weaker_mode_and_no_stronger_one(mode: str, modes: list[str | None]) -> None:
    found = under(POLICY, mode)  # type: ignore[arg-type]
    assert found.mode == mode
    assert [rule.mode for rule in found.tools.values()] == modes


def test_a_policy_enforces_if_any_part_of_it_does() -> None:
    assert enforces(Policy())
    assert enforces(Policy(mode="tag", tools={"a": ToolRule(mode="enforce")}))
    assert not enforces(Policy(mode="tag", tools={"a": ToolRule(mode="off")}))


def test_nothing_asked_for_tags_only() -> None:
    assert asked(None, required=False, mode=None) == Settings(mode="tag", undecided=True)


def test_required_enforces_the_defaults() -> None:
    settings = asked(None, required=True, mode=None)
    assert settings == Settings(required=True)
    assert settings.chosen() == Policy()


def test_a_policy_that_enforces_requires_a_guard(tmp_path: Path) -> None:
    assert asked(policy(tmp_path), required=False, mode=None).required
    assert not asked(policy(tmp_path, "tag"), required=False, mode=None).required
    assert not asked(policy(tmp_path), required=False, mode="tag").required


def test_a_policy_is_found_by_the_environment_and_named_in_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CITESPAN_POLICY", "citespan.toml")
    settings = asked(None, required=False, mode=None)
    assert (settings.policy, settings.digest) == (str(tmp_path / "citespan.toml"), digest(Policy()))


def test_a_policy_that_changed_since_is_not_taken(tmp_path: Path) -> None:
    settings = asked(policy(tmp_path), required=False, mode=None)
    policy(tmp_path, "tag")
    with pytest.raises(NotGuarded, match="changed since"):
        settings.chosen()


def test_required_and_off_exclude_each_other() -> None:
    with pytest.raises(UsageError, match="exclude each other"):
        asked(None, required=True, mode="off")


def test_what_an_outer_run_requires_an_inner_one_requires_too(tmp_path: Path) -> None:
    outer = asked(policy(tmp_path), required=False, mode=None)
    assert asked(None, required=False, mode="tag", outer=outer).required


def test_an_inner_run_has_the_mode_of_the_outer_one_unless_it_says_otherwise(tmp_path: Path) -> None:
    outer = asked(policy(tmp_path), required=False, mode="tag")
    assert asked(None, required=False, mode=None, outer=outer).mode == "tag"
    assert asked(policy(tmp_path), required=False, mode=None, outer=outer).mode is None
    assert asked(None, required=True, mode=None, outer=asked(None, required=False, mode=None)).mode is None
