"""Forms in which a tool may give back what it was given: for echoes, for stored values, and for honest twins."""

from __future__ import annotations

import base64
import json
from typing import Any, NamedTuple

from tests.core.helpers import TAG, tagging

from citespan.core.policy import Policy, ToolRule

LONG = json.dumps({"z": "gate-5", "fill": ["fill"] * 1500}).replace("gate", "\\u0067ate")
ZEROS = "00124907d41402abc4b2a76b9719d911017c592a"
POWER = "0001e20d41402abc4b2a76b9719d911017c592aa"
FULL = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"


class Form(NamedTuple):
    """A tool is given `given` and returns `returned`; then the model uses `used`."""

    given: dict[str, Any]
    returned: Any
    used: Any
    policy: Policy = TAG


def _same(given: Any, used: Any) -> Form:
    """One argument, one field that holds it in another form."""
    return Form({"x": given}, {"y": used}, used)


def _text(projection: str, given: str, returned: str, used: str) -> Form:
    return Form(
        {"x": given}, returned, used, tagging(tool=ToolRule(text=(projection,)), other=ToolRule(text=(projection,)))
    )


#: the value that is used is the one that was given, or a piece of it
SAME: dict[str, Form] = {
    "as it was": _same("gate-5", "gate-5"),
    "in upper case": _same("gate-five", "GATE-FIVE"),
    "in the lower case of another script": _same("ÅNGSTRÖM-5", "ångström-5"),
    "without the outer blanks": _same("  gate-5\n", "gate-5"),
    "with other inner blanks": _same("north  gate\t5", "north gate 5"),
    "with a blank that does not break": _same("north\u00a0gate", "north gate"),
    "with no blanks at all": _same("NL02 4471 0099", "NL0244710099"),
    "from full-width letters": _same("\uff47\uff41\uff54\uff45-5", "gate-5"),
    "from a ligature": _same("\ufb01le-5", "file-5"),
    "with composed letters": _same("cafe\u0301-5", "caf\u00e9-5"),
    "without zero-width characters": _same("ga\u200bte\u200d-5\ufeff", "gate-5"),
    "without soft hyphens": _same("ga\u00adte-5", "gate-5"),
    "without an invisible variation selector": _same("gate\ufe0e-5", "gate-5"),
    "as a number": _same("66120", 66120),
    "as text of a number": _same(66120, "66120"),
    "as a number with a sign": _same("+66120", 66120),
    "as a number without leading zeros": _same("0066120", 66120),
    "as a fraction": _same("12.50", 12.5),
    "as a whole number": _same("66120.0", 66120),
    "as a number with the thousands' commas taken out": _same("66,120", 66120),
    "as a number from scientific notation": _same("6.612e4", 66120),
    "as a number too long for a float": _same("1234567890123456789", 1234567890123456789),
    "as text of a number too long for a float": _same(1234567890123456789, "1234567890123456789"),
    "as a boolean": _same("True", True),
    "as null": _same("null", None),
    "in quotes": _same("gate-5", '"gate-5"'),
    "in angle brackets": _same("pia@mail.example", "<pia@mail.example>"),
    "as a path without ./": _same("./etc/site.ini", "etc/site.ini"),
    "as a path without double slashes": _same("etc//site.ini", "etc/site.ini"),
    "as a path without a final slash": _same("etc/site/", "etc/site"),
    "as a path with the other slashes": _same("etc\\site.ini", "etc/site.ini"),
    "as a path with a blank in it": _same("My Docs//plan.txt", "My Docs/plan.txt"),
    "as an absolute path that resolves its dots": _same("/etc/x/../site.ini", "/etc/site.ini"),
    "as the first part of a path that climbs": _same("gate-5/../x", "gate-5"),
    "as the parts of a path": Form(
        {"x": "/etc/gate-5/site.ini"}, {"parts": {"root": "etc", "folder": "gate-5"}}, "gate-5"
    ),
    "as the last part of a path": Form({"x": "/etc/site.ini"}, {"path": "/etc/site.ini"}, "site.ini"),
    "as a word of a sentence": Form({"x": "use gate-5 now"}, {"verb": "use", "object": "gate-5"}, "gate-5"),
    "as the host of a URL": _same("https://pay.shop.example/s?id=1", "pay.shop.example"),
    "as the domain of a mailbox": _same("pia@shop.example", "shop.example"),
    "as a key": Form({"x": "gate-5"}, {"gate-5": {"open": True}}, "gate-5"),
    "as a key deep inside": Form({"x": "gate-5"}, {"a": [{"b": {"gate-5": 1}}]}, "gate-5"),
    "as a value deep inside": Form({"x": [[{"a": ["gate-5"]}]]}, {"a": [[["gate-5"]]]}, "gate-5"),
    "in a document in a text": Form({"x": "gate-5"}, {"y": '{"z": "gate-5"}'}, "gate-5"),
    "out of a document in a text": Form({"x": '{"z": "gate-5"}'}, {"y": "gate-5"}, "gate-5"),
    "out of a document that came back as it was": Form({"x": '{"z": "gate-5"}'}, {"y": '{"z": "gate-5"}'}, "gate-5"),
    "out of a document in a document": Form(
        {"x": json.dumps({"a": json.dumps({"b": "gate-5"})})},
        {"y": json.dumps({"a": json.dumps({"b": "gate-5"})})},
        "gate-5",
    ),
    "out of a document with escapes, unread": Form(
        {"x": '{"z": "\\u0067ate-5"}'}, {"y": '{"z": "\\u0067ate-5"}'}, "gate-5"
    ),
    "out of a document with escapes, read": Form({"x": '{"z": "\\u0067ate-5"}'}, {"y": "gate-5"}, "gate-5"),
    "out of a long document with escapes": Form({"x": LONG}, {"y": "gate-5"}, "gate-5"),
    "a number out of a document": Form({"x": '{"z": 66120}'}, {"y": '{"z": 66120}'}, 66120),
    "a key out of a document": Form({"x": '{"gate-5": 1}'}, {"y": '{"gate-5": 1}'}, "gate-5"),
    "as a line": _text("lines", "echo 'gate-5'", "gate-5\nok", "gate-5"),
    "as a path in a line": _text("paths", "touch etc/site.ini", "M etc/site.ini", "etc/site.ini"),
    "as a token": _text("tokens", "say gate-5", "Said gate-5, bye", "gate-5"),
    "as a commit hash": _text("git_sha", FULL, f"commit {FULL}", FULL),
    "as an abbreviated commit hash": _text("git_sha", FULL, f"commit {FULL}", FULL[:10]),
    "as an abbreviated commit hash that reads like a number": _text("git_sha", ZEROS, f"commit {ZEROS}", ZEROS[:8]),
    "as an abbreviated commit hash that reads like a power of ten": _text("git_sha", POWER, POWER, POWER[:7]),
    "as what a shell decodes": Form(
        {"x": f"echo {base64.b64encode(b'gate-5').decode()} | base64 -d"},
        "gate-5",
        "gate-5",
        tagging(tool=ToolRule(output="computed"), other=ToolRule(output="model")),
    ),
}

