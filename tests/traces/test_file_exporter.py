"""Spans into a trace file, one batch a line."""

from __future__ import annotations

import errno
import multiprocessing
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExportResult
from opentelemetry.trace import SpanContext

from citespan.errors import TraceFileError
from citespan.traces.file_exporter import OtlpJsonFileExporter
from citespan.traces.reader import read_spans


def span(name: str = "n") -> ReadableSpan:
    return ReadableSpan(name, SpanContext(1, 1, is_remote=False))


def names(path: Path) -> list[str]:
    return [record.name for record in read_spans(path)]


def test_spans_of_a_provider_can_be_read_back(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OtlpJsonFileExporter(file)))
    tracer = provider.get_tracer("x")
    with tracer.start_as_current_span("outer"), tracer.start_as_current_span("inner"):
        pass
    provider.shutdown()
    inner, outer = read_spans(file)
    assert (inner.name, outer.name, inner.parent_id) == ("inner", "outer", outer.span_id)
    assert inner.scope == "x"


def test_each_batch_is_one_line_and_what_is_there_stays(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    for batch in (["a", "b"], [], ["c"]):
        exporter = OtlpJsonFileExporter(file)
        assert exporter.export([span(name) for name in batch]) is SpanExportResult.SUCCESS
        exporter.shutdown()
    assert names(file) == ["a", "b", "c"]
    assert file.read_bytes().count(b"\n") == 2


def test_lines_of_many_threads_do_not_mix(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(OtlpJsonFileExporter(file)))
    tracer = provider.get_tracer("x")

    def work() -> None:
        for _ in range(50):
            tracer.start_span("n" * 5000).end()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    provider.shutdown()
    assert names(file) == 400 * ["n" * 5000]


def _write(path: Path, name: str) -> None:
    exporter = OtlpJsonFileExporter(path)
    for _ in range(50):
        exporter.export([span(name * 20_000)])
    exporter.shutdown()


def test_lines_of_many_processes_do_not_mix(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_write, args=(file, name)) for name in "abc"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(name[0] for name in names(file)) == 50 * ["a"] + 50 * ["b"] + 50 * ["c"]


def test_a_file_that_cannot_be_opened_says_so(tmp_path: Path) -> None:
    with pytest.raises(TraceFileError, match=r"missing.t\.jsonl: No such file"):
        OtlpJsonFileExporter(tmp_path / "missing" / "t.jsonl")


def test_after_shutdown_nothing_is_written(tmp_path: Path) -> None:
    exporter = OtlpJsonFileExporter(tmp_path / "t.jsonl")
    exporter.shutdown()
    exporter.shutdown()
    assert exporter.export([span()]) is SpanExportResult.FAILURE
    assert exporter.force_flush()


def test_a_full_disk_fails_the_batch_and_spoils_no_later_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "t.jsonl"
    exporter = OtlpJsonFileExporter(file)
    write, failing = os.write, [True]

    def short(handle: int, data: Any) -> int:
        if not failing:
            return write(handle, data)
        if failing == [True]:
            failing.append(True)
            return write(handle, bytes(data)[:10])
        raise OSError(errno.ENOSPC, "disk full")

    monkeypatch.setattr("citespan.traces.file_exporter.os.write", short)
    assert exporter.export([span("lost")]) is SpanExportResult.FAILURE
    failing.clear()
    assert exporter.export([span("kept")]) is SpanExportResult.SUCCESS
    first, second = file.read_bytes().splitlines()
    assert len(first) == 10
    assert b"kept" in second
