"""Answers of OTLP/HTTP, in the encoding of the request (opentelemetry-proto, specification, "OTLP/HTTP Response")."""

from __future__ import annotations

from typing import Any, Final

import orjson
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc.error_details_pb2 import BadRequest  # type: ignore[import-untyped]
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from citespan.serve.bodies import Encoding

CONTENT_TYPES: Final[dict[str, Encoding]] = {"application/x-protobuf": "protobuf", "application/json": "json"}
_NAMES: Final[dict[Encoding, str]] = {encoding: name for name, encoding in CONTENT_TYPES.items()}
_BAD_REQUEST: Final = "type.googleapis.com/google.rpc.BadRequest"
#: google.rpc.Code for an HTTP status; UNKNOWN for others
_CODES: Final = {400: 3, 403: 7, 404: 5, 405: 12, 408: 4, 413: 8, 415: 3, 429: 8, 500: 13, 503: 14}


def content_type(encoding: Encoding) -> str:
    """The Content-Type of a body in that encoding."""
    return _NAMES[encoding]


def accepted(rejected: int, why: str, encoding: Encoding) -> bytes:
    """An `ExportTraceServiceResponse`; `partial_success` is unset where all was taken and there is nothing to say.

    Example:
        >>> accepted(0, "", "json"), accepted(2, "no id", "json")
        (b'{}', b'{"partialSuccess":{"rejectedSpans":"2","errorMessage":"no id"}}')
    """
    if encoding == "json":
        partial = {"rejectedSpans": str(rejected), "errorMessage": why}
        return orjson.dumps({"partialSuccess": partial} if rejected or why else {})
    response = ExportTraceServiceResponse()
    if rejected or why:
        response.partial_success.rejected_spans = rejected
        response.partial_success.error_message = why
    return response.SerializeToString()


def failed(status: int, message: str, encoding: Encoding) -> bytes:
    """A `google.rpc.Status`; with a `BadRequest` where the body is what is wrong.

    Example:
        >>> failed(413, "too large", "json")
        b'{"code":8,"message":"too large"}'
    """
    code, bad = _CODES.get(status, 2), status == 400
    if encoding == "json":
        answer: dict[str, Any] = {"code": code, "message": message}
        if bad:
            violations = [{"field": "body", "description": message}]
            answer["details"] = [{"@type": _BAD_REQUEST, "fieldViolations": violations}]
        return orjson.dumps(answer)
    details = []
    if bad:
        what = BadRequest(field_violations=[BadRequest.FieldViolation(field="body", description=message)])
        details.append(AnyMessage(type_url=_BAD_REQUEST, value=what.SerializeToString()))
    return bytes(Status(code=code, message=message, details=details).SerializeToString())
