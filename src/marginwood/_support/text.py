r"""Text of unknown origin, such as names of columns, made safe to print.

A terminal obeys control characters: a column named ``\x1b[2J`` would clear the screen.
"""

from __future__ import annotations

import unicodedata

__all__ = ["escaped", "one_line", "printable"]


def printable(text: str) -> str:
    """Text in which every character that cannot be seen is written as an escape, save spaces, tabs and line feeds."""
    if text.isprintable():
        return text
    return "".join(
        character if _is_harmless(character) else repr(character)[1:-1] for character in text
    )


def one_line(text: str) -> str:
    """The same on one line: white space of any length is one space."""
    return printable(" ".join(text.split()))


def escaped(error: BaseException) -> BaseException:
    """An error of which neither its own text nor those that a traceback shows before it can command a terminal."""
    shown: BaseException | None = error
    while shown is not None:
        if not isinstance(shown, KeyError):  # which shows what is missing as an escaped literal
            shown.args = tuple(
                printable(text) if isinstance(text, str) else text for text in shown.args
            )
        shown = shown.__cause__ or shown.__context__
    return error


def _is_harmless(character: str) -> bool:
    return character.isprintable() or character in "\n\t" or unicodedata.category(character) == "Zs"
