r"""Text of unknown origin, such as names of columns, made safe to print.

A terminal obeys control characters: a column named ``\x1b[2J`` would clear the screen.
"""

from __future__ import annotations

import unicodedata

__all__ = ["one_line", "printable"]


def printable(text: str) -> str:
    """Text in which every character that cannot be seen is written as an escape, save spaces, tabs and line feeds."""
    if text.isprintable():
        return text
    return "".join(character if _is_harmless(character) else repr(character)[1:-1] for character in text)


def one_line(text: str) -> str:
    """The same on one line: white space of any length is one space."""
    return printable(" ".join(text.split()))


def _is_harmless(character: str) -> bool:
    return character.isprintable() or character in "\n\t" or unicodedata.category(character) == "Zs"
