"""The configurations as files: each program takes its own, and what they name exists."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.collector.programs import CONFIG, ROOT, run

from citespan import semconv

COLLECTORS = ["gateway.yaml", "agent.yaml"]
RULES = sorted((CONFIG / "prometheus" / "rules").glob("*.yaml"))
FILES = sorted(path for path in CONFIG.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
PAGES = [ROOT / "docs" / "collector.md", ROOT / "docs" / "jaeger-tempo.md"]
TEXTS = [*(path for path in FILES if path.suffix in {".yaml", ".json"}), ROOT / "docker-compose.yml", *PAGES]
DASHBOARD = json.loads((CONFIG / "grafana" / "dashboards" / "citespan.json").read_text())

#: the counters of gateway.yaml's `span_metrics`, and what the SDK's own metrics are called in Prometheus
COUNTERS = {"provenance_calls_total", "provenance_events_total"}


@pytest.mark.parametrize("name", COLLECTORS)
def test_the_collector_takes_its_configurations(name: str, tmp_path: Path) -> None:
    """Every component is known, and every option of each; a mistake would be seen."""
    state = {"CITESPAN_STATE": str(tmp_path), "CITESPAN_AGENT_STATE": str(tmp_path)}
    run("otelcol", "validate", "--config", str(CONFIG / name), env=state)
    wrong = tmp_path / name
    wrong.write_text((CONFIG / name).read_text().replace("retry_on_failure", "retry_on_failures"))
    with pytest.raises(AssertionError, match="retry_on_failures"):
        run("otelcol", "validate", "--config", str(wrong), env=state)


def test_the_add_on_fits_beside_any_collector_and_is_a_part_of_the_gateway(tmp_path: Path) -> None:
    """With a configuration that receives OTLP and knows nothing of citespan; no part of it is written twice."""
    theirs = tmp_path / "theirs.yaml"
    theirs.write_text(
        "receivers: {otlp: {protocols: {grpc: }}}\nexporters: {otlp_grpc: {endpoint: 'backend:4317'}}\n"
        "service: {pipelines: {traces: {receivers: [otlp], exporters: [otlp_grpc]}}}\n"
    )
    run("otelcol", "validate", "--config", str(theirs), "--config", str(CONFIG / "add-on.yaml"))
    gateway, added = (yaml.safe_load((CONFIG / name).read_text()) for name in ("gateway.yaml", "add-on.yaml"))
    for section in ("processors", "connectors"):
        for name, part in added[section].items():
            assert part == gateway[section][name], name
    assert added["exporters"]["prometheus/citespan"] == gateway["exporters"]["prometheus"]


def test_jaeger_takes_its_configuration() -> None:
    """The same for Jaeger, which is a collector as well."""
    run("jaeger", "validate", "--config", str(CONFIG / "jaeger" / "jaeger.yaml"))


def test_the_built_collector_has_exactly_what_the_configurations_name(tmp_path: Path) -> None:
    """A component that no file names would only make the build longer."""
    built = yaml.safe_load(run("otelcol", "components"))
    sections = ("receivers", "processors", "exporters", "connectors", "extensions")
    has = {(section, each["name"]) for section in sections for each in built[section]}
    configurations = [yaml.safe_load((CONFIG / name).read_text()) for name in COLLECTORS]
    named = {
        (section, name.partition("/")[0])
        for configuration in configurations
        for section in sections
        for name in configuration.get(section, ())
    }
    assert has == named


def test_prometheus_takes_its_configuration_and_rules() -> None:
    """`promtool check`, on the file and on the rules that it loads."""
    run("promtool", "check", "config", str(CONFIG / "prometheus" / "prometheus.yaml"))
    run("promtool", "check", "rules", *map(str, RULES))


def test_the_rules_do_what_their_unit_tests_say() -> None:
    """`promtool test rules`: first occurrences, restarts, gaps, severities and labels."""
    tests = sorted((CONFIG / "prometheus" / "tests").glob("*.yaml"))
    assert tests
    run("promtool", "test", "rules", *map(str, tests))


def test_a_rule_that_misses_the_first_occurrence_fails_its_unit_test(tmp_path: Path) -> None:
    """With `increase()` alone the unit tests do not pass: they can fail."""
    shutil.copytree(CONFIG / "prometheus", tmp_path / "prometheus")
    recording = tmp_path / "prometheus" / "rules" / "recording.yaml"
    text = recording.read_text()
    recording.write_text(re.sub(r"\n +or provenance_\w+\{.*\}\n +unless .*", "", text))
    assert recording.read_text() != text
    with pytest.raises(AssertionError, match="the first occurrence of a blocked call counts"):
        run("promtool", "test", "rules", str(tmp_path / "prometheus" / "tests" / "alerts.yaml"))


def test_alertmanager_takes_its_configuration() -> None:
    """`amtool check-config`."""
    run("amtool", "check-config", str(CONFIG / "alertmanager" / "alertmanager.yaml"))


def test_tempo_takes_its_configuration() -> None:
    """Where a Tempo is on the PATH; elsewhere the file is read as YAML at least."""
    path = CONFIG / "tempo" / "tempo.yaml"
    assert yaml.safe_load(path.read_text())["distributor"]["receivers"].keys() == {"otlp"}
    if shutil.which("tempo"):
        run("tempo", "-config.verify", f"-config.file={path}", "-config.expand-env=true")


def test_the_compose_file_is_valid_and_listens_on_loopback_only() -> None:
    """`docker-compose config`; images are pinned, ports are published to loopback, what is mounted is there."""
    compose = ROOT / "docker-compose.yml"
    run("docker-compose", "--file", str(compose), "config", "--quiet")
    services = yaml.safe_load(compose.read_text())["services"]
    for name, service in services.items():
        assert "build" in service or re.search(r":v?\d+\.\d+\.\d+$", service["image"]), name
        for port in service.get("ports", ()):
            assert port.startswith("127.0.0.1:"), name
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            assert not source.startswith(".") or (ROOT / source).exists(), source


def test_the_collectors_and_stores_listen_on_loopback_unless_told_otherwise() -> None:
    """No file names another address to listen on; every default is loopback."""
    for name in (*COLLECTORS, "add-on.yaml", "jaeger/jaeger.yaml", "tempo/tempo.yaml"):
        text = (CONFIG / name).read_text()
        assert "0.0.0.0" not in text
        for default in re.findall(r":-([\w.]+):\d+\}", text):
            assert default == "127.0.0.1", f"{default} in {name}"


def test_every_file_opens_with_what_it_is_for_and_how_to_check_it() -> None:
    """A team that takes one file alone finds both at its top."""
    for path in FILES:
        text = path.read_text()
        if path.suffix == ".yaml":
            head = re.match(r"(?:#.*\n)+", text)
            assert head, path
            assert re.search(r"Check it|Run it|checks it|as it is mounted", head.group()), path
        elif path.suffix == ".py":
            assert text.startswith('"""'), path


