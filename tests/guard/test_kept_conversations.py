"""What is kept of conversations between two runs of their agent."""

from __future__ import annotations

import pytest

from citespan.core.policy import Policy
from citespan.guard import conversations
from citespan.guard.conversations import Conversations
from citespan.guard.run import Run


def filled(kept: Conversations, key: str, size: int = 10) -> Run:
    run = Run()
    kept.join("test", key, run)
    run.state.ledger.record("read", b'"' + b"x" * (size - 2) + b'"')
    return run


def test_runs_of_one_thread_share_a_ledger_and_others_do_not() -> None:
    """The thread is the key; each framework has its own."""
    kept = Conversations()
    assert filled(kept, "T1").state is filled(kept, "T1").state
    assert filled(kept, "T1").state is not filled(kept, "T2").state
    other = Run()
    kept.join("other", "T1", other)
    assert other.state is not filled(kept, "T1").state


def test_the_longest_unused_one_is_forgotten_beyond_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """It starts anew then: its values are uncited."""
    monkeypatch.setattr(conversations, "MAX_CONVERSATIONS", 2)
    kept = Conversations()
    first, second = filled(kept, "T1"), filled(kept, "T2")
    assert filled(kept, "T1").state is first.state
    filled(kept, "T3")
    assert filled(kept, "T1").state is first.state
    assert filled(kept, "T2").state is not second.state


def test_all_ledgers_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many threads with large results forget the oldest; the newest one stays, however large."""
    monkeypatch.setattr(conversations, "MAX_BYTES", 250)
    kept = Conversations()
    states = [filled(kept, name, 100).state for name in ("T1", "T2", "T3")]
    joined = Run()
    kept.join("test", "T4", joined)
    assert filled(kept, "T3").state is states[2]
    assert filled(kept, "T1").state is not states[0]
    alone = Conversations()
    large = filled(alone, "T1", 1000)
    assert filled(alone, "T1").state is large.state


def test_a_message_is_heard_once_and_kept_as_a_digest() -> None:
    """Frameworks hand over the whole history each time; it may be as long as a book."""
    conversation = Conversations().join("test", "T1", Run(policy=Policy()))
    assert conversation.unheard(["a", "b"]) == ["a", "b"]
    assert conversation.unheard(["a", "b", "c" * 10_000]) == ["c" * 10_000]
    assert all(len(digest) == 16 for digest in conversation._heard)


def test_threads_of_one_name_in_two_stores_are_two() -> None:
    """Two agents with checkpointers of their own may both call a thread "1"."""
    kept = Conversations()
    first, second = Run(), Run()
    kept.join("test", "1", first, "memory-1")
    kept.join("test", "1", second, "memory-2")
    assert first.state is not second.state


def test_a_thread_may_have_further_names_a_bounded_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain of responses is known by its newest one; the oldest names are forgotten."""
    monkeypatch.setattr(conversations, "MAX_NAMES", 2)
    kept = Conversations()
    for number in range(3):
        kept.name("test", f"response-{number}", "T1")
    assert [kept.thread("test", f"response-{number}") for number in range(3)] == ["response-0", "T1", "T1"]
    assert kept.thread("other", "response-2") == "response-2"
    assert kept.thread("test", None) is None
