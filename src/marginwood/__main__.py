"""The command ``marginwood``, also as ``python -m marginwood``.

Importing all that it needs takes a second or more. In that time Ctrl-C has nothing to clean up, so
it ends the process as it ends any other: at once, without a traceback.
"""

import signal
import sys

__all__ = ["main"]


def main() -> int:
    """Import the command line and run it; returns the exit code."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:  # not where it is ignored, as under nohup
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from marginwood._cli.main import main as run

    signal.signal(signal.SIGINT, handler)
    return run()


if __name__ == "__main__":
    sys.exit(main())
