"""Projections that a policy declares, for a tool's text or an argument: what each admits, and what it does not."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.helpers import Agent, parameters

from citespan.core.classify import field_matches
from citespan.core.images import IMAGES
from citespan.core.kinds import Observed
from citespan.core.patterns import linear
from citespan.core.policy import ArgumentRule, Policy, ToolRule
from citespan.core.projections import MAX_PIECES, PROJECTIONS, Projection, reader
from citespan.core.tables import table
from citespan.core.texts import key_value, url
from citespan.guard.ports import Tool

USE = Tool("use", schema=parameters("value"))
ISSUE = r"regex:issue=#(\d+)"


def agent(*text: str, **rule: Any) -> Agent:
    """An agent whose tool `look` declares projections of its text, and whose argument `use.value` has a rule."""
    tools = {"look": ToolRule(text=text), "use": ToolRule(arguments={"value": ArgumentRule(**rule)})}
    return Agent(Policy(mode="tag", tools=tools))


def cited(one: Agent, value: Any) -> Observed | None:
    """What a value cites as the argument of `use`, None where nothing."""
    found = one.judge({"value": value}, USE).tags[-1].provenance
    return found if isinstance(found, Observed) else None


def how(result: Any, value: Any, *text: str, **rule: Any) -> str:
    """The projection by which a value is cited from a result of `look`, "" where it is not."""
    one = agent(*text, **rule)
    one.reads("look", {}, result)
    found = cited(one, value)
    return "" if found is None else found.sources[0].projection


# the table


def declare(row: Projection, result: str, argument: str) -> str:
    """How an example of the table is cited, with the projection declared where it must be."""
    texts = {"text": (row.name if row.name != "regex" else ISSUE,)}.get(row.stage, ())
    rule = {"projections": (row.name,)} if row.stage == "argument" else {}
    return how(json.loads(result), json.loads(argument), *texts, **rule)


@pytest.mark.parametrize("row", PROJECTIONS.values(), ids=lambda row: row.name)
def test_every_projection_admits_its_example_and_not_its_counterexample(row: Projection) -> None:
    assert declare(row, *row.yes).partition(":")[0] == row.name
    assert declare(row, *row.no) == ""


@pytest.mark.parametrize("row", PROJECTIONS.values(), ids=lambda row: row.name)
def test_what_is_not_declared_is_not_admitted(row: Projection) -> None:
    admitted = how(json.loads(row.yes.observed), json.loads(row.yes.argument))
    assert (admitted == row.name) == (row.stage == "default")


def test_an_unknown_name_reads_nothing() -> None:
    for declared in ("", "linez", "exact", "dirname", "regex:", "regex:x", "regex:x y=a", "table:x=a"):
        assert reader(declared) is None


# key_value


@pytest.mark.parametrize(
    "line, value",
    [
        ("rent: 1100", "1100"),
        ("  Rent due :  1100  ", ""),
        ("rent=1100", "1100"),
        ("rent = 1100", "1100"),
        ("- owner: Ada Byron", "Ada Byron"),
        ("owner: 'Ada Byron'", "Ada Byron"),
        ('owner: "Ada" or "Bea"', '"Ada" or "Bea"'),
        ("starts at: 2031-05-18 08:00", "2031-05-18 08:00"),
        ("Größe: 7", "7"),
        ("a.b/c(d)#1: x", "x"),
        ("rent:1100", ""),
        ("rent ==1100", ""),
        ("rent => 1100", ""),
        ("12: 1100", ""),
        ("https://h.example", ""),
        ("then he said to all: pay", ""),
        ("rent:", ""),
        ("", ""),
    ],
)
def test_a_line_is_a_key_and_its_value_or_nothing(line: str, value: str) -> None:
    assert list(key_value(line)) == ([value] if value else [])


def test_a_part_of_a_value_and_a_key_are_not_cited() -> None:
    text = "owner: Ada Byron\nrent: 1100 EUR"
    assert how(text, "Ada Byron", "key_value") == "key_value"
    for other in ("Ada", "owner", "1100", 1100, "rent: 1100 EUR"):
        assert how(text, other, "key_value") == ""


# json_lines


def test_leaves_of_json_lines_keep_their_types_paths_and_fields() -> None:
    one = agent("json_lines")
    one.reads("look", {}, {"log": 'start\n{"id": "K-40211", "n": 5120}\n{"id": "K-40212", "ok": [true]}\n'})
    found = cited(one, 5120)
    assert found is not None
    assert (found.sources[0].path, found.sources[0].field) == ("log.0.n", "look.log.*.n")
    assert found.sources[0].projection == "json_lines"
    assert cited(one, "5120") is None
    assert cited(one, "ok") is not None
    assert cited(one, "start") is None


@pytest.mark.parametrize("line", ['{"id": "K-40211"', '"K-40211"', "{'id': 'K-40211'}", 'x {"id": "K-40211"}'])
def test_a_line_that_is_no_whole_document_is_not_read(line: str) -> None:
    assert how(line, "K-40211", "json_lines") == ""


# table


@pytest.mark.parametrize(
    "text, cells",
    [
        ("id|bird\n7|heron", ["id", "bird", "7", "heron"]),
        ("| id | bird |\n|---:|:----|\n| 7 | heron |", ["id", "bird", "7", "heron"]),
        ("+----+\n| id | n |\n+----+\n| 7 | 1 |\n+----+", ["id", "n", "7", "1"]),
        (" id │ bird\n────┼──────\n 7  │ heron", ["id", "bird", "7", "heron"]),
        ("id\tbird\n7\theron\n", ["id", "bird", "7", "heron"]),
        ('id,bird\n7,"heron, grey"\n', ["id", "bird", "7", "heron, grey"]),
        ("NAME   N\nweb 1  30\n\nNAME   N\nx  y   4", ["NAME", "N", "web 1", "30", "NAME", "N", "x  y", "4"]),
        (
            "  PID   CPU  COMMAND\n    1  12.5  init of it\n 4711   0.0  sh",
            ["PID", "CPU", "COMMAND", "1", "12.5", "init of it", "4711", "0.0", "sh"],
        ),
        ("only one row | here", []),
        ("a|b\nc|d|e", []),
        ("a|b\n\nc|d", []),
        ("a,b\nc,d,e", []),
        ('a,b\n"c,d', []),
        ("two  gaps\nno gap at all", []),
        ("aa  b\na  bb", []),
        ("plain\ntext", []),
        ("", []),
    ],
)
def test_a_table_is_rows_that_agree_on_their_columns(text: str, cells: list[str]) -> None:
    assert list(table(text)) == cells


def test_a_part_of_a_cell_is_not_cited() -> None:
    text = "NAME    READY\nweb-1   1/1"
    assert how(text, "1/1", "table") == "table"
    for other in ("web", "1", 1, "web-1   1/1"):
        assert how(text, other, "table") == ""


# url


@pytest.mark.parametrize(
    "text, urls",
    [
        ("See https://h.example/a?b=1&c#d.", ["https://h.example/a?b=1&c#d"]),
        ("(https://h.example/a_(b)) [x](ftp://h.example/)", ["https://h.example/a_(b)", "ftp://h.example/"]),
        ("<a href='https://h.example'>", ["https://h.example"]),
        ("no www.h.example, no mailto:a@h.example, no //h.example, no http://", []),
        ("_http://h.example 5http://h.example", []),
        ("a://b://c", ["a://b://c"]),
        ("https://h.example/" + "a" * 2100, []),
    ],
)
def test_a_url_is_read_whole(text: str, urls: list[str]) -> None:
    assert list(url(text)) == urls


def test_a_part_of_a_url_is_not_cited() -> None:
    text = "Docs: https://h.example/a/b?c=d"
    assert how(text, "https://h.example/a/b?c=d", "url") == "url"
    for other in ("https://h.example/a/b", "h.example", "https://h.example"):
        assert how(text, other, "url") == ""


# regex


def test_a_pattern_yields_its_first_group_and_is_named_by_the_citation() -> None:
    assert how("fixes #40211 (#7)", "40211", ISSUE) == "regex:issue"
    assert how("fixes #40211 (#7)", "#40211", r"regex:issue=#\d+") == "regex:issue"
    assert how("fixes #40211 (#7)", "4021", ISSUE) == ""


@pytest.mark.parametrize(
    "pattern",
    [
        r"#(\d+)",
        r"^Title: (.+)$",
        r"id=([^;]{3,20});",
        r"(?:PR|MR) #\d+(?:\.\d+)?",
        r"[A-Z]{2,4}-\d{1,6}\b",
        r"(?P<user>\w+)@(\w+)\.example",
        r"a|bc?d",
        r"[\]^-]x+",
        "Größe: ([^ ]+)",
    ],
)
def test_these_patterns_are_linear(pattern: str) -> None:
    linear(pattern)


@pytest.mark.parametrize(
    "pattern, said",
    [
        (r"(a+)+", "only a single character or class"),
        (r"(a|b)*c", "only a single character or class"),
        (r"(?:ab){2,}", "only a single character or class"),
        (r"(a)\1", "a back-reference"),
        (r"(?=a)a", "a look-around"),
        (r"(?<!a)b", "a look-around"),
        (r"(a)?(?(1)b|c)", "a condition on a group"),
        (r"a.*?b", "a lazy repetition"),
        (r"a++b", "a possessive repetition"),
        (r"(?>a)b", "an atomic group"),
        (r"(?i)a", "a flag"),
        (r"(?i:a)b", "a flag"),
        (r".*b", "which what follows it can start with"),
        (r"\w+\d", "which what follows it can start with"),
        (r"[^;]+é", "which what follows it can start with"),
        (r"\s*\n+", "which what follows it can start with"),
        (r"a{1,300}", "at most 256"),
        (r"x*", "the empty text"),
        ("(", "no regular expression"),
        ("a" * 300, "at most 256"),
        (r"(?:a|b)(?:cc|dd)" * 9, "ways"),
        (r"\Aa", "is not read here"),
    ],
)
def test_these_are_not_and_the_reason_is_said(pattern: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        linear(pattern)


def test_a_pattern_that_is_not_linear_reads_nothing() -> None:
    assert how("aaa b", "aaa", "regex:x=(a+)+") == ""


def test_a_run_that_is_too_long_for_a_repetition_is_not_cut() -> None:
    for pattern in (r"(\w+)@h", r"id=(\w+)"):
        assert list(linear(pattern).finditer(f"id={'a' * 257}@h")) == []
        assert len(list(linear(pattern).finditer(f"id={'a' * 250}@h"))) == 1


@given(st.text(alphabet="ab1-;# \n", max_size=60))
def test_a_repetition_that_gives_nothing_back_finds_what_any_would(text: str) -> None:
    for pattern in (r"#(\d+)", r"a([^;]+);", r"\b[ab]+-\d", r"(?:#|;)b?1"):
        assert [found.group() for found in linear(pattern).finditer(text)] == [
            found.group() for found in re.finditer(pattern, text)
        ]


# argument projections


@pytest.mark.parametrize(
    "name, seen, used",
    [
        ("dirname", "src/lib/app.py", "src/lib"),
        ("dirname", "./src//lib/app.py", "src/lib/"),
        ("dirname", "/etc/passwd", "/etc"),
        ("dirname", "/etc/", "/"),
        ("stem", "src/app.py", "app"),
        ("stem", "app.py", "app"),
        ("stem", "a/notes.tar.gz", "notes.tar"),
        ("casefold", "Kestrel", "kestrel"),
        ("casefold", "straße", "STRASSE"),
        ("number", "1100", 1100),
        ("number", "12.50", 12.5),
        ("number", -7, "-7"),
        ("number", 12.5, "12.50"),
        ("number", "100", 100.0),
        ("date_part", "2031-05-18T08:00:00Z", "2031-05-18"),
        ("date_part", "2031-05-18 08:00", "08:00:00"),
        ("date_part", "2031-05-18T08:00:00", "08:00"),
        ("date_part", "2031-05-18T08:00:05", "08:00:05"),
    ],
)
def test_an_argument_projection_admits(name: str, seen: Any, used: Any) -> None:
    assert how({"it": seen}, used, projections=(name,)) == name
    assert how({"it": seen}, used) == ""


@pytest.mark.parametrize(
    "name, seen, used",
    [
        ("dirname", "src/lib/app.py", "src"),
        ("dirname", "src/lib/app.py", "lib"),
        ("dirname", "app.py", "."),
        ("dirname", "text/html", "text"),
        ("dirname", "18/05/2031", "18/05"),
        ("dirname", "https://h.example/a/b", "https://h.example/a"),
        ("dirname", "moved to src/app.py", "moved to src"),
        ("dirname", "lib/../src/app.py", "src"),
        ("stem", "src/app.py", "src/app"),
        ("stem", "src/app.py", "ap"),
        ("stem", ".env", ""),
        ("stem", "README", "README.md"),
        ("stem", "see app.py", "see app"),
        ("stem", "3.14", "3"),
        ("casefold", "Kestrel", "kestre"),
        ("casefold", "Kestrel ", "kestrel"),
        ("number", "1,100", 1100),
        ("number", "$1100", 1100),
        ("number", "007", 7),
        ("number", "1e3", 1000),
        ("number", "+7", 7),
        ("number", " 7", 7),
        ("number", "1", True),
        ("number", "9007199254740993", 9007199254740992.0),
        ("number", "0.12345678901234567", 0.12345678901234567),
        ("number", "12.50", "12.5"),
        ("date_part", "2031-05-18", "05-18"),
        ("date_part", "2031-05-18T08:00:05", "08:00"),
        ("date_part", "2031-05-18T08:00", "2031-05-18T08"),
        ("date_part", "18.05.2031 08:00", "18.05.2031"),
        ("date_part", "2031-05-18 at 08:00", "08:00"),
        ("date_part", "2031-13-18T08:00", "2031-13-18"),
    ],
)
def test_an_argument_projection_does_not_admit(name: str, seen: Any, used: Any) -> None:
    assert how({"it": seen}, used, projections=(name,)) == ""


def test_a_date_that_stands_alone_is_cited_as_it_is() -> None:
    assert how({"it": "2031-05-18"}, "2031-05-18", projections=("date_part",)) == "exact"


def test_an_argument_projection_reads_pieces_of_a_text_too() -> None:
    assert how("M src/lib/app.py", "src/lib", "paths", projections=("dirname",)) == "dirname"
    assert how("rent: 1100\nname: x", 1100, "key_value", projections=("number",)) == "number"
    assert how("rent: 1100\nname: x", 1100, projections=("number",)) == ""


def test_it_holds_for_its_argument_only() -> None:
    one = agent(projections=("dirname",))
    one.reads("look", {}, ["src/app.py"])
    other = Tool("use", schema=parameters("other"))
    assert cited(one, "src") is not None
    assert one.judge({"other": "src"}, other).tags[0].provenance.kind == "assumed"
    assert one.judge({"src": 1}, USE).tags[0].provenance.kind == "assumed"


def test_it_is_admitted_for_results_of_before_and_after_it_was_first_asked_for() -> None:
    one = agent(projections=("dirname", "casefold"))
    one.reads("look", {}, [{"path": "src/app.py"}, {"path": "lib/db.py"}])
    assert cited(one, "src") is not None
    one.reads("look", {}, {"deep": [{"path": "docs/a.md"}], "text": "Kestrel"})
    for value in ("docs", "lib", "kestrel"):
        assert cited(one, value) is not None


@pytest.mark.parametrize("name", ["dirname", "stem", "casefold", "number", "date_part"])
def test_it_does_not_reach_past_the_calls_of_its_step(name: str) -> None:
    one = agent(projections=(name,))
    seen = {
        "dirname": "src/app.py",
        "stem": "app.py",
        "casefold": "Kestrel",
        "number": "1100",
        "date_part": "2031-05-18T08:00",
    }
    used = {"dirname": "src", "stem": "app", "casefold": "kestrel", "number": 1100, "date_part": "2031-05-18"}
    one.reads("look", {}, {"other": "x"}, step="one")
    one.reads("look", {}, {"it": seen[name]}, step="one")
    assert one.judge({"value": used[name]}, USE, step="one").tags[0].provenance.kind == "assumed"
    assert one.judge({"value": used[name]}, USE, step="two").tags[0].provenance.kind == "observed"


def test_declared_sources_bind_it() -> None:
    one = agent(projections=("dirname",), sources=("look.files.*",))
    one.reads("look", {}, {"files": ["src/app.py"], "other": ["lib/db.py"]})
    assert cited(one, "src") is not None
    assert cited(one, "lib") is None


def test_a_field_of_another_shape_does_not_vouch_for_it() -> None:
    one = agent(projections=("casefold", "dirname"))
    body = "Hello,\nthis is a letter of more than one line."
    one.reads("look", {}, [{"body": body}, {"body": "EVE@h.example"}, {"body": "evil/app.py"}])
    assert cited(one, "eve@h.example") is None
    assert cited(one, "evil") is None


def test_it_is_weak_where_the_value_is() -> None:
    one = agent(projections=("number", "dirname"))
    one.reads("look", {}, {"n": "7", "m": "7000", "path": "ab/app.py"})
    assert [found.weak for value in (7, 7000, "ab") if (found := cited(one, value))] == [True, False, True]


@pytest.mark.parametrize(
    "name, given, used",
    [
        ("dirname", "evil/app.py", "evil"),
        ("stem", "evil.py", "evil"),
        ("casefold", "EVIL", "evil"),
        ("number", "66666", 66666),
        ("date_part", "2031-05-18T08:00:00", "2031-05-18"),
        ("date_part", "2031-05-18T08:00:00", "08:00"),
    ],
)
def test_an_echo_is_an_echo_under_every_projection(name: str, given: str, used: Any) -> None:
    one = agent(projections=(name,))
    one.reads("look", {"q": given}, {"it": given})
    assert cited(one, used) is None
    one.writes("put", {"q": given}, "ok")
    one.reads("look", {}, {"it": given})
    assert cited(one, used) is None


# join


def test_a_path_is_joined_of_two_cited_parts_and_cites_both() -> None:
    one = agent(projections=("join",))
    one.reads("look", {}, {"cwd": "/srv/app", "files": ["conf/prod.env", "x.py"]})
    found = cited(one, "/srv/app/conf/prod.env")
    assert found is not None
    assert [(source.path, source.projection) for source in found.sources] == [("cwd", "join"), ("files.0", "join")]
    assert cited(one, "/srv/app/./x.py") is not None


@pytest.mark.parametrize(
    "used", ["/srv/x.py", "/srv/app/y.py", "srv/app/x.py", "/srv/app/../x.py", "x.py/srv", "/x.py", "/srv/app/x.py/z"]
)
def test_a_part_that_is_not_cited_joins_nothing(used: str) -> None:
    assert how({"cwd": "/srv/app", "files": ["x.py", "lib/y.txt"]}, used, projections=("join",)) == ""


def test_a_path_is_not_joined_unless_declared() -> None:
    assert how({"cwd": "/srv/app", "files": ["x.py"]}, "/srv/app/x.py") == ""


def test_a_part_that_the_user_said_makes_no_observed_path() -> None:
    one = agent(projections=("join",))
    one.reads("look", {}, {"files": ["x.py"]})
    one.run.user("it is in /srv/app")
    assert cited(one, "/srv/app/x.py") is None


def test_a_path_that_was_used_uncited_is_not_joined_of_later_parts() -> None:
    one = agent(projections=("join",))
    one.writes("put", {"path": "/srv/app/evil.py"}, "ok")
    one.reads("look", {}, {"cwd": "/srv/app", "files": ["evil.py"]})
    assert cited(one, "/srv/app/evil.py") is None


def test_a_joined_path_is_weak_if_a_part_is() -> None:
    one = agent(projections=("join",))
    one.reads("look", {}, {"cwd": "/srv/app", "files": ["ab"]})
    found = cited(one, "/srv/app/ab")
    assert found is not None
    assert found.weak


# normalize


def test_normalize_admits_its_projection_and_holds_for_declared_values_and_the_user() -> None:
    one = agent(normalize="posix_path", values=("docs/x.md",))
    one.run.user("please open src/app.py")
    for value in ("./src/app.py", "./docs//x.md"):
        assert one.judge({"value": value}, USE).tags[0].provenance.kind in {"user", "schema"}
    assert how({"n": 1100}, "1100", normalize="number") == "number"
    assert how({"n": "Kestrel"}, "kestrel", normalize="casefold") == "casefold"
    assert how({"n": 1100}, "1100") == ""


def test_normalize_grants_no_other_value() -> None:
    one = agent(normalize="casefold", values=("Main",))
    assert one.judge({"value": "MAIN"}, USE).tags[0].provenance.kind == "schema"
    assert one.judge({"value": "mains"}, USE).tags[0].provenance.kind == "assumed"
    number = agent(normalize="number", values=(10,))
    assert number.judge({"value": "10"}, USE).tags[0].provenance.kind == "schema"
    assert number.judge({"value": "10 "}, USE).tags[0].provenance.kind == "assumed"


# fields of servers whose names have dots


@pytest.mark.parametrize(
    "server, covered", [("tools.example.com", True), ("tools", False), ("com", False), (None, False)]
)
def test_a_server_is_what_stands_before_the_last_slash(server: str | None, covered: bool) -> None:
    assert field_matches("tools.example.com/list.files.*", "list.files.*", server) == covered
    assert field_matches("list.files.*", "list.files.*", server)


# an empty list takes back


def test_an_empty_list_takes_back_what_a_less_specific_table_says() -> None:
    path = {"value": ArgumentRule(sources=("list.files.*",))}
    tools = {
        "*": ToolRule(text=("lines",), arguments=path),
        "look": ToolRule(text=()),
        "use": ToolRule(arguments={"value": ArgumentRule(sources=())}),
    }
    one = Agent(Policy(mode="tag", tools=tools))
    one.reads("look", {}, "heron\nkestrel")
    one.reads("cat", {}, "osprey\nharrier")
    assert cited(one, "kestrel") is None
    assert cited(one, "harrier") is not None
    assert (
        one.judge({"value": "harrier"}, Tool("other", schema=parameters("value"))).tags[0].provenance.kind == "assumed"
    )


# bounds and time


def test_what_is_beyond_the_bound_of_one_leaf_is_not_citable() -> None:
    text = "\n".join(f"bird-{number}" for number in range(MAX_PIECES + 1))
    one = agent("lines")
    one.reads("look", {}, text)
    assert cited(one, f"bird-{MAX_PIECES - 1}") is not None
    assert cited(one, f"bird-{MAX_PIECES}") is None


UNITS = [
    "a",
    "a ",
    "a: b\n",
    "a=",
    "- ",
    "|",
    "a|b\n",
    "\t",
    "a  b\n",
    ",",
    "a,b\n",
    '"',
    "://",
    "a://b ",
    "#1",
    "[",
    "{}\n",
    '{"a":1}\n',
    "()",
    ")",
    "é",
]
HOSTILE = [row.name for row in PROJECTIONS.values() if row.stage == "text" and row.name != "regex"]
PATTERNS = [ISSUE, r"regex:x=([^,]+),[^;]+;[^.]+\.", r"regex:x=(\w+)@(\w+)\.example", r"regex:x=a[^#]+#"]


def seconds(work: Callable[[], object]) -> float:
    """CPU time of the fastest of three runs."""
    times = []
    for _ in range(3):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def drain(pieces: Iterable[str]) -> None:
    for _ in pieces:
        pass


@pytest.mark.parametrize("declared", [*HOSTILE, *PATTERNS])
@pytest.mark.parametrize("unit", UNITS)
def test_a_text_of_four_times_the_length_takes_about_four_times_as_long(declared: str, unit: str) -> None:
    read = reader(declared)
    assert read is not None
    short, long = unit * (20_000 // len(unit)), unit * (80_000 // len(unit))
    first = seconds(lambda: drain(read[1](short)))
    assert seconds(lambda: drain(read[1](long))) < 10 * max(first, 0.002)


@pytest.mark.parametrize("name", IMAGES)
@pytest.mark.parametrize("unit", ["a/", "1", "a.", "2031-05-18", "é"])
def test_an_image_takes_time_linear_in_its_text(name: str, unit: str) -> None:
    keys = IMAGES[name].keys
    first = seconds(lambda: keys(unit * 50_000))
    assert seconds(lambda: keys(unit * 200_000)) < 10 * max(first, 0.002)


def indexed(document: Any, *text: str) -> float:
    """CPU time of recording a result and looking something up in it."""

    def work() -> None:
        one = agent(*text, projections=("dirname", "number", "date_part"))
        one.reads("look", {}, document)
        cited(one, "kestrel")

    return seconds(work)


ALL_TEXT = ("lines", "key_value", "json_lines", "table", "paths", "git_sha", "url", "tokens", ISSUE)


@pytest.mark.parametrize("unit", ["a ", "a: b\n", "a  b\n", '{"a": [1]}\n'])
def test_a_long_result_is_indexed_in_linear_time(unit: str) -> None:
    first = indexed(unit * 10_000, *ALL_TEXT)
    assert indexed(unit * 40_000, *ALL_TEXT) < 10 * max(first, 0.005)


def test_a_document_that_is_nested_ten_thousand_deep_is_not_read_and_does_no_harm() -> None:
    deep = "[" * 10_000 + '"kestrel"' + "]" * 10_000
    one = agent(*(name for name in ALL_TEXT if name != "tokens"))
    one.reads("look", {}, {"text": deep, "lines": f"{deep}\n{deep}", "bird": "heron"})
    assert cited(one, "kestrel") is None
    assert cited(one, "heron") is not None


def test_many_documents_at_the_bottom_of_a_deep_one_are_indexed_in_linear_time() -> None:
    def nest(count: int) -> Any:
        document: Any = ["{}"] * count
        for _ in range(300):
            document = [document]
        return document

    first = indexed(nest(5_000))
    assert indexed(nest(20_000)) < 10 * max(first, 0.005)
