"""Previews: opt-in, cut, redacted."""

from __future__ import annotations

import time
from typing import Any

import pytest

from citespan.otel.preview import MAX_PREVIEW, preview


@pytest.mark.parametrize(
    "value,shown",
    [
        ("src/app.py", "src/app.py"),
        ("mail ann@example.org now", "mail <email> now"),
        ("https://ann:pw@host/x", "https://<secret>@host/x"),
        ("password=hunter2", "password=<secret>"),
        ("Authorization: Bearer", "Authorization: <secret>"),
        ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "<token>"),
        ("card 4111 1111 1111 1111", "card <number>"),
        (None, "None"),
        (True, "True"),
        (12, "12"),
        (2**1100, "<number>"),
        ([1, 2], "<list of 2>"),
        (object(), "<opaque>"),
        ("a\ud800", "a?"),
    ],
)
def test_what_a_preview_shows(value: Any, shown: str) -> None:
    assert preview(value) == shown


def test_a_preview_is_cut() -> None:
    assert len(preview("word " * 1000)) == MAX_PREVIEW


@pytest.mark.parametrize("text", ["a" * 10**6, "a@" * 10**5, "1-" * 10**5, "a-" * 10**5, "-----BEGIN " * 10**5])
def test_a_preview_takes_no_long_time_for_any_text(text: str) -> None:
    started = time.perf_counter()
    preview(text)
    assert time.perf_counter() - started < 0.5
