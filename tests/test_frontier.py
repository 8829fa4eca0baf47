"""The frontier against a list that is searched for its highest priority."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from marginwood._core import frontier
from marginwood._core.frontier import make_frontier
from marginwood._core.jit import kernel


@kernel
def push(waiting, n_pending, priority):
    return frontier.push(waiting, n_pending, priority)


@kernel
def pop(waiting, n_pending):
    return frontier.pop(waiting, n_pending)


# A number is pushed, None pops; few distinct numbers, so that there are ties.
actions = st.lists(
    st.one_of(st.none(), st.integers(-3, 3).map(float), st.floats(0, 1)), max_size=40
)


@given(actions)
def test_the_highest_priority_leaves_first_with_its_own_record(drawn):
    waiting, naive = make_frontier(len(drawn) + 1), {}
    for i, priority in enumerate(drawn):
        if priority is not None:
            slot = push(waiting, len(naive), priority)
            waiting.pending[slot]["node"] = i
            naive[i] = priority
        elif naive:
            node = waiting.pending[pop(waiting, len(naive))]["node"]
            priority = naive.pop(node)
            assert all(priority >= other for other in naive.values())
    assert sorted(naive.values(), reverse=True) == [
        naive[waiting.pending[pop(waiting, n)]["node"]] for n in range(len(naive), 0, -1)
    ]


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=30))
def test_every_waiting_node_has_a_slot_of_its_own(priorities):
    waiting = make_frontier(len(priorities))
    slots = [push(waiting, n_pending, priority) for n_pending, priority in enumerate(priorities)]
    assert sorted(slots) == list(range(len(priorities)))
    freed = pop(waiting, len(priorities))
    assert push(waiting, len(priorities) - 1, 0.0) == freed


def test_rising_priorities_leave_last_in_first_out():
    waiting = make_frontier(5)
    for n_pending in range(5):
        waiting.pending[push(waiting, n_pending, float(n_pending))]["node"] = 10 + n_pending
    popped = [int(waiting.pending[pop(waiting, n)]["node"]) for n in range(5, 0, -1)]
    assert popped == [14, 13, 12, 11, 10]
    assert np.array_equal(np.sort(waiting.slots), np.arange(5))
