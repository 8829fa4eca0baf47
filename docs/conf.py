"""Sphinx: the site, built by ``make docs`` into build/docs."""

import os
import re
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx_gallery.sorting import ExplicitOrder

from marginwood import __version__
from marginwood._cli.main import COMMANDS, make_parser

ROOT = Path(__file__).parents[1]
ROOT_PAGES = ("ARCHITECTURE", "CHANGELOG", "CONTRIBUTING")
BARE_ATTRIBUTE = re.compile(r"(?<![\w`.])([a-z]\w*_)(?![\w`])")

project = "marginwood"
author = "The marginwood developers"
project_copyright = author
release = version = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["sg_execution_times.rst", "stories/*.py"]
templates_path = ["_templates"]

html_theme = "pydata_sphinx_theme"
html_title = f"marginwood {__version__}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "marginwood"},
    "navigation_with_keys": False,
    "show_prev_next": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "back_to_top_button": False,
}
# The start page has no siblings, and code side by side needs the room.
html_sidebars = {"index": [], "coming_from/*": []}

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
autodoc_default_options = {"members": True, "inherited-members": True}
numpydoc_show_class_members = False

copybutton_exclude = ".linenos, .gp, .go"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "stories",
    "filename_pattern": r"plot_",
    "ignore_pattern": r"forest_on_dask",
    "within_subsection_order": ExplicitOrder(
        [
            "plot_survival.py",
            "plot_nephropathy.py",
            "plot_mercury.py",
            "plot_incomes.py",
            "plot_penalty.py",
        ]
    ),
    "abort_on_example_error": True,
    "capture_repr": (),  # what is printed, and figures
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "remove_config_comments": True,
    "image_srcset": ["2x"],
    "thumbnail_size": (560, 320),
}


def format_helps():
    """What ``marginwood --help`` prints, and ``marginwood COMMAND --help`` by command."""
    os.environ.update(COLUMNS="92", NO_COLOR="1")
    parser = make_parser()
    (commands,) = (action for action in parser._actions if action.dest == "command")
    return parser.format_help(), {name: commands.choices[name].format_help() for name in COMMANDS}


class CommandHelps(Directive):
    """The help of the program, then a section with that of every command."""

    def run(self):
        """The nodes, in the order of the table of commands."""
        program, helps = format_helps()
        found = [nodes.literal_block(text=program, language="text")]
        for name, text in helps.items():
            section = nodes.section(ids=[f"command-{name}"], names=[f"command-{name}"])
            section += [nodes.title(text=name), nodes.literal_block(text=text, language="text")]
            found.append(section)
        return found


def skip_foreign_members(app, what, name, member, skip, options):  # noqa: ARG001  (Sphinx fixes the signature)
    """Leave out what scikit-learn documents itself, such as get_params."""
    module = getattr(member, "__module__", None) or getattr(
        getattr(member, "fget", None), "__module__", None
    )
    if what == "class" and module is not None and not module.startswith("marginwood"):
        return True
    return skip


def quote_attributes(app, what, name, obj, options, lines):  # noqa: ARG001
    """Set names such as n_features_in_ as code: bare, they would be links."""
    for number, line in enumerate(lines):
        names, colon, types = line.partition(" : ")
        if colon and not names.startswith(" "):
            lines[number] = names + colon + BARE_ATTRIBUTE.sub(r"``\1``", types)
        elif (
            line.strip()
            and line.strip() + " :" not in line
            and not line.lstrip().startswith((">>>", "..."))
        ):
            lines[number] = BARE_ATTRIBUTE.sub(r"``\1``", line)


def read_root_page(app, name, source):  # noqa: ARG001
    """Pages that stand in the root of the repository; their links become those of the site."""
    if name.upper() in ROOT_PAGES:
        text = (ROOT / f"{name.upper()}.md").read_text(encoding="utf-8")
        text = re.sub(
            rf"\(({'|'.join(ROOT_PAGES)})\.md\)", lambda found: f"({found[1].lower()}.md)", text
        )
        source[0] = text.replace("(docs/", "(")


def setup(app):
    """Register the directive and the choice of members."""
    app.add_directive("command-helps", CommandHelps)
    app.connect("autodoc-skip-member", skip_foreign_members)
    app.connect(
        "autodoc-process-docstring", quote_attributes, priority=400
    )  # before numpydoc, which has 500
    app.connect("source-read", read_root_page)
