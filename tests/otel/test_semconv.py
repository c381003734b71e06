"""The table of names: complete, consistent, and what its documents say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.context import Context
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.otel.values import assumed, judged, observed, tag

from citespan import semconv
from citespan.core.kinds import KINDS
from citespan.otel.names import argument_keys
from citespan.otel.telemetry import OtelTelemetry

ROOT = Path(__file__).parents[2]
OURS = [attribute.key for attribute in semconv.ATTRIBUTES if attribute.ours]


def leaves_and_namespaces(keys: list[str]) -> tuple[set[str], set[str]]:
    leaves = {key for key in keys if "<" not in key}
    namespaces = {".".join(key.split(".")[:end]) for key in keys for end in range(1, key.count(".") + 1)}
    return leaves, namespaces


def test_no_key_is_both_a_leaf_and_a_namespace() -> None:
    leaves, namespaces = leaves_and_namespaces([attribute.key for attribute in semconv.ATTRIBUTES])
    assert not leaves & namespaces
    shown = [key for name in ("a", "a.b", "a.b.c") for key in argument_keys(name)[1:]]
    leaves, namespaces = leaves_and_namespaces(shown)
    assert not leaves & {namespace.replace("\\", "") for namespace in namespaces if not namespace.endswith("\\")}


def test_every_key_is_there_once() -> None:
    keys = [attribute.key for attribute in semconv.ATTRIBUTES]
    assert len(keys) == len(set(keys))


def test_every_constant_of_ours_is_in_the_table() -> None:
    constants = {
        value for name, value in vars(semconv).items() if name.isupper() and str(value).startswith("provenance.")
    }
    documented = {key.partition("<")[0] for key in OURS} | {semconv.EVENT_UNCITED}
    assert constants == documented


def test_examples_have_the_type_that_the_table_says() -> None:
    types: dict[str, type] = {"string": str, "int": int, "boolean": bool, "string[]": list}
    for attribute in semconv.ATTRIBUTES:
        example = json.loads(attribute.example)
        assert type(example) is types[attribute.type], attribute.key
        if attribute.members:
            assert example in {member.value for member in attribute.members}


def test_the_kinds_are_those_of_the_core() -> None:
    assert tuple(member.value for member in semconv.KIND_MEMBERS) == KINDS


def test_everything_that_a_call_emits_is_in_the_table(telemetry: OtelTelemetry, spans: InMemorySpanExporter) -> None:
    telemetry.previews = True
    tags = [tag((f"a{index}",), 1, observed(weak=True, projection="basename")) for index in range(3)]
    tags += [tag(("files", index), "zz", assumed()) for index in range(300)]
    context = {"call_id": "c", "run_id": "r", "run_name": "n", "step": "1", "evicted": 3}
    call, decision = judged(tags, arguments={"a0": 1}, **context)
    telemetry.start_run("n", "r", Context()).end()
    telemetry.start_call(call, decision, Context(), guard_seconds=0.0).end(note="n")
    known = {
        place: [each.key.partition("<")[0] for each in semconv.ATTRIBUTES if place in each.where]
        for place in ("span", "event", "link")
    }
    for span in spans.get_finished_spans():
        carried: list[tuple[str, Any]] = [("span", span.attributes)]
        carried += [("event", event.attributes) for event in span.events]
        carried += [("link", link.attributes) for link in span.links]
        for place, attributes in carried:
            for key in attributes:
                assert any(key == each or (each.endswith(".") and key.startswith(each)) for each in known[place]), key


def test_the_documents_are_up_to_date() -> None:
    check = subprocess.run(
        [sys.executable, ROOT / "docs" / "generate.py", "--check"], capture_output=True, text=True, check=False
    )
    assert check.returncode == 0, check.stderr


def test_the_registry_file_refers_to_what_it_defines() -> None:
    yaml = pytest.importorskip("yaml")
    registry = yaml.safe_load((ROOT / "semconv" / "citespan.yaml").read_text())
    assert registry["file_format"] == "definition/2"
    defined = {attribute["key"] for attribute in registry["attributes"]}
    used = {
        reference["ref"]
        for signal in (*registry["spans"], *registry["events"], *registry["metrics"])
        for reference in signal.get("attributes", ())
    }
    assert used <= defined == {key.partition(".<")[0] for key in OURS}
    for attribute in registry["attributes"]:
        if isinstance(attribute["type"], dict):
            assert all(isinstance(member["id"], str) for member in attribute["type"]["members"])
