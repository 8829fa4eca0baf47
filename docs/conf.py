"""Sphinx: the site, built by ``make docs`` into build/docs."""

import os
import sys
from pathlib import Path

import matplotlib as mpl
from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx_gallery.sorting import ExplicitOrder

sys.path.insert(0, str(Path(__file__).parents[1]))
mpl.use("Agg")

from marginwood import __version__
from marginwood._cli.main import COMMANDS, make_parser

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
# A page without siblings needs no sidebar.
html_sidebars = {name: [] for name in ("index", "install", "cite")}

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
autodoc_default_options = {"members": True, "inherited-members": True}
numpydoc_show_class_members = False

copybutton_exclude = ".linenos, .gp, .go"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "stories",
    "filename_pattern": r"plot_",
    "ignore_pattern": r"forest_on_dask",
    "within_subsection_order": ExplicitOrder(
        ["plot_survival.py", "plot_nephropathy.py", "plot_mercury.py", "plot_incomes.py", "plot_penalty.py"]
    ),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "remove_config_comments": True,
    "image_srcset": ["2x"],
}


class CommandHelp(Directive):
    """What ``marginwood COMMAND --help`` prints; all commands without an argument."""

    optional_arguments = 1

    def run(self):
        """A literal block."""
        os.environ.update(COLUMNS="100", NO_COLOR="1")
        parser = make_parser()
        if self.arguments:
            (commands,) = (action for action in parser._actions if action.dest == "command")
            parser = commands.choices[self.arguments[0]]
        block = nodes.literal_block(text=parser.format_help())
        block["language"] = "text"
        return [block]


class CommandHelps(Directive):
    """A section with the help of every command."""

    def run(self):
        """Sections, in the order of the table of commands."""
        sections = []
        for name in COMMANDS:
            section = nodes.section(ids=[f"command-{name}"], names=[f"command-{name}"])
            section += nodes.title(text=name)
            section += CommandHelp("command-help", [name], {}, [], self.lineno, 0, "", self.state, None).run()
            sections.append(section)
        return sections


def skip_foreign_members(app, what, name, member, skip, options):  # noqa: ARG001  (Sphinx fixes the signature)
    """Leave out what scikit-learn documents itself, such as get_params."""
    module = getattr(member, "__module__", None) or getattr(getattr(member, "fget", None), "__module__", None)
    if what == "class" and module is not None and not module.startswith("marginwood"):
        return True
    return skip


def setup(app):
    """Register the directives and the choice of members."""
    app.add_directive("command-help", CommandHelp)
    app.add_directive("command-helps", CommandHelps)
    app.connect("autodoc-skip-member", skip_foreign_members)
