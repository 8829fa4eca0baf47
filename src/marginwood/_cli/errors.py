"""What the user did wrong, in one line, in the words of the command line."""

import re

# What the library calls what has an option here.
OPTIONS = {
    "from_events(time, event)": "--time and --event",
    "lower_limit": "--lower-limit",
    "upper_limit": "--upper-limit",
    "sample_weight": "--weight",
    "categorical_features": "--categories",
}
# Not a part of a longer word, nor a name in quotes or before a value, which may be a column of the
# user's.
NAMES = re.compile(rf"(?<![\w'\"-])({'|'.join(map(re.escape, OPTIONS))})(?![\w'\"=])")


def with_options(message: str) -> str:
    """A message of the library that speaks of options instead of arguments."""
    return NAMES.sub(lambda found: OPTIONS[found[0]], message)


class DataError(ValueError):
    """A file does not hold what is needed; exit code 1."""


class UsageError(ValueError):
    """Options do not fit together; exit code 2."""
