"""Progress is a bar for people and log lines for everyone else."""

import io
import logging

import pytest

from marginwood._support.progress import progress_bar


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(monkeypatch, stream, verbose):
    monkeypatch.setattr("sys.stderr", stream)
    with progress_bar("growing", 3, verbose=verbose, done=1) as advance:
        advance()
        advance()
    return stream.getvalue()


def test_a_bar_appears_on_a_terminal(monkeypatch):
    text = shown(monkeypatch, Terminal(), verbose=1)
    assert "growing" in text
    assert "3/3" in text


@pytest.mark.parametrize(("stream", "verbose"), [(Terminal, 0), (io.StringIO, 1)])
def test_nothing_appears_otherwise(monkeypatch, stream, verbose):
    assert shown(monkeypatch, stream(), verbose) == ""


def test_ten_lines_are_logged_where_there_is_no_terminal(monkeypatch, caplog):
    monkeypatch.setattr("sys.stderr", io.StringIO())
    caplog.set_level(logging.INFO, logger="marginwood")
    with progress_bar("growing", 45, verbose=1) as advance:
        for _ in range(45):
            advance()
    assert len(caplog.messages) == 10
    assert caplog.messages[-1] == "growing: 45 of 45"
