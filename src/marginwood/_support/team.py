"""A team of threads that stays for one fit: tasks that make further tasks, and help for the task at hand.

The thread that calls `run` only waits, so Ctrl-C reaches it at once; then, or after an error, the
threads of the team stop at the end of what they are doing. Larger tasks go first. A thread without
a task helps another one.
"""

from __future__ import annotations

import heapq
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from marginwood._support.threads import LONGEST_WAIT, check_stopped

__all__ = ["Team"]


class _Stopped(BaseException):
    """Ends work that nobody waits for."""


class _Call:
    """A call for help: what a helper does, how many more may come, and how many are at it."""

    def __init__(self, function: Callable[[], None], n_wanted: int) -> None:
        self.function = function
        self.n_wanted = n_wanted
        self.n_running = 0


class Team:
    """`n_threads` threads; to be used in a with statement."""

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self._lock = threading.Lock()
        self._work = threading.Condition(self._lock)  # there is a task, or a call for help
        self._progress = threading.Condition(self._lock)  # a task or a helper has ended
        self._tasks: list[tuple[int, int, Callable[[], None]]] = []  # a heap
        self._calls: list[_Call] = []
        self._n_added = 0
        self._n_open = 0  # tasks that wait or run
        self._error: BaseException | None = None
        self._is_stopped = False

    def __enter__(self) -> Team:
        for _ in range(self.n_threads):
            threading.Thread(target=self._take_part, name="marginwood", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._stop()

    def run(self, task: Callable[[], None]) -> None:
        """Carry out a task and all that it adds; the first error is raised. Not for threads of the team."""
        self.add(task, 0)
        with self._progress:
            while self._n_open > 0 and self._error is None:
                self._progress.wait(LONGEST_WAIT)
                check_stopped()  # whoever waits may be a thread that nobody waits for
        if self._error is not None:
            raise self._error

    def add(self, task: Callable[[], None], size: int) -> None:
        """Add a task for any thread of the team; the largest go first."""
        with self._lock:
            heapq.heappush(self._tasks, (-size, self._n_added, task))
            self._n_added += 1
            self._n_open += 1
            self._work.notify()

    @contextmanager
    def helped(self, function: Callable[[], None]) -> Iterator[None]:
        """Let idle threads call a function during the block; they have all returned when it ends."""
        call = _Call(function, self.n_threads - 1)
        with self._lock:
            self._calls.append(call)
            self._work.notify(call.n_wanted)
        try:
            yield
        finally:
            with self._lock:
                self._calls.remove(call)
                while call.n_running > 0 and not self._is_stopped:
                    self._progress.wait()
        self.check_stopped()

    def share(self, work: Callable[[Iterator[Any]], None], items: Iterable[Any]) -> None:
        """Let this thread and idle ones work on items, each on those that its iterator gives it; for tasks to use."""
        waiting = deque(items)

        def take_part() -> None:
            work(self.drain(waiting.popleft))

        with self.helped(take_part):
            take_part()

    def map(self, work: Callable[[Iterator[Any]], None], items: Iterable[Any]) -> None:
        """The same for threads that are not of the team."""
        self.run(lambda: self.share(work, items))

    def call(self, *functions: Callable[[], Any]) -> list[Any]:
        """What functions return that are called side by side; not for threads of the team."""
        results: list[Any] = [None] * len(functions)

        def work(some: Iterator[int]) -> None:
            for i in some:
                results[i] = functions[i]()

        self.map(work, range(len(functions)))
        return results

    def drain(self, take: Callable[[], Any]) -> Iterator[Any]:
        """What can be taken until a container is empty."""
        while True:
            self.check_stopped()
            try:
                item = take()
            except IndexError:
                return
            yield item

    def check_stopped(self) -> None:
        """End the work of this thread if nobody waits for it."""
        if self._is_stopped:
            raise _Stopped

    def _stop(self) -> None:
        """Wake all threads, to end; the lock must be held."""
        self._is_stopped = True
        self._work.notify_all()
        self._progress.notify_all()

    def _take_part(self) -> None:
        try:
            while True:
                self._wait_for_work()()
        except _Stopped:
            return
        except BaseException as error:  # handed to the caller
            with self._lock:
                self._error = self._error or error
                self._stop()

    def _wait_for_work(self) -> Callable[[], None]:
        """The next thing to do, with what has to be noted at its end."""
        with self._lock:
            while True:
                if self._is_stopped:
                    raise _Stopped
                if self._tasks:
                    _, _, task = heapq.heappop(self._tasks)
                    return lambda: self._carry_out(task)
                for call in self._calls:
                    if call.n_wanted > 0:
                        call.n_wanted -= 1
                        call.n_running += 1
                        return lambda call=call: self._help(call)  # type: ignore[misc]
                self._work.wait()

    def _carry_out(self, task: Callable[[], None]) -> None:
        task()
        with self._lock:
            self._n_open -= 1
            if self._n_open == 0:
                self._progress.notify_all()

    def _help(self, call: _Call) -> None:
        call.function()
        with self._lock:
            call.n_running -= 1
            if call.n_running == 0:
                self._progress.notify_all()