def names_in(text: str) -> Iterator[str]:
    """Every attribute key of ours or of the GenAI conventions in a text, as written."""
    scopes = r"(?:(?<![\w.\-/])|(?<=span\.)|(?<=event\.)|(?<=link\.))"
    yield from re.findall(scopes + r"(?:provenance|gen_ai)\.[a-z_][a-z_.]*[a-z]", text)


def known() -> set[str]:
    """All keys, the namespaces that a name follows, the event, and content that is only ever removed."""
    documented = {each.key.partition(".<")[0] for each in semconv.ATTRIBUTES}
    content = {key.rstrip(".") for key in (*semconv.CONTENT_KEYS, *semconv.CONTENT_PREFIXES)}
    return documented | content | {semconv.EVENT_UNCITED}


def test_every_attribute_that_a_file_names_exists() -> None:
    """Keys are those of `citespan.semconv`; the collector's two metrics are the only other names."""
    metrics = {"provenance.calls", "provenance.events"}
    for path in TEXTS:
        for name in names_in(path.read_text()):
            # TraceQL and Jaeger name one argument after the namespace
            assert name in known() | metrics or name.rpartition(".")[0] in known(), f"{name} in {path}"


def test_every_label_that_a_query_names_exists() -> None:
    """Labels are the dimensions of `span_metrics`; recorded series and alerts have no others."""
    connector = yaml.safe_load((CONFIG / "gateway.yaml").read_text())["connectors"]["span_metrics"]
    dimensions = {each["name"] for each in (*connector["calls_dimensions"], *connector["events"]["dimensions"])}
    assert dimensions <= {each.key for each in semconv.ATTRIBUTES}
    labels = {name.replace(".", "_") for name in dimensions} | COUNTERS
    for path in (*RULES, CONFIG / "grafana" / "dashboards" / "citespan.json"):
        for name in re.findall(r"\b(?:provenance|gen_ai)_\w+", path.read_text()):
            assert name in labels, f"{name} in {path}"


