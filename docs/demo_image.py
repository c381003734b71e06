"""Draw docs/images/demo.svg: what `citespan demo` prints, as a picture. Run it after the demo has changed."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from rich.console import Console

from citespan.cli import demo

IMAGE = Path(__file__).parent / "images" / "demo.svg"


def main() -> None:
    """Play the demo into a recording console and save it."""
    console = Console(record=True, width=124, highlight=False, force_terminal=True, file=open("/dev/null", "w"))  # noqa: SIM115
    with tempfile.TemporaryDirectory(prefix="citespan-demo-") as name:
        folder = demo.prepare(Path(name) / "demo")
        demo.perform(folder, console)
        picture = console.export_svg(title="citespan demo").replace(str(folder), "demo")
    # text only: a page that shows the picture fetches no font
    picture = re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL)
    picture = re.sub(r" textLength=\"[^\"]*\"", "", picture)
    # viewers that ignore non-breaking blanks would lose the indentation otherwise
    picture = picture.replace("<text ", '<text xml:space="preserve" ')
    IMAGE.write_text(picture)


if __name__ == "__main__":
    main()
