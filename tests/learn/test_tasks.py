"""Near-copies of a task count as one."""

from __future__ import annotations

from tests.replay.recordings import call
from tests.replay.recordings import run as recorded

from citespan.learn import Tasks

LONG = "Please move the report of the second quarter into the folder that we made for it last week, and tell Kim"


def together(*runs: tuple[str, list[str]], **keys: str) -> bool:
    tasks = Tasks()
    numbers = [tasks.add(recorded(said=tuple(texts), **{"id": name} | keys)) for name, texts in runs]
    return len({tasks.task(number) for number in numbers}) == 1


def test_the_same_words_in_other_case_and_punctuation_are_one_task() -> None:
    assert together(("a", [LONG]), ("b", [LONG.upper() + "!"]))


def test_a_long_message_in_common_makes_one_task() -> None:
    assert together(("a", [LONG, "thanks"]), ("b", ["hello", LONG]))


def test_most_of_the_words_in_common_make_one_task() -> None:
    assert together(("a", [LONG]), ("b", [LONG.replace("second", "third")]))


def test_a_short_answer_in_common_makes_none() -> None:
    assert not together(
        ("a", ["yes, please do", "cut the crane down by the river"]), ("b", ["yes, please do", "sell it"])
    )


def test_the_name_of_a_task_makes_one_within_its_suite() -> None:
    assert together(("a", ["cut"]), ("b", ["sell"]), task="7", suite="s")


def test_the_same_calls_with_the_same_arguments_are_one_task() -> None:
    tasks = Tasks()
    calls = [call("look"), call("cut", name="a"), call("sell", name="a")]
    numbers = [tasks.add(recorded(*calls, said=(said,), id=said)) for said in ("do it", "go on")]
    assert tasks.task(numbers[0]) == tasks.task(numbers[1])
    assert len(tasks) == 1
