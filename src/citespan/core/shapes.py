"""What a value looks like, for the rule that a citation must look like its field (design section 2)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

Shape: TypeAlias = Literal["email", "url", "date", "path", "id", "json", "other"]

#: shapes that a field of another shape does not vouch for
SHAPED: Final[frozenset[str]] = frozenset({"email", "url", "date", "path", "id"})
PROSE_LENGTH: Final = 60
PROSE_WORDS: Final = 8
#: longer values have no shape; it also bounds the time of the expressions below
MAX_SHAPED: Final = 256

_SHAPE = re.compile(
    r"""^(?:
      (?P<date>\d{4}-\d{2}(?:-\d{2})?(?:[T\ ]\d{2}:\d{2}\S*)?|\d{1,2}[/.]\d{1,2}[/.]\d{2,4}|\d{1,2}:\d{2}(?::\d{2})?)
    | (?P<path>~?\.{0,2}/[^\n]*\S|(?!www\.)[\w@+.-]++(?:/[\w@+.\ -]++)++/?)
    | (?P<url>[A-Za-z][A-Za-z0-9+.-]*+://\S+|www\.\S+)
    | (?P<email>[^\s@]++@[^\s@.]++(?:\.[^\s@.]++)++)
    | (?P<file>[\w@+-][\w@+.-]*\.[A-Za-z]\w{0,4}|\.[A-Za-z][\w.-]+
        |(?i:makefile|dockerfile|license|readme|changelog|notice))
    | (?P<id>(?=\S{4})(?:(?=[A-Z0-9]*+$)(?=\S*\d)\S++|(?=\S*\d\S*\d)[A-Za-z0-9]++(?:[_:#-][A-Za-z0-9]++)*+|\#\d+
        |[0-9a-f]{7,64}))
    | (?P<code>(?=\S*\d)[A-Za-z0-9]++(?:[_:#-][A-Za-z0-9]++)*+|[A-Z]{4,12})
    )$""",
    re.VERBOSE | re.ASCII | re.MULTILINE,
)


def is_prose(text: str) -> bool:
    """A line break, or over 60 characters in 8 or more words (design section 2)."""
    return "\n" in text or "\r" in text or (len(text) > PROSE_LENGTH and len(text.split()) >= PROSE_WORDS)


def is_document(text: str) -> bool:
    """Whether a text may be a whole JSON object or array, judged by its ends alone."""
    if text[:1] not in "{[ \n\t\r" or not text:
        return False
    stripped = text.strip()
    return stripped[:1] + stripped[-1:] in {"{}", "[]"}


def shape(text: str) -> Shape:
    """The shape of a single value; prose and everything unremarkable is "other".

    Example:
        >>> shape("a@b.org"), shape("src/app.py"), shape("W77123"), shape("hello")
        ('email', 'path', 'id', 'other')
    """
    found = None if len(text) > MAX_SHAPED or "\n" in text else _SHAPE.match(text)
    if found is None:
        return "json" if is_document(text) else "other"
    return _NAMES[found.lastgroup or ""]


def count(texts: Sequence[str], wanted: Shape) -> int:
    """How many texts go with a shape, in one pass over all of them.

    A word with a single digit (`item-7`) or in capitals (`UHDAHF`) has no shape of its own, and goes with ids. A single
    word goes with paths: folders and files without an ending stand among them.

    Example:
        >>> count(["a.py", "src", "two words"], "path"), count(["item-9", "item-10"], "id")
        (2, 2)
    """
    joined = "\n".join(texts)
    if wanted in {"json", "other"} or joined.count("\n") != len(texts) - 1 or max(map(len, texts)) > MAX_SHAPED:
        return sum(goes_with(text, wanted) for text in texts)
    if wanted == "path":
        return sum(found.lastgroup in _GROUPS["path"] for found in _SHAPE.finditer(joined)) + sum(
            goes_with(text, "path") for text in texts if _WORD.fullmatch(text) and shape(text) == "other"
        )
    groups = _GROUPS[wanted]
    return sum(found.lastgroup in groups for found in _SHAPE.finditer(joined))


def goes_with(text: str, wanted: Shape) -> bool:
    """Whether one text goes with a shape; see `count`."""
    if shape(text) == wanted:
        return True
    if wanted == "path":
        return _WORD.fullmatch(text) is not None and shape(text) == "other"
    found = _SHAPE.match(text) if wanted == "id" and len(text) <= MAX_SHAPED and "\n" not in text else None
    return found is not None and found.lastgroup == "code"


_WORD = re.compile(r"[\w+-]{1,64}")
#: the expression's groups that go with a shape
_GROUPS: Final[dict[Shape, frozenset[str]]] = {
    "date": frozenset({"date"}),
    "path": frozenset({"path", "file"}),
    "url": frozenset({"url"}),
    "email": frozenset({"email"}),
    "id": frozenset({"id", "code"}),
}
_NAMES: Final[dict[str, Shape]] = {
    "date": "date",
    "path": "path",
    "file": "path",
    "url": "url",
    "email": "email",
    "id": "id",
    "code": "other",
}

_HOST = re.compile(
    r"(?P<lead>[a-z][a-z0-9+.-]*://|[^\s@/]+@)?(?:[\w-]+\.)+(?P<top>[a-z]{2,24})(?:[:/?#]\S*)?"
    r"|(?:[a-z][a-z0-9+.-]*://)\S+|(?:[^\s@/]+@)?\d{1,3}(?:\.\d{1,3}){3}(?:[:/]\S*)?"
)
#: endings that are read as a file's, not as a top-level domain
_FILE_ENDINGS: Final = frozenset(
    [
        "bak",
        "bat",
        "bin",
        "c",
        "cfg",
        "conf",
        "cpp",
        "cs",
        "css",
        "csv",
        "db",
        "doc",
        "docx",
        "env",
        "exe",
        "gif",
        "go",
        "gz",
        "h",
        "html",
        "ini",
        "ipynb",
        "java",
        "jpeg",
        "jpg",
        "js",
        "json",
        "jsonl",
        "jsx",
        "kt",
        "lock",
        "log",
        "lua",
        "m4",
        "map",
        "md",
        "mp",
        "mp3",
        "mp4",
        "odt",
        "orig",
        "pdf",
        "php",
        "pkl",
        "png",
        "ppt",
        "pptx",
        "properties",
        "ps1",
        "py",
        "r",
        "rb",
        "rs",
        "rst",
        "scala",
        "sql",
        "sqlite",
        "svg",
        "swift",
        "tar",
        "tex",
        "tgz",
        "tmp",
        "toml",
        "ts",
        "tsv",
        "tsx",
        "txt",
        "vue",
        "wav",
        "webp",
        "xls",
        "xlsx",
        "xml",
        "yaml",
        "yml",
        "zip",
    ]
)


def names_host(folded: str) -> bool:
    """Whether a folded text is a host name, a URL or an e-mail address: whatever contains it leads there.

    Example:
        >>> names_host("evil.example.com"), names_host("prod.env"), names_host("report")
        (True, False, False)
    """
    if len(folded) > MAX_SHAPED:
        return False
    found = _HOST.fullmatch(folded)
    return found is not None and (found.group("lead") is not None or found.group("top") not in _FILE_ENDINGS)
