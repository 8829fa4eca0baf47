"""The README's Python blocks run in order in one namespace; a text block after one is what it prints."""

from pages import DOCS, find_blocks, run, without_trailing_blanks

README = DOCS.parent / "README.md"