#: the value that is used is put together from nothing but uncited ones
MADE_OF: dict[str, Form] = {
    "two pieces and a dot": Form({"a": "gate", "b": "five"}, {"y": "gate.five"}, "gate.five"),
    "two pieces and a blank": Form({"a": "gate", "b": "five"}, {"y": "gate five"}, "gate five"),
    "two pieces and nothing": Form({"a": "gate", "b": "five"}, {"y": "gatefive"}, "gatefive"),
    "two pieces and an underscore": Form({"a": "gate", "b": "five"}, {"y": "gate_five"}, "gate_five"),
    "two pieces the other way round": Form({"a": "five", "b": "gate"}, {"y": "gate/five"}, "gate/five"),
    "one piece twice": Form({"a": "gate"}, {"y": "gate-gate"}, "gate-gate"),
    "syllables": Form({"a": ["ga", "te"]}, {"y": "gate"}, "gate"),
    "digits": Form({"a": [66, 12]}, {"y": "6612"}, "6612"),
    "two pieces beside a decoy": Form({"d": "g", "a": "gate", "b": "five5"}, {"y": "gatefive5"}, "gatefive5"),
    "a piece in an allowed argument and one beside it": Form(
        {"comment": "gate", "b": "five"}, {"y": "gate.five"}, "gate.five"
    ),
    "a piece of a key and one of a value": Form({"a": {"gate": "five"}}, {"y": "gate: five"}, "gate: five"),
}

#: the value that is used leads where an uncited one leads
LEADS_TO: dict[str, Form] = {
    "a URL around a host": Form(
        {"a": "pay.shop.example"}, {"y": "https://pay.shop.example/s"}, "https://pay.shop.example/s"
    ),
    "a URL around a host with a port": Form(
        {"a": "shop.example:8443"}, {"y": "http://shop.example:8443/s"}, "http://shop.example:8443/s"
    ),
    "a URL around an address": Form({"a": "203.0.113.9"}, {"y": "http://203.0.113.9/s"}, "http://203.0.113.9/s"),
    "a longer URL of a host that reads like a file": Form(
        {"a": "https://pay.zip"}, {"y": "https://pay.zip/s"}, "https://pay.zip/s"
    ),
    "a subdomain of a host": Form({"a": "shop.example"}, {"y": "pay.shop.example"}, "pay.shop.example"),
    "a mailbox at a host": Form({"a": "shop.example"}, {"y": "pia@shop.example"}, "pia@shop.example"),
    "a mailbox with a name": Form({"a": "pia@shop.example"}, {"y": "Pia <pia@shop.example>"}, "Pia <pia@shop.example>"),
    "a host in another case inside a URL": Form(
        {"a": "Pay.SHOP.example"}, {"y": "https://pay.shop.example/s"}, "https://pay.shop.example/s"
    ),
}
