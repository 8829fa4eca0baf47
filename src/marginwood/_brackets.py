"""Brackets in words: what a text such as ``25-50k``, ``under 10`` or ``[25, 50)`` says of a number.

A *bracket* is a pair of ends with what the text says of each: that it belongs, that it does not, or
nothing, as in ``25-50``. Texts are read one by one; units, thousands and decimal marks have to be
the same in all of them, because nobody can tell whether the 10 in ``under 10`` beside ``10-20k`` is
ten or ten thousand.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from math import inf
from typing import Any, NamedTuple

import numpy as np

from marginwood._ends import SIDES
from marginwood._support.arrays import as_numbers

__all__ = ["read_brackets", "read_categories"]

ACCEPTED = (
    "Accepted: '25-50', '25 to 50', '[25, 50)', '<10', 'under 10', 'up to 10', '>100', 'over 100', '100+', "
    "'100 or more' and '25', with one unit for all (25k, $25, 25 mg/L)."
)

DASHES = str.maketrans(dict.fromkeys("\N{EN DASH}\N{EM DASH}\N{MINUS SIGN}\N{HYPHEN}", "-"))
# Words in front of a number or behind it; whether the number itself belongs.
BELOW = {
    "<": False, "under": False, "below": False, "less than": False, "fewer than": False,
    "<=": True, "=<": True, "≤": True, "up to": True, "at most": True, "no more than": True,
}  # fmt: skip
ABOVE = {
    ">": False, "over": False, "above": False, "more than": False, "greater than": False,
    ">=": True, "=>": True, "≥": True, "at least": True, "no less than": True,
}  # fmt: skip
OR_MORE = r"\+|plus|(?:or|and) (?:more|over|above|older|higher|up)"
OR_LESS = r"(?:or|and) (?:less|under|below|younger|fewer|lower)"
FACTORS = {
    "k": 1e3, "K": 1e3, "thousand": 1e3, "M": 1e6, "mn": 1e6, "million": 1e6,
    "B": 1e9, "bn": 1e9, "billion": 1e9,
}  # fmt: skip
UNSAID = (None, None)
MOST_SHOWN = 20
SEPARATORS = {".": r"[ ,']", ",": r"[ .']"}  # of thousands, by the decimal mark


class Bracket(NamedTuple):
    """Two ends, and whether they belong to the bracket; None where the text does not say."""

    lower: float
    upper: float
    has_lower: bool | None
    has_upper: bool | None


class _Number(NamedTuple):
    """A number as it was written: its digits, how thousands are parted, its factor, currency and unit."""

    value: float
    separator: str
    factor: str
    currency: str
    unit: str


def _either(words: Any) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


class _Reader:
    """Reads texts whose numbers have this decimal mark."""

    def __init__(self, decimal: str) -> None:
        self.decimal = decimal
        mark, separator = re.escape(decimal), SEPARATORS[decimal]
        digits = rf"[+-]?(?:[1-9]\d{{0,2}}(?:{separator}\d{{3}})+(?!\d)|\d+)?(?:{mark}\d+|{mark})?(?:[eE][+-]?\d+)?"
        factor = rf"(?:(?:{_either(FACTORS)})(?![A-Za-z]))?"
        unit = r"[%°]?(?:(?!(?:to|and|or|plus)\b)[A-Za-zµμ][\w/%°·^µμ]*)?(?: ?/ ?\w+)?"
        # An amount: currency, digits, factor, unit.
        self.amount = rf"(?:[$€£¥] ?)?{digits}(?: ?{factor})?(?: ?{unit})?"
        self.parts = re.compile(rf"([$€£¥]?) ?({digits}) ?({factor}) ?({unit})")
        amount = f"({self.amount})"
        end = rf"([+-]?(?:inf|infinity|∞)|{self.amount})"
        closed = r"([\[(\]]) *" + end + r" *[,;] *" + end + r" *([\])\[])"
        self.forms: list[tuple[re.Pattern[str], Callable[..., Any]]] = [
            (re.compile(closed), self._notation),
            (re.compile(rf"({_either(BELOW)}) *{amount}", re.I), self._below),
            (re.compile(rf"({_either(ABOVE)}) *{amount}", re.I), self._above),
            (re.compile(rf"{amount} *(?:{OR_MORE})", re.I), self._or_more),
            (re.compile(rf"{amount} *(?:{OR_LESS})", re.I), self._or_less),
            (
                re.compile(
                    rf"(?:between +|from +)?{amount} *(?:-|to|and|\.\.\.?|…) *{amount}", re.I
                ),
                self._range,
            ),
            (re.compile(amount), self._value),
        ]

    def read(self, text: str) -> tuple[Bracket, list[_Number]] | None:
        """A bracket and its numbers; None if the text is none."""
        text = " ".join(unicodedata.normalize("NFKC", text).translate(DASHES).split())
        for pattern, make in self.forms:
            found = pattern.fullmatch(text)
            made = make(*found.groups()) if found else None
            if made is not None and made[0].lower <= made[0].upper:
                return made
        return None

    def _number(self, text: str, like: _Number | None = None) -> _Number | None:
        """An amount; one without factor and unit has those of another, as in 25-50k."""
        found = self.parts.fullmatch(text.strip())
        if not found or not re.search(r"\d", found[2]):
            return None
        currency, digits, factor, unit = found.groups()
        if like is not None and not factor and not unit:
            factor, unit = like.factor, like.unit
        separators = re.findall(SEPARATORS[self.decimal], digits)
        if len(set(separators)) > 1:
            return None
        plain = re.sub(SEPARATORS[self.decimal], "", digits).replace(self.decimal, ".")
        try:
            value = float(plain) * FACTORS.get(factor, 1.0)
        except ValueError:
            return None
        return _Number(value, "".join(set(separators)), factor, currency, unit)

    def _one(self, text: str, *ends: Any) -> tuple[Bracket, list[_Number]] | None:
        """A bracket that ends, or begins, at one number."""
        number = self._number(text)
        if number is None:
            return None
        lower, upper = (number.value if end is ... else end for end in ends[:2])
        return Bracket(lower, upper, *ends[2:]), [number]

    def _below(self, word: str, text: str) -> Any:
        return self._one(text, -inf, ..., False, BELOW[word.lower()])

    def _above(self, word: str, text: str) -> Any:
        return self._one(text, ..., inf, ABOVE[word.lower()], False)

    def _or_more(self, text: str) -> Any:
        return self._one(text, ..., inf, True, False)

    def _or_less(self, text: str) -> Any:
        return self._one(text, -inf, ..., False, True)

    def _value(self, text: str) -> Any:
        return self._one(text, ..., ..., True, True)

    def _range(self, first: str, second: str) -> Any:
        upper = self._number(second)
        lower = None if upper is None else self._number(first, upper)
        if upper is None or lower is None:
            return None
        return Bracket(lower.value, upper.value, None, None), [lower, upper]

    def _notation(self, left: str, first: str, second: str, right: str) -> Any:
        numbers, ends = [], []
        for text in (first, second):
            if re.fullmatch(r"[+-]?(inf|infinity|∞)", text):
                ends.append(-inf if text.startswith("-") else inf)
                continue
            number = self._number(text)
            if number is None:
                return None
            numbers.append(number)
            ends.append(number.value)
        return Bracket(ends[0], ends[1], left == "[", right == "]"), numbers


def read_brackets(texts: list[str], closed: str | None, decimal: str) -> tuple[Any, Any, list[str]]:
    """Lower ends, upper ends and what is closed of each row; an error lists all texts that are no bracket."""
    reader = _Reader(decimal)
    rows: dict[str, list[int]] = {}
    for row, text in enumerate(texts):
        rows.setdefault(text, []).append(row)
    found = {text: reader.read(text) for text in rows}
    refused = [text for text, one in found.items() if one is None]
    if refused:
        n_rows = sum(len(rows[text]) for text in refused)
        shown = [f"{text!r} (row {rows[text][0]}, {_times(len(rows[text]))})" for text in refused]
        more = f" and {len(shown) - MOST_SHOWN} other texts" if len(shown) > MOST_SHOWN else ""
        raise ValueError(
            f"y: {n_rows} of {len(texts)} rows hold no bracket: {', '.join(shown[:MOST_SHOWN])}{more}. {ACCEPTED}"
        )
    read = {text: one for text, one in found.items() if one is not None}
    _check_agreement(read, rows)
    brackets = {text: bracket for text, (bracket, _) in read.items()}
    default = SIDES[_closed_by_default(brackets) if closed is None else closed]
    names = {sides: name for name, sides in SIDES.items()}
    lower, upper, sides = [], [], []
    for text in texts:
        low, high, has_lower, has_upper = brackets[text]
        lower.append(low)
        upper.append(high)
        own = has_lower, has_upper
        sides.append(names[default if own == UNSAID else own])  # type: ignore[index]
    return np.array(lower), np.array(upper), sides


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _check_agreement(
    read: dict[str, tuple[Bracket, list[_Number]]], rows: dict[str, list[int]]
) -> None:
    """Raise unless all numbers, but for 0, are written in one way."""
    aspects: tuple[tuple[str, Callable[[_Number], str]], ...] = (
        ("currencies", lambda number: number.currency),
        ("units", lambda number: number.unit.lower()),
        ("factors such as k and M", lambda number: "k" if number.factor else ""),
        ("separators of thousands", lambda number: number.separator),
    )
    for words, look in aspects:
        seen: dict[str, str] = {}
        for text, (_, numbers) in read.items():
            marks = {look(number) for number in numbers if number.value != 0}
            # One mark serves both numbers of a text, and small numbers have no thousands.
            is_optional = len(marks) > 1 or words.startswith("separators")
            for mark in sorted(marks - {""} if is_optional else marks):
                seen.setdefault(mark, text)
        if len(seen) > 1:
            both = " and ".join(
                f"{text!r} (row {rows[text][0]})" for text in list(seen.values())[:2]
            )
            raise ValueError(
                f"y: {words} differ: {both}. Write all rows in one way, or pass numbers to make_intervals."
            )


def _closed_by_default(brackets: dict[str, Bracket]) -> str:
    """What ranges such as 25-50 hold: both ends if no two of them touch, as 18-24 and 25-34, else the upper one."""
    ranges = [one for one in brackets.values() if one.has_lower is None]
    touch = {one.lower for one in ranges} & {one.upper for one in ranges if one.lower < one.upper}
    return "right" if touch else "both"


def read_categories(y: Any, edges: Any) -> tuple[Any, Any]:
    """Lower and upper ends of the categories of an ordered column, in the order of the categories."""
    bounds = as_numbers(edges, "edges")
    if bounds.ndim != 1 or np.isnan(bounds).any() or (np.diff(bounds) <= 0).any():
        raise ValueError(
            f"edges: expected numbers in ascending order, one more than there are categories; got {edges!r}."
        )
    labels, codes = _categories_of(y)
    if len(bounds) != len(labels) + 1:
        raise ValueError(
            f"edges: expected {len(labels) + 1} numbers for {len(labels)} categories ({', '.join(map(str, labels))}), "
            f"got {len(bounds)}."
        )
    missing = codes < 0
    lower = np.where(missing, -np.inf, bounds[:-1][codes])
    return lower, np.where(missing, np.inf, bounds[1:][codes])


def _categories_of(y: Any) -> tuple[list[Any], Any]:
    """The categories of an ordered column of pandas or polars, and the number of each row's, -1 for none."""
    dtype: Any = getattr(y, "dtype", None)
    if getattr(dtype, "ordered", False):  # pandas
        values = getattr(y, "cat", y)
        return list(values.categories), np.asarray(values.codes, np.int64)
    if type(dtype).__name__ == "Enum" and hasattr(y, "to_physical"):  # polars
        return list(dtype.categories), y.to_physical().cast(int).fill_null(-1).to_numpy()
    raise ValueError(
        "y: with edges, expected a column of ordered categories (pandas with ordered=True, or Enum of polars), "
        f"got {type(y).__name__}."
    )
