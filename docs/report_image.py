"""Draw docs/images/report-light.png and report-dark.png: the page of a made-up run. Run it after it has changed.

`python docs/report_image.py trace.jsonl` writes that run's trace file instead.
"""

from __future__ import annotations

import contextlib
import math
import shutil
import struct
import sys
import tempfile
import time
import zlib
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import citespan
from citespan.calls.read import read_calls
from citespan.report import page

IMAGES = Path(__file__).resolve().parent / "images"
POLICY = """
version = 1

[defaults]
allow = ["comment", "text"]

[tools."list_*"]
mode = "tag"

[tools.patch_file.arguments.path]
from = ["list_files.files.*"]

[tools.create_file.arguments.path]
accept = ["invented"]
propose_against = "list_files.files.*"

[tools.log_time.arguments.minutes]
derive = [{ sum = ["get_issue.spent", "get_issue.left"] }]
"""
ISSUES = {"OPS-4021": "rosa@example.org", "OPS-4044": "tariq@example.org", "OPS-4107": "mei@example.org"}


def list_issues(project: str, state: Literal["open", "closed"]) -> dict[str, Any]:
    """The issues of a project."""
    time.sleep(0.21)
    return {"issues": [{"id": number, "author": author} for number, author in ISSUES.items()]}


def get_issue(id: str) -> dict[str, Any]:
    """One issue."""
    time.sleep(0.09)
    return {"title": "Retry loop never ends", "author": ISSUES[id], "file": "src/retry.py", "spent": 145, "left": 210}


def list_files(root: str) -> dict[str, Any]:
    """The files below a folder."""
    time.sleep(0.03)
    return {"files": ["src/app.py", "src/retry.py", "tests/test_app.py", "docs/index.md"]}


def read_file(path: str) -> dict[str, Any]:
    """A file's text."""
    time.sleep(0.02)
    return {"text": "def retry(): ...\n"}


def patch_file(path: str, comment: str) -> dict[str, Any]:
    """Change a file."""
    time.sleep(0.06)
    return {"patched": path}


def create_file(path: str, text: str) -> dict[str, Any]:
    """Make a file."""
    time.sleep(0.04)
    return {"created": path}


def list_branches(project: str) -> dict[str, Any]:
    """The branches of a project."""
    time.sleep(0.12)
    return {"branches": ["main", "release-2031"]}


def open_change(base: str, issue: str, reviewers: list[str], comment: str) -> dict[str, Any]:
    """Ask for a review."""
    time.sleep(0.18)
    return {"change": "CH-77120"}


def log_time(issue: str, minutes: int) -> dict[str, Any]:
    """Book time on an issue."""
    time.sleep(0.05)
    return {"booked": True}


def send_mail(to: str, text: str) -> dict[str, Any]:
    """Send a mail."""
    time.sleep(0.11)
    return {"sent": True}


TOOLS = (
    list_issues, get_issue, list_files, read_file, patch_file, create_file, list_branches, open_change, log_time,
    send_mail,
)  # fmt: skip


def record(path: Path) -> None:
    """Play an agent that looks things up, makes a new file, and guesses twice; write its trace."""
    policy = path.with_suffix(".toml")
    policy.write_text(POLICY, encoding="utf-8")
    with citespan.TracedTools(
        {tool.__name__: tool for tool in TOOLS}, policy=policy, inputs={"project": "payments", "root": "."}
    ) as tools:
        tools.run.user("Please fix the retry loop of OPS-4021 and tell its author.")
        tools.call("list_issues", project="payments", state="open")
        issue = tools.call("get_issue", id="OPS-4021")
        files = tools.call("list_files", root=".")["files"]
        tools.call("read_file", path=issue["file"])
        with contextlib.suppress(PermissionError):
            tools.call("patch_file", path="src/retry_helper.py", comment="stop after five attempts")
        tools.call("patch_file", path=files[1], comment="stop after five attempts")
        tools.run.propose("create_file", "path", "tests/test_retry.py", reviewer=lambda _: True)
        tools.call("create_file", path="tests/test_retry.py", text="def test_it_stops(): ...")
        branches = tools.call("list_branches", project="payments")["branches"]
        tools.call("open_change", base=branches[0], issue="OPS-4021", reviewers=[issue["author"]], comment="fixed")
        tools.call("log_time", issue="OPS-4021", minutes=issue["spent"] + issue["left"])
        with contextlib.suppress(PermissionError):
            tools.call("send_mail", to="rosa.delgado@example.org", text="it is fixed")
        tools.call("send_mail", to=issue["author"], text="it is fixed")
        tools.dump(path)


def draw(trace: Path) -> None:
    """Open the page in a browser, point at one argument, and keep what is seen in both themes."""
    from playwright.sync_api import sync_playwright

    browser_path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=browser_path, args=["--no-sandbox", "--disable-lcd-text"])
        for theme in ("light", "dark"):
            view = browser.new_page(viewport={"width": 1250, "height": 880}, color_scheme=theme)  # type: ignore[arg-type]
            view.set_content(page(read_calls(trace), title="Fix OPS-4021"))
            view.locator(".row", has_text="open_change").locator(".chip", has_text="reviewers").hover()
            (IMAGES / f"report-{theme}.png").write_bytes(packed(view.screenshot()))
            view.close()
        browser.close()


def packed(png: bytes) -> bytes:
    """The same picture with its 256 most used colours: a third of the bytes."""
    width, height = struct.unpack(">II", png[16:24])
    pixels = pixels_of(png, width)
    colours = [colour for colour, _ in Counter(pixels).most_common(256)]
    nearest = {colour: place for place, colour in enumerate(colours)}
    for colour in set(pixels) - nearest.keys():
        nearest[colour] = min(range(len(colours)), key=lambda place: math.dist(colours[place], colour))
    lines = [b"\0" + bytes(nearest[each] for each in pixels[at : at + width]) for at in range(0, len(pixels), width)]
    parts = {
        b"IHDR": struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0),
        b"PLTE": bytes(chain.from_iterable(colours)),
        b"IDAT": zlib.compress(b"".join(lines), 9),
        b"IEND": b"",
    }
    made = (
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in parts.items()
    )
    return png[:8] + b"".join(made)


def pixels_of(png: bytes, width: int) -> list[tuple[int, ...]]:
    """The colours of a picture as the browser writes it: eight bits each of red, green and blue (PNG, section 9)."""
    at, data = 8, b""
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        data += png[at + 8 : at + 8 + size] if png[at + 4 : at + 8] == b"IDAT" else b""
        at += size + 12
    raw, step = zlib.decompress(data), width * 3
    above = bytearray(step)
    pixels: list[tuple[int, ...]] = []
    for start in range(0, len(raw), step + 1):
        line = bytearray(raw[start + 1 : start + 1 + step])
        for place in range(step):
            left, corner = (line[place - 3], above[place - 3]) if place >= 3 else (0, 0)
            up = above[place]
            guess = left + up - corner
            paeth = min((left, up, corner), key=lambda each: abs(guess - each))  # the first of equals, as the rule is
            line[place] = (line[place] + (0, left, up, (left + up) // 2, paeth)[raw[start]]) & 255
        pixels += zip(line[::3], line[1::3], line[2::3], strict=True)
        above = line
    return pixels


def main() -> None:
    """Write the trace, or the pictures."""
    if len(sys.argv) > 1:
        record(Path(sys.argv[1]))
        return
    # the page says where it was read from
    with tempfile.TemporaryDirectory(prefix="citespan-report-") as folder, contextlib.chdir(folder):
        record(Path("trace.jsonl"))
        draw(Path("trace.jsonl"))


if __name__ == "__main__":
    main()
