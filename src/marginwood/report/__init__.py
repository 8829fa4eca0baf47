"""A fitted model and data as one page: `page` writes it, `content` says what is on it."""

from marginwood.report._page import write_report

__all__ = ["write_report"]
