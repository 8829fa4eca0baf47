"""Text of unknown origin, printed."""

import traceback
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginwood._support.text import escaped, one_line, printable


@given(st.text())
def test_printed_text_holds_nothing_that_a_terminal_obeys(text):
    kept = set(printable(text)) - {"\n", "\t"}
    assert {unicodedata.category(character)[0] for character in kept} <= set("LMNPSZ")
    assert not {"Zl", "Zp"} & {unicodedata.category(character) for character in kept}


@given(st.text(st.characters(categories=["L", "M", "N", "P", "S", "Zs"])))
def test_what_can_be_seen_stays_as_it_is(text):
    assert printable(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J\x07", "\\x1b[2J\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("a\rb", "a\\rb"),
        ("a\u202eb", "a\\u202eb"),
        ("\ud800", "\\ud800"),
        ("two\n\tlines", "two\n\tlines"),
        ("10\u00a0mg", "10\u00a0mg"),
    ],
)
def test_control_characters_become_escapes(text, shown):
    assert printable(text) == shown


@given(st.text())
def test_one_line_is_one_line(text):
    assert len(one_line(text).splitlines()) <= 1
    assert printable(one_line(text)) == one_line(text)


def test_white_space_of_any_length_is_one_space():
    assert one_line(" dose\r\n\t in\u2028gram\x1b ") == "dose in gram\\x1b"


def test_the_traceback_of_an_escaped_error_holds_nothing_that_a_terminal_obeys():
    try:
        try:
            {}["\x1b[2J"]
        except KeyError:
            raise ValueError("\x1b[2J", 7)  # noqa: B904 - shown as what happened meanwhile
    except ValueError as error:
        shown = "".join(traceback.format_exception(escaped(error)))
    assert "\x1b" not in shown
    assert shown.count("\\x1b[2J") == 4  # both lines of source, both messages
