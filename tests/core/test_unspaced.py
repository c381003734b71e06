"""What a human said without blanks: names and numbers between characters of scripts that have none, and lists."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from tests.core.helpers import Agent


def said(message: str, value: Any) -> bool:
    agent = Agent()
    agent.run.user(message)
    return agent.kind(value) == "user"


# between Chinese, Japanese and Korean characters


@pytest.mark.parametrize(
    "message, value",
    [
        ("请查看summary.docx然后回复", "summary.docx"),
        ("ファイルnotes.mdを開いて", "notes.md"),
        ("파일plan.csv를열어줘", "plan.csv"),
        ("パスsrc/pier.pyを直して", "src/pier.py"),
        ("写信给kim@corp.example谢谢", "kim@corp.example"),
        ("打开https://docs.example/a吧", "https://docs.example/a"),
    ],
)
def test_a_file_name_a_path_or_an_address_is_said(message: str, value: str) -> None:
    assert said(message, value)


@pytest.mark.parametrize(
    "message, value",
    [
        ("工单AB-3391的状态", "AB-3391"),
        ("チケットAB-3391を閉じて", "AB-3391"),
        ("티켓AB-3391번", "AB-3391"),
        ("分支feature_x已合并", "feature_x"),
        ("提交9f3c2ab1的作者", "9f3c2ab1"),
    ],
)
def test_an_id_is_said(message: str, value: str) -> None:
    assert said(message, value)


@pytest.mark.parametrize(
    "message, value",
    [
        ("编号58213的订单", 58213),
        ("编号58213的订单", "58213"),
        ("注文58213番を見て", 58213),
        ("주문58213번의상태", 58213),
        ("价格3.5元", 3.5),
        ("温度-40度", -40),
        ("共1,250元", 1250),
    ],
)
def test_a_number_is_said(message: str, value: Any) -> None:
    assert said(message, value)


@pytest.mark.parametrize(
    "message, value",
    [
        ("请查看summary.docx然后回复", "summary"),
        ("请查看summary.docx然后回复", "docx"),
        ("请查看summary.docx然后回复", "ummary.docx"),
        ("パスsrc/pier.pyを直して", "pier.py"),
        ("写信给kim@corp.example谢谢", "corp.example"),
        ("写信给kim@corp.example谢谢", "kim"),
        ("工单AB-3391的状态", "3391"),
        ("工单AB-3391的状态", 3391),
        ("分支feature_x已合并", "feature"),
        ("编号58213的订单", "5821"),
        ("编号58213的订单", 8213),
        ("价格3.5元", 3),
        ("价格3.5元", 5),
        ("温度-40度", 40),
        ("共1,250元", 250),
        ("订单A58213号", 58213),
    ],
)
def test_a_part_of_one_is_not(message: str, value: Any) -> None:
    assert not said(message, value)


@pytest.mark.parametrize("message, value", [("请打开报告", "报"), ("東京から大阪まで", "東"), ("서울의날씨", "서울")])
def test_a_part_of_a_row_of_such_characters_is_not(message: str, value: str) -> None:
    assert not said(message, value)


def test_nor_is_a_part_of_a_word_in_another_script_that_joins_letters() -> None:
    assert not said("ürgent58213", 58213)


# lists without blanks, and labels


@pytest.mark.parametrize("name", ["left.csv", "right.csv"])
def test_each_name_of_a_list_of_two_is_said(name: str) -> None:
    assert said("compare left.csv,right.csv", name)


@pytest.mark.parametrize("name", ["left.csv", "mid.csv", "right.csv"])
@pytest.mark.parametrize("comma", [",", ";", ", "])
def test_and_each_of_a_list_of_three(name: str, comma: str) -> None:
    assert said(f"compare {comma.join(('left.csv', 'mid.csv', 'right.csv'))}", name)


def test_a_part_of_a_name_in_a_list_is_not() -> None:
    assert not said("compare left.csv,right.csv", "left")
    assert not said("compare left.csv,right.csv", "csv")


@pytest.mark.parametrize("value", ["1", "250", 1, 250])
def test_nor_is_a_part_of_a_number_with_a_comma(value: Any) -> None:
    assert not said("the sum is 1,250", value)


@pytest.mark.parametrize(
    "message, value",
    [
        ("ticket:58213", 58213),
        ("ticket:58213", "58213"),
        ("ticket:58213, please", 58213),
        ("see ticket:58213.", "58213"),
        ("branch:feature_x", "feature_x"),
    ],
)
def test_what_stands_behind_a_label_is_said(message: str, value: Any) -> None:
    assert said(message, value)


@pytest.mark.parametrize(
    "message, value",
    [
        ("it ended 3:12", 12),
        ("it ended 3:12", "12"),
        ("it ended 3:12", 3),
        ("在8:45开会", 45),
        ("build 3:12:58213", 58213),
        ("ticket:58213x", 58213),
    ],
)
def test_a_part_of_a_time_or_a_score_is_not(message: str, value: Any) -> None:
    assert not said(message, value)


# one text, two ways to write it down

NAME = "pâté-20931.txt"
FORMS = ["NFC", "NFD"]


@pytest.mark.parametrize("argument", FORMS)
@pytest.mark.parametrize("message", FORMS)
def test_an_accent_is_the_same_however_it_was_written_down(message: str, argument: str) -> None:
    assert said(unicodedata.normalize(message, f"open {NAME} now"), unicodedata.normalize(argument, NAME))


def test_and_so_is_a_korean_syllable() -> None:
    assert said(unicodedata.normalize("NFD", "파일 보고서.pdf 열어"), "보고서.pdf")


@pytest.mark.parametrize("form", FORMS)
def test_a_name_without_its_accent_is_another_name(form: str) -> None:
    assert not said(unicodedata.normalize(form, f"open {NAME} now"), "pate-20931.txt")


@pytest.mark.parametrize("piece", ["p", "pa", "pât", "té-20931.txt"])
def test_nor_is_it_cut_at_its_accent(piece: str) -> None:
    assert not said(unicodedata.normalize("NFD", f"open {NAME} now"), piece)
