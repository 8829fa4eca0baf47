"""What the user did wrong, in one line."""


class DataError(ValueError):
    """A file does not hold what is needed; exit code 1."""


class UsageError(ValueError):
    """Options do not fit together; exit code 2."""
