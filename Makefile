# Needs Python 3.11 or newer and make. Everything is installed into .venv, nothing elsewhere.

PYTHON ?= python3
HOURS ?= 8
PY := .venv/bin/python

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test lint types docs linkcheck dist nightly bench paper clean

help:
	@echo "make demo    train a tree on simulated data from the command line, print it and its scores, save demo.png"
	@echo "make test    lint, types and all tests"
	@echo "make lint    ruff: rules and format"
	@echo "make types   mypy"
	@echo "make docs    the site, in build/docs: every example is run, and warnings are errors"
	@echo "make linkcheck  whether what the site links to is there; needs the network"
	@echo "make dist    wheel and sdist in dist/, built, checked, installed and tried out"
	@echo "make nightly  new cases for all fuzzers and properties, for eight hours or HOURS=1; a summary in build/nightly"
	@echo "make bench   measure against other libraries"
	@echo "make paper   the paper's experiments, on the data sets in \$$MARGINWOOD_DATA or on simulations; hours, resumable"
	@echo "make clean   remove .venv and everything generated"

demo: .venv/.installed-cli,plot
	$(PY) -m marginwood demo

test: lint types
	$(PY) -m pytest --numprocesses auto --maxprocesses 4 --dist worksteal

lint: .venv/.installed-test
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

types: .venv/.installed-test
	$(PY) -m mypy

# The pages' own blocks are run by the tests first: they print what the pages say.
docs: .venv/.installed-docs,test
	$(PY) -m pytest -q tests/test_docs.py tests/test_readme.py
	$(PY) -m sphinx --fail-on-warning --keep-going -d build/doctrees docs build/docs

linkcheck: .venv/.installed-docs,test
	$(PY) -m sphinx -b linkcheck -d build/doctrees docs build/linkcheck

dist: .venv/.installed-dist
	$(PY) -m tools.dist

nightly: .venv/.installed-test
	$(PY) -m tools.nightly --hours $(HOURS)

bench: .venv/.installed-bench
	$(PY) -m benchmarks

paper: .venv/.installed-bench
	$(PY) -m benchmarks.paper

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist docs/generated docs/stories demo.png
	find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# One stamp per set of extras: pip runs again only when pyproject.toml changes.
.venv/.installed-%: pyproject.toml | .venv/pyvenv.cfg
	@echo "installing marginwood[$*] into .venv"
	$(PY) -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	@touch $@

.venv/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed; name one: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }
