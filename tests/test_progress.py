"""Progress is a bar on terminals and lines everywhere else."""

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


@pytest.mark.parametrize("stream", [Terminal, io.StringIO])
def test_nothing_appears_unless_it_is_asked_for(monkeypatch, stream):
    assert shown(monkeypatch, stream(), verbose=0) == ""


def test_lines_appear_in_pipes_and_notebooks_where_no_log_shows_them(monkeypatch):
    assert shown(monkeypatch, io.StringIO(), verbose=1) == "growing: 2 of 3\ngrowing: 3 of 3\n"


def test_ten_lines_are_logged_where_there_is_no_terminal(monkeypatch, caplog):
    stderr = io.StringIO()
    monkeypatch.setattr("sys.stderr", stderr)
    caplog.set_level(logging.INFO, logger="marginwood")
    with progress_bar("growing", 45, verbose=1) as advance:
        for _ in range(45):
            advance()
    assert len(caplog.messages) == 10
    assert stderr.getvalue() == ""
    assert caplog.messages[-1] == "growing: 45 of 45"
