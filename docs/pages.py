"""Run the Python blocks of pages, and write what they print and draw into the pages.

A page is README.md or a Markdown file of this folder. Its blocks run in order, in one namespace. A
``text`` block after a Python block holds what it prints, a picture after it the figure that it
leaves. A comment right above a block says why it is not run, or where in the source it stands.

    python docs/pages.py                 # all pages
    python docs/pages.py docs/targets.md
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

DOCS = Path(__file__).parent
BLOCK = re.compile(
    r"(?P<comment>^<!--[^\n]*-->\n)?^```python\n(?P<code>.*?)^```\n"
    r"(?:\n*^```text\n(?P<output>.*?)^```$)?"
    r"(?:\n*^!\[[^\]]*\]\((?P<picture>[^)]*)\))?",
    re.DOTALL | re.MULTILINE,
)


class Block(NamedTuple):
    """One Python block: its code, the number of lines above it, and what the page shows of its output and figure."""

    code: str
    line: int
    output: str | None
    picture: str | None
    output_span: tuple[int, int]


def find_pages() -> list[Path]:
    """README.md and all pages of the site that are written by hand."""
    written = [path for path in DOCS.rglob("*.md") if not {"generated", "stories"} & {*path.parts}]
    return [DOCS.parent / "README.md", *sorted(written)]


def find_blocks(markdown: str) -> list[Block]:
    """The blocks of a page that are run."""
    return [
        Block(
            found["code"],
            markdown.count("\n", 0, found.start("code")),
            found["output"],
            found["picture"],
            found.span("output"),
        )
        for found in BLOCK.finditer(markdown)
        if found["comment"] is None
    ]


def run(page: Path, pictures: Path) -> Iterator[tuple[Block, str]]:
    """Run the blocks of a page; yields each with what it prints. Figures go to `pictures` under the page's paths.

    The blocks run in an empty folder, which is removed at the end.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    namespace: dict[str, Any] = {"__name__": page.stem}
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for block in find_blocks(page.read_text(encoding="utf-8")):
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    # Empty lines above the code make tracebacks point into the page.
                    exec(compile("\n" * block.line + block.code, str(page), "exec"), namespace)
                if block.picture:
                    save(plt.gcf(), pictures / block.picture)
                plt.close("all")
                yield block, printed.getvalue()
        finally:
            os.chdir(home)


def save(figure: Any, path: Path) -> None:
    """Write a figure as a png of 256 colours, which is a third of the size."""
    from PIL import Image

    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=100)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.open(drawn).convert("RGB").quantize(256).save(path, optimize=True)


def without_trailing_blanks(text: str) -> list[str]:
    """Lines to compare: blanks at their ends and lines at the end do not count."""
    return [line.rstrip() for line in text.rstrip().splitlines()]


def rewrite(page: Path) -> None:
    """Run a page and write what its blocks print into it; its pictures are drawn beside it."""
    markdown = page.read_text(encoding="utf-8")
    # From the end, so that places found in the page stay true.
    for block, printed in reversed([*run(page, page.parent)]):
        if block.output is not None:
            start, end = block.output_span
            lines = "".join(f"{line}\n" for line in without_trailing_blanks(printed))
            markdown = markdown[:start] + lines + markdown[end:]
    page.write_text(markdown, encoding="utf-8")


if __name__ == "__main__":
    for page in [Path(name).resolve() for name in sys.argv[1:]] or find_pages():
        print(page.relative_to(DOCS.parent), flush=True)
        rewrite(page)
