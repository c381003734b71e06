"""What the service understands and answers, as OpenAPI 3.1: for clients, and for tests that send everything else."""

from __future__ import annotations

from importlib import metadata
from typing import Any, Final

from citespan.serve.problems import INGEST, PROBLEM

DEFAULT_LIMIT: Final = 100
MAX_LIMIT: Final = 1000

_JSON: Final = "application/json"
_PROTOBUF: Final = "application/x-protobuf"
_TRACE_ID: Final = {"type": "string", "pattern": "^[0-9a-fA-F]{32}$"}
_TEXT: Final = {"type": "string"}
_COUNT: Final = {"type": "integer", "minimum": 0}
_MAYBE_COUNT: Final = {"type": ["integer", "null"], "minimum": 0}
_STATUS: Final = {"type": "string", "enum": ["clean", "violations", "incomplete", "dropped"]}
_REASONS: Final = {"type": "array", "items": _TEXT}


def openapi() -> dict[str, Any]:
    """The document that `GET /openapi.json` answers with.

    Example:
        >>> sorted(openapi()["paths"])[0]
        '/healthz'
    """
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "citespan serve",
            "version": metadata.version("citespan"),
            "description": "The audit of traces as a service. On loopback only.",
        },
        "paths": {
            INGEST: {"post": _ingest()},
            "/traces": {
                "get": _get(
                    "The traces that are here, the one that was touched last first.",
                    _object(
                        traces=_list("Trace"),
                        total=_COUNT,
                        dropped=_COUNT,
                        next_offset={"type": ["integer", "null"], "minimum": 1},
                    ),
                    _query("limit", _whole(1, MAX_LIMIT)),
                    _query("offset", _whole(0, 10**9)),
                    problems=(400,),
                )
            },
            "/traces/{trace_id}": {
                "get": _get(
                    "The audit of a trace. `incomplete` where something that is not here could change the verdict.",
                    {"$ref": "#/components/schemas/Audit"},
                    _path(),
                    problems=(400, 404),
                )
            },
            "/traces/{trace_id}/report": {"get": _report()},
            "/violations": {
                "get": _get(
                    "The findings of all traces, of the one that was touched last first.",
                    _object(violations=_list("Finding"), more={"type": "boolean"}, not_audited=_COUNT, dropped=_COUNT),
                    _query("limit", _whole(1, MAX_LIMIT)),
                    _query(
                        "since", _whole(0, 10**15 - 1), "seconds since 1970: only traces whose last span came later"
                    ),
                    _query("rule", _TEXT),
                    _query("severity", {"type": "string"}),
                    _query("tool", _TEXT),
                    problems=(400,),
                )
            },
            "/healthz": {
                "get": _get(
                    "Whether the service is up, and how much it keeps.",
                    _object(status={"const": "ok"}, traces=_COUNT, bytes=_COUNT, dropped=_COUNT),
                    problems=(400,),
                )
            },
            "/openapi.json": {"get": _get("This document.", {"type": "object"}, problems=(400,))},
        },
        "components": {"schemas": _schemas()},
    }


def _schemas() -> dict[str, Any]:
    trace = {
        "trace_id": _TRACE_ID,
        "status": _STATUS,
        "incomplete": {"type": "boolean"},
        "reasons": _REASONS,
        "spans": _COUNT,
        "calls": _MAYBE_COUNT,
        "violations": _MAYBE_COUNT,
        "last_span_came": {"type": "number", "description": "seconds since 1970"},
    }
    finding = {"type": "object", "properties": {"rule": _TEXT, "severity": _TEXT, "tool": _TEXT, "message": _TEXT}}
    audit = {key: trace[key] for key in ("trace_id", "status", "incomplete", "reasons")}
    return {
        "Trace": _object(**trace),
        "Finding": finding,
        "Audit": _object(**audit, exit_code=_COUNT, findings={"type": "array", "items": finding}),
        "Problem": _object(type=_TEXT, title=_TEXT, status={"type": "integer"}, detail=_TEXT),
        "Status": {"type": "object", "properties": {"code": {"type": "integer"}, "message": _TEXT}},
    }


def _ingest() -> dict[str, Any]:
    request = {
        "type": "object",
        "properties": {"resourceSpans": {"type": ["array", "null"], "items": {"type": "object"}}},
    }
    refused = {"content": {_JSON: {"schema": {"$ref": "#/components/schemas/Status"}}, _PROTOBUF: {}}}
    what = {
        400: "The body is no ExportTraceServiceRequest.",
        403: "A web page of another origin asked.",
        408: "The body did not arrive in time.",
        413: "The body is too large, as it came or unpacked.",
        415: "Another content type or encoding than the two.",
        503: "Too much is being received.",
    }
    return {
        "summary": "Spans in: OTLP/HTTP, in either encoding, gzip or not.",
        "requestBody": {"required": True, "content": {_JSON: {"schema": request}, _PROTOBUF: {}}},
        "responses": {
            "200": {
                "description": "An ExportTraceServiceResponse; partialSuccess where spans were refused.",
                "content": {_JSON: {"schema": {"type": "object"}}, _PROTOBUF: {}},
            },
            **{str(status): {"description": why, **refused} for status, why in what.items()},
        },
    }


def _report() -> dict[str, Any]:
    answer = _get("The report page of a trace.", {}, _path(), problems=(400, 404, 410))
    answer["responses"]["200"]["content"] = {"text/html": {"schema": _TEXT}}
    return answer


def _get(
    summary: str, schema: dict[str, Any], *parameters: dict[str, Any], problems: tuple[int, ...]
) -> dict[str, Any]:
    problem = {"content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
    responses: dict[str, Any] = {"200": {"description": "The answer.", "content": {_JSON: {"schema": schema}}}}
    responses |= {str(status): {"description": "Why not.", **problem} for status in (*problems, 403, 503)}
    answer: dict[str, Any] = {"summary": summary, "responses": responses}
    return answer | ({"parameters": list(parameters)} if parameters else {})


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _list(name: str) -> dict[str, Any]:
    return {"type": "array", "items": {"$ref": f"#/components/schemas/{name}"}}


def _whole(least: int, most: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": least, "maximum": most}


def _query(name: str, schema: dict[str, Any], description: str = "") -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": schema, "description": description}


def _path() -> dict[str, Any]:
    return {"name": "trace_id", "in": "path", "required": True, "schema": _TRACE_ID}
