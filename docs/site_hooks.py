"""What the site needs beside the pages: the files of the repository that pages link to, and links that lead there.

Fences whose info string tells a test what to do with them (`toml error`) lose that word.

On a code host the link `../examples/citespan.toml` shows that file. The site has a copy of it below `files/`.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any, Final

from mkdocs.structure.files import File, Files

ROOT: Final = Path(__file__).parents[1]
_LINK: Final = re.compile(r"(\]\()((?:\.\./)+[^)\s#]+)")
_FENCE: Final = re.compile(r"^(```\w+) (?!title=).*$", re.MULTILINE)
_FOLDER: Final = "files"


def on_files(files: Files, config: Any) -> Files:
    """Add each file outside `docs/` that some page links to."""
    for page in list(files.documentation_pages()):
        for link in _LINK.findall(page.content_string):
            outside = _outside(page.src_uri, link[1])
            if outside is not None and files.get_file_from_path(f"{_FOLDER}/{outside}") is None:
                files.append(File.generated(config, f"{_FOLDER}/{_name(outside)}", content=_content(ROOT / outside)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Let the links of a page lead to the copies, and its fences be fences."""

    def lead(found: re.Match[str]) -> str:
        outside = _outside(page.file.src_uri, found[2])
        if outside is None:
            return found[0]
        here = posixpath.dirname(page.file.src_uri)
        return found[1] + posixpath.relpath(f"{_FOLDER}/{_name(outside)}", here or ".")

    return _FENCE.sub(r"\1", _LINK.sub(lead, markdown))


def _outside(page: str, link: str) -> str | None:
    """The path of a link's target in the repository, None for one inside `docs/`, or that is not there."""
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), link))
    return None if path.startswith("docs/") or not (ROOT / path).exists() else path


def _name(path: str) -> str:
    """A name that a browser shows as text; a folder is the list of its files."""
    return f"{path}/index.txt" if (ROOT / path).is_dir() else f"{path}.txt"


def _content(path: Path) -> str:
    if path.is_dir():
        return "".join(f"{each.name}\n" for each in sorted(path.iterdir()))
    return path.read_text(encoding="utf-8")
