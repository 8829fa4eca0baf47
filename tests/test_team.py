"""A team of threads: everything is done once, errors and Ctrl-C reach the caller, and nothing goes on after that."""

import signal
import threading
from collections import deque

import pytest

from conftest import PATIENCE
from marginwood._support.team import Team


def test_a_task_and_all_that_it_adds_are_carried_out():
    done = []

    def task(depth):
        done.append(depth)
        for _ in range(2 if depth < 5 else 0):
            team.add(lambda: task(depth + 1), depth)

    with Team(3) as team:
        team.run(lambda: task(0))
    assert sorted(done) == [depth for depth in range(6) for _ in range(2**depth)]


def test_a_team_works_on_one_thing_after_the_other():
    done = []
    with Team(2) as team:
        for i in range(50):
            team.run(lambda i=i: done.append(i))
            assert done == list(range(i + 1))


def test_the_largest_task_goes_first():
    done = []

    def add_all():
        for size in (1, 3, 2):
            team.add(lambda size=size: done.append(size), size)

    with Team(1) as team:
        team.run(add_all)
    assert done == [3, 2, 1]


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_shared_items_are_worked_on_once(n_threads):
    done = deque()
    with Team(n_threads) as team:
        team.map(done.extend, range(1000))
    assert sorted(done) == list(range(1000))


def test_functions_are_called_side_by_side_and_answer_in_their_order():
    both = threading.Barrier(2, timeout=PATIENCE)

    def answer(number):
        both.wait()
        return number

    with Team(2) as team:
        assert team.call(lambda: answer(1), lambda: answer(2)) == [1, 2]


def test_idle_threads_help():
    both = threading.Barrier(2, timeout=PATIENCE)

    def wait_for_the_other(items):
        for _ in items:
            both.wait()

    with Team(2) as team:
        team.map(wait_for_the_other, range(2))


def test_helpers_have_returned_when_the_block_ends():
    begun = threading.Event()
    may_end = threading.Event()
    ended = []

    def help_out():
        begun.set()
        may_end.wait(PATIENCE)
        ended.append(1)

    def task():
        with team.helped(help_out):
            begun.wait(PATIENCE)
            may_end.set()
        ended.append(2)

    with Team(2) as team:
        team.run(task)
    assert ended == [1, 2]


@pytest.mark.parametrize("n_items", [1, 100])
def test_an_error_reaches_the_caller(n_items):
    def fail(items):
        for item in items:
            raise LookupError(f"item {item}")

    with Team(2) as team, pytest.raises(LookupError, match="item"):
        team.map(fail, range(n_items))


def workers():
    return [thread for thread in threading.enumerate() if thread.name == "marginwood"]


def test_threads_end_with_the_block():
    before = workers()
    with Team(3) as team:
        team.run(lambda: None)
        own = [thread for thread in workers() if thread not in before]
        assert len(own) == 3
        assert all(thread.daemon for thread in own)
    for thread in own:
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_ctrl_c_reaches_the_caller_while_the_team_works_and_then_nothing_more_is_begun():
    before = workers()
    interrupted = threading.Event()
    begun = []

    def work(items):
        for item in items:
            begun.append(item)
            signal.raise_signal(signal.SIGINT)
            interrupted.wait(PATIENCE)

    with pytest.raises(KeyboardInterrupt), Team(1) as team:
        team.map(work, range(100))
    own = [thread for thread in workers() if thread not in before]
    interrupted.set()
    for thread in own:
        thread.join(PATIENCE)
    assert begun == [0]
