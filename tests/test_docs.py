"""The site: every block of its pages runs and prints what the page says, stories run, links lead somewhere."""

import re
import runpy

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt
from pages import DOCS, find_blocks, find_pages, run, without_trailing_blanks
from PIL import Image

from marginwood._cli.main import COMMANDS
from marginwood._version import __version__

ROOT = DOCS.parent
PAGES = [page for page in find_pages() if page.name != "README.md"]
STORIES = sorted((ROOT / "examples").glob("plot_*.py"))
LINK = re.compile(r"(?<!\!)\[[^\]]*\]\(([^)\s]+)\)")
INCLUDE = re.compile(r"```\{include\} (\S+)\n(.*?)```", re.DOTALL)
PICTURE = re.compile(r"!\[[^\]]*\]\(([^)\s]+)\)")
# Pages that Sphinx makes.
GENERATED = {"stories/index", "stories/plot_penalty", "api"}


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def size_of(picture):
    with Image.open(picture) as image:
        return image.size


def test_blocks_are_paired_with_their_output_and_picture():
    markdown = (
        "```python\na\n```\nprints\n```text\n1\n```\n```python\nb\n```\n```text\n2\n```\n\n![of b](b.png)\n"
        "<!-- not run: a reason -->\n```python\nc\n```\n```\nmake\n```\n```python\nd\n```\n\n![of d](d.png)\n"
    )
    found = [(block.code, block.output, block.picture) for block in find_blocks(markdown)]
    assert found == [("a\n", None, None), ("b\n", "2\n", "b.png"), ("d\n", None, "d.png")]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if find_blocks(page.read_text(encoding="utf-8"))], ids=name_of
)
def test_a_page_prints_what_it_says_and_draws_small_pictures(page, tmp_path):
    for block, printed in run(page, tmp_path):
        assert (block.output is None) == (not printed), block.code
        if block.output is not None:
            assert without_trailing_blanks(printed) == without_trailing_blanks(block.output)
        if block.picture:
            drawn = tmp_path / block.picture
            assert size_of(drawn) == size_of(page.parent / block.picture)
            assert drawn.stat().st_size < 100_000


def test_parts_of_other_files_are_found_where_pages_include_them():
    found = []
    for page in PAGES:
        for path, options in INCLUDE.findall(page.read_text(encoding="utf-8")):
            text = (page.parent / path).read_text(encoding="utf-8")
            found += [
                text.count(marker)
                for marker in re.findall(r':(?:start-after|end-before): "(.*)"', options)
            ]
    assert found == [1] * len(found)
    assert found


@pytest.mark.parametrize("page", find_pages(), ids=name_of)
def test_links_and_pictures_of_a_page_are_there(page):
    text = page.read_text(encoding="utf-8")
    for target in [*LINK.findall(text), *PICTURE.findall(text)]:
        if "://" not in target and target.partition("#")[0]:
            path = (page.parent / target.partition("#")[0]).resolve()
            is_generated = (
                path.is_relative_to(DOCS) and path.relative_to(DOCS).as_posix() in GENERATED
            )
            assert path.exists() or is_generated, target


def test_every_picture_is_on_a_page():
    pages = [*find_pages(), *(ROOT / name for name in ("CONTRIBUTING.md", "ARCHITECTURE.md"))]
    shown = {
        (page.parent / target).resolve()
        for page in pages
        for target in PICTURE.findall(page.read_text("utf-8"))
    }
    assert set((DOCS / "images").rglob("*.png")) <= shown


@pytest.mark.parametrize("picture", sorted((DOCS / "images").rglob("*.png")), ids=name_of)
def test_no_picture_is_blank(picture):
    with Image.open(picture) as image:
        darkest, brightest = image.convert("L").getextrema()
    assert darkest < brightest


def test_no_page_for_users_names_a_version_that_would_go_stale():
    assert [
        name_of(page)
        for page in find_pages()
        if f"marginwood-{__version__}" in page.read_text("utf-8")
    ] == []


@pytest.mark.parametrize("story", STORIES, ids=lambda path: path.stem)
def test_a_story_runs_and_draws(story):
    mpl.use("Agg")
    plt.close("all")
    runpy.run_path(str(story))
    assert plt.get_fignums()
    plt.close("all")


def test_the_site_shows_every_story():
    assert all(
        f'"{story.name}"' in (DOCS / "conf.py").read_text(encoding="utf-8") for story in STORIES
    )


def test_the_page_of_the_command_line_is_made_of_its_help():
    assert "```{command-helps}" in (DOCS / "command_line.md").read_text(encoding="utf-8")
    assert len(COMMANDS) > 5
