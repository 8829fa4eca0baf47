"""The progress bar shows itself to people only."""

import io

import pytest

from marginwood.progress import progress_bar


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