def test_every_recorded_series_that_an_alert_or_a_panel_names_is_recorded() -> None:
    """And every one that is recorded is used."""
    recorded = {
        rule["record"]
        for path in RULES
        for group in yaml.safe_load(path.read_text())["groups"]
        for rule in group["rules"]
        if "record" in rule
    }
    texts = [(CONFIG / "prometheus" / "rules" / "alerts.yaml").read_text(), json.dumps(DASHBOARD)]
    assert {name for text in texts for name in re.findall(r"citespan:\w+:new5m", text)} == recorded


def content_pattern() -> str:
    """What is raw content, as one regular expression."""
    keys = "|".join(map(re.escape, sorted(semconv.CONTENT_KEYS)))
    prefixes = "|".join(map(re.escape, sorted([*semconv.CONTENT_PREFIXES, semconv.PREVIEW])))
    return f"^(?:{keys})$|^(?:{prefixes})"


def test_the_collector_removes_what_the_exporter_removes_and_previews() -> None:
    """From spans and from events. Where this fails, the pattern that it wants is the one to write."""
    groups = yaml.safe_load((CONFIG / "gateway.yaml").read_text())["processors"]["transform/content"][
        "trace_statements"
    ]
    literal = content_pattern().replace("\\", "\\\\")
    assert {group["context"]: group["statements"] for group in groups} == {
        context: [f'delete_matching_keys({context}.attributes, "{literal}")'] for context in ("span", "spanevent")
    }


def test_of_what_citespan_writes_only_previews_match() -> None:
    """Every other documented attribute stays."""
    for attribute in semconv.ATTRIBUTES:
        key = attribute.key.replace("<argument>", "path").replace("<kind>", "assumed")
        assert bool(re.search(content_pattern(), key)) == key.startswith(semconv.PREVIEW), key


def test_tail_sampling_and_the_alerts_know_every_status() -> None:
    """Each status but `ok` keeps a trace; each is a violation or an alarm."""
    statuses = {member.value for member in semconv.STATUS_MEMBERS}
    policies = yaml.safe_load((CONFIG / "gateway.yaml").read_text())["processors"]["tail_sampling"]["policies"]
    (kept,) = [policy for policy in policies if policy["name"] == "violations"]
    assert set(kept["string_attribute"]["values"]) == statuses - {"ok"}
    alerts = (CONFIG / "prometheus" / "rules" / "alerts.yaml").read_text()
    assert set(re.findall(r'provenance_status!?="(\w+)"', alerts)) == statuses - {
        "ok",
        "flagged",
    }  # flagged: not blocked


def panels() -> list[Any]:
    return list(DASHBOARD["panels"])


def test_the_dashboard_uses_the_data_sources_that_are_provisioned() -> None:
    """By their uids; and exemplars lead to the two trace stores."""
    provisioned = yaml.safe_load((CONFIG / "grafana" / "provisioning" / "datasources" / "citespan.yaml").read_text())
    sources = {each["uid"]: each["type"] for each in provisioned["datasources"]}
    for panel in panels():
        for owner in (panel, *panel["targets"]):
            assert sources[owner["datasource"]["uid"]] == owner["datasource"]["type"], panel["title"]
    assert len({panel["id"] for panel in panels()}) == len(panels())
    (prometheus,) = [each for each in provisioned["datasources"] if each["type"] == "prometheus"]
    destinations = {each["datasourceUid"] for each in prometheus["jsonData"]["exemplarTraceIdDestinations"]}
    assert {sources[uid] for uid in destinations} == {"jaeger", "tempo"}


def test_every_alert_is_explained() -> None:
    """In docs/collector.md, by its name."""
    page = (ROOT / "docs" / "collector.md").read_text()
    for group in yaml.safe_load((CONFIG / "prometheus" / "rules" / "alerts.yaml").read_text())["groups"]:
        for rule in group["rules"]:
            assert f"`{rule['alert']}`" in page, rule["alert"]
