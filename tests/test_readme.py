"""The README's Python blocks run in order in one namespace; a text block after one is what it prints."""

from pages import DOCS, run, without_trailing_blanks

README = DOCS.parent / "README.md"


def test_readme_code_runs_and_prints_what_it_says(tmp_path):
    n_outputs = 0
    for block, printed in run(README, tmp_path):
        if block.output is not None:
            assert without_trailing_blanks(printed) == without_trailing_blanks(block.output)
            n_outputs += 1
    assert n_outputs


def test_readme_is_short():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 100
