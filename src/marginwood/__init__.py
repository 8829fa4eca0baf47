"""Regression when labels are intervals: maximum margin interval trees."""

import lazy_loader

from marginwood._version import __version__ as __version__

# A module is loaded when a name of it is first used: a user of trees does not wait for everything
# else.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
