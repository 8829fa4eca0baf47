"""Monotone effects: bounds of the values below a split.

A split of a feature that must raise the prediction needs a left value below the right one. Half-way
between both lies a bound that no value below the split may cross on its side, however deep: so all
values to the left of the split are below all to its right. Values are clipped to the bounds of
their node, which its children inherit.
"""

from marginwood._core.jit import inlined


@inlined
def child_bounds(sign, low, high, left_value, right_value):
    """The lower and the upper bounds of both children of a split, whose values lie within the bounds of the split."""
    middle = left_value + (right_value - left_value) / 2
    if sign == 0:
        return (low, low), (high, high)
    if sign > 0:
        return (low, middle), (middle, high)
    return (middle, low), (high, middle)
