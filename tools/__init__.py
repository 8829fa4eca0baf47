"""Programs for those who release the package."""
