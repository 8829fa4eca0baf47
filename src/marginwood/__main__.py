"""``python -m marginwood`` is the command ``marginwood``."""

import sys

from marginwood._cli.main import main

if __name__ == "__main__":
    sys.exit(main())
