"""The entry point: parses the command line, runs a command, and turns errors into one line and an exit code.

Exit codes: 0 done, 1 bad data or a failed write, 2 bad usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import errno
import logging
import os
import sys
import warnings
from types import ModuleType
from typing import NoReturn

from marginwood._cli import (
    benchmark,
    demo,
    describe,
    evaluate,
    fit,
    plot,
    predict,
    report,
    show,
    tune,
    warmup,
)
from marginwood._cli.errors import DataError, UsageError, with_options
from marginwood._support.text import printable
from marginwood._version import __version__

__all__ = ["main"]

COMMANDS: dict[str, ModuleType] = {
    "fit": fit,
    "tune": tune,
    "predict": predict,
    "evaluate": evaluate,
    "show": show,
    "plot": plot,
    "report": report,
    "describe": describe,
    "benchmark": benchmark,
    "demo": demo,
    "warmup": warmup,
}


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Print the line and exit."""
        self.exit(2, f"marginwood: error: {printable(message)} (see {self.prog} --help)\n")


class PrintableFormatter(logging.Formatter):
    """Log lines and tracebacks in which control characters of names and files are escaped."""

    def format(self, record: logging.LogRecord) -> str:
        """The text of a record."""
        return printable(super().format(record))


def make_parser() -> argparse.ArgumentParser:
    """The parser: each command adds its arguments; its docstring is its help, with an example at the end."""
    parser = Parser(
        prog="marginwood",
        description="Regression when labels are intervals: maximum margin interval trees.",
        epilog="Example: marginwood fit train.csv --lower low --upper high --out model.mw",
    )
    parser.add_argument("--version", action="version", version=f"marginwood {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, module in COMMANDS.items():
        summary, _, rest = (module.__doc__ or "").partition("\n")
        command = commands.add_parser(
            name,
            help=summary.rstrip("."),
            description=summary,
            epilog=rest.strip(),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_argument("--debug", action="store_true", help="show the traceback of an error")
        command.add_argument("-q", "--quiet", action="store_true", help="no progress, no log")
        module.add_arguments(command)
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    _open_streams()
    try:
        return _run(make_parser().parse_args(argv))
    except KeyboardInterrupt:
        return _fail(130, "interrupted", debug=False)
    finally:
        _give_up_output()


def _run(args: argparse.Namespace) -> int:
    _set_up_messages(args.quiet)
    try:
        COMMANDS[args.command].run(args)
        sys.stdout.flush()
    except UsageError as error:
        return _fail(2, f"{error} (see marginwood {args.command} --help)", args.debug)
    except BrokenPipeError:  # the reader has had enough
        return 1
    except KeyboardInterrupt:
        return _fail(130, "interrupted", args.debug)
    except Exception as error:
        return _fail(1, _describe(error), args.debug)
    return 0


def _fail(code: int, message: str, debug: bool) -> int:
    if debug:
        logging.getLogger("marginwood").error("", exc_info=True)
    line = f"marginwood: error: {message}" if code != 130 else f"marginwood: {message}"
    sys.stderr.write(f"{printable(line)}\n")
    return code


def _describe(error: Exception) -> str:
    """One line: what the message of a known error says; an unexpected one gets its name too."""
    if isinstance(error, OSError) and error.errno == errno.EBADF and not error.filename:
        return "standard output is closed"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    text = " ".join(str(error).split())
    if not isinstance(error, DataError):
        text = with_options(text)
    known = isinstance(error, ValueError | OSError | TypeError | ImportError) and text
    return text if known else f"{type(error).__name__}: {text} (--debug shows where)"


def _open_streams() -> None:
    """Open what the caller has closed (``>&-``), or files would get the numbers of the streams and what they print.

    Nothing can be read from stdin and nothing can be written to stdout, which is an error; messages
    are lost.
    """
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_RDONLY))
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


def _give_up_output() -> None:
    """Drop what stdout does not take, or Python would try again at exit and complain."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _set_up_messages(quiet: bool) -> None:
    """Log lines and warnings go to stderr, one line each."""
    log = logging.getLogger("marginwood")
    handler = logging.StreamHandler()
    handler.setFormatter(PrintableFormatter("%(message)s"))
    log.handlers[:] = [handler]
    log.setLevel(logging.WARNING if quiet else logging.INFO)
    # Columns are matched by name before a model sees them.
    warnings.filterwarnings("ignore", "X does not have valid feature names")
    warnings.showwarning = lambda message, *_, **__: log.warning(
        "warning: %s", with_options(" ".join(str(message).split()))
    )
