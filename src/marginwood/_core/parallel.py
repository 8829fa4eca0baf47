"""One tree by a team of threads: the same bits as from `grow`, whoever does what and when.

A node of many rows is *wide*: the thread that owns it tries its features in order, while idle
threads bound the prices of those that come last, and try them, so that the owner may pass over
them; then all of them partition orders. A node of few rows is grown with all that is below it by
one thread. At the end nodes are numbered as `grow` would have numbered them.
"""

from collections import deque
from contextlib import suppress

import numpy as np

from marginwood._core import wide
from marginwood._core.grow import count_leaves, grow_on, is_priced, make_scratch, price_by_descent
from marginwood._core.nodes import LEAF, NO_FEATURE, NODE_DTYPE
from marginwood._core.rankset import make_rank_set
from marginwood._core.screen import make_screen
from marginwood._core.search import NOT_PRICED
from marginwood._core.split import Split

# Nodes of fewer cells of X are not wide, and a tree of fewer is grown by one thread: what threads
# say to each other takes a tenth of a millisecond.
LEAST_CELLS = 2**17
# A node is wide if it has more than this share of the rows that come to a thread: there are parts
# enough to keep all threads busy up to the end.
SHARE = 0.25
# How many cells a kernel works on before it says so.
CELLS_PER_CALL = 2**16


class Part:
    """A part of a tree: its nodes, or the one that was split and the parts on both sides."""

    def __init__(self):
        self.nodes = None
        self.sides = ()


class Growth:
    """A tree while a team grows it."""

    def __init__(self, team, start, shared):
        problem, loss, kinds, options = start
        n_features, n_rows = problem.orders.shape
        # The limit depends on the number of threads, and yet the bits do not: a node gives the same
        # split whether it is searched as a wide one or not.
        self.largest = max(int(SHARE * n_rows / team.n_threads), LEAST_CELLS // n_features)
        self.team = team
        self.orders = problem.orders
        self.n_categories = problem.n_categories
        self.options = options._replace(largest=self.largest)
        self.start = problem, loss, kinds, self.options
        self.plain_start = problem, loss, self.options
        self.shared = shared

    def grow(self, root):
        """The node table of the tree."""
        whole = Part()
        grow = self._grow if self.options.max_leaf_nodes == 0 else self._grow_best_first
        self.team.run(lambda: grow(root, whole))
        return join(whole)

    def _grow(self, place, part):
        """Grow all that is below a place, or the node there and let any thread go on from its children."""
        if place.stop - place.start <= self.largest:
            max_leaves = count_leaves(self.options, place)
            nodes = np.empty(2 * max_leaves, dtype=NODE_DTYPE)
            n_nodes, _ = grow_on(
                (*self.start, self._make_scratch(place, max_leaves), nodes), place, 0, 0
            )
            # The subtree is numbered from 0 and joined later; the room for the most leaves goes back.
            part.nodes = nodes[:n_nodes].copy()
            return
        scratch = self._make_scratch(place, 1)
        part.nodes = np.empty(1, dtype=NODE_DTYPE)
        found = self._search(place, scratch, part.nodes)
        # The frontier of one node decides by the same code as `grow` whether the split is worth it.
        n_pending = wide.push_node(self.options, scratch, place, *found, 0)
        if n_pending > 0 and not is_priced(scratch):
            n_pending = price_by_descent(*self.start, scratch, part.nodes, n_pending)
        if n_pending == 0:
            return
        part.sides = Part(), Part()
        children = self._divide(scratch, part.nodes, 1, n_pending)
        # Children are the roots of parts: their numbers are those within the part.
        for child, side in zip(children, part.sides, strict=True):
            self._add(child._replace(node=0), side)

    def _add(self, place, part):
        # The number of rows is the priority: the largest subtrees first, so that none is left alone
        # at the end while other threads have nothing to do.
        self.team.add(lambda: self._grow(place, part), place.stop - place.start)

    def _grow_best_first(self, root, whole):
        """Grow all: this thread has the frontier and splits small nodes; wide ones it shares with the team."""
        max_leaves = count_leaves(self.options, root)
        nodes = np.empty(2 * max_leaves, dtype=NODE_DTYPE)
        scratch = self._make_scratch(root, max_leaves)
        places = [root]
        n_nodes, n_pending = 0, 0
        while places:
            for place, found in zip(places, self._search_all(places, nodes), strict=True):
                n_pending = wide.push_node(self.options, scratch, place, *found, n_pending)
            arguments = *self.start, scratch, nodes
            n_nodes, n_pending = grow_on(arguments, root, n_nodes + len(places), n_pending)
            places = []
            if n_pending > 0:
                places = self._divide(scratch, nodes, n_nodes, n_pending)
                n_pending -= 1
        whole.nodes = nodes[:n_nodes].copy()

    def _make_scratch(self, place, max_leaves):
        n_rows = place.stop - place.start
        n_limits = place.limit_stop - place.limit_start
        n_categories = int(self.n_categories.max())
        return make_scratch(
            self.shared, len(self.orders), n_rows, n_limits, max_leaves, n_categories
        )

    def _search_all(self, places, nodes):
        """Search several nodes side by side."""
        found = [None] * len(places)

        def search(some):
            for i in some:
                found[i] = self._search(places[i], self._make_scratch(places[i], 1), nodes)

        self.team.share(search, range(len(places)))
        return found

    def _search(self, place, scratch, nodes):
        """Open a node and find its best split, as `search` does."""
        varying = np.empty((len(self.orders), 2), dtype=np.int64)
        opened, n_varying = wide.open_node(*self.plain_start, scratch, nodes, place, varying)
        best = Split(opened.optimum.cost, NO_FEATURE, 0, 0, 0.0, 0.0)
        if n_varying == 0:
            return opened, best
        if opened.is_wide or self.options.by_descent:
            return opened, best._replace(feature=NOT_PRICED)
        varying = varying[:n_varying].tolist()
        # The first ones are shared. Features beyond `max_features` matter only where none of them
        # splits, which is seldom, and are tried one at a time as in `search`.
        n_tried = min(self.options.max_features, n_varying)
        best = self._try_with_help(place, scratch, opened, self._keys_of(varying[:n_tried]), best)
        for pair in varying[n_tried:]:
            if best.n_left > 0 or best.feature == NOT_PRICED:
                break
            keys = self._keys_of([pair])
            best = wide.try_paths(
                *self.start, scratch, place, opened, keys, np.full(len(keys), np.nan), best
            )
        return opened, best

    def _keys_of(self, varying):
        """The keys of the paths of features with so many missing values each: these go right, then left."""
        keys = []
        for feature, n_missing in varying:
            keys.append((feature, n_missing, 0))
            if n_missing > 0 and self.n_categories[feature] == 0:
                keys.append((feature, n_missing, 1))
        return np.array(keys, dtype=np.int64)

    def _try_with_help(self, place, scratch, opened, keys, best):
        """The better of `best` and the splits of some paths: this thread tries the first ones, idle ones the last.

        A split that is found out of turn counts for nothing but a bound: no split of its path costs
        less, up to the tolerance. So this thread passes over that path, or tries it again in its
        turn. Prices of the same split may round differently, by far less than half of the
        tolerance: what comes that near is tried again.
        """
        # NaN says that nothing is known of a path yet. The owner takes paths from the front, helpers from
        # the back: first bounds of all, which are cheap, then whole paths. A number that a helper writes
        # while the owner reads is one store of eight bytes: seen or not, the result is the same.
        least = np.full(len(keys), np.nan)
        unbounded, untried = deque(range(len(keys))), deque(range(len(keys)))

        def help_out():
            own = self._copy_scratch(scratch, place)
            for i in self.team.drain(unbounded.pop):
                if self.n_categories[keys[i, 0]] == 0:
                    least[i] = wide.least_of_path(
                        *self.plain_start, own.screen, place, opened, keys[i]
                    )
            for i in self.team.drain(untried.pop):
                if self.n_categories[keys[i, 0]] == 0:
                    one = slice(i, i + 1)
                    known = best._replace(cost=best.cost + opened.tolerance / 2)
                    found = wide.try_paths(
                        *self.start, own, place, opened, keys[one], least[one], known
                    )
                    if found.feature != NOT_PRICED:
                        least[i] = found.cost - opened.tolerance

        # Features of small nodes come several to a call: a call costs as much as some 10,000 cells.
        n_at_once = -(-CELLS_PER_CALL // (place.stop - place.start))
        n_tried = 0
        with self.team.helped(help_out):
            while untried and best.feature != NOT_PRICED:
                self.team.check_stopped()
                first = n_tried
                for _ in range(n_at_once):
                    with suppress(
                        IndexError
                    ):  # all others have been tried, or bounded, or are about to be
                        n_tried = untried.popleft() + 1
                        unbounded.popleft()
                some = slice(first, n_tried)
                best = wide.try_paths(
                    *self.start, scratch, place, opened, keys[some], least[some], best
                )
            if best.feature == NOT_PRICED:
                unbounded.clear()
                untried.clear()
                return best
        return wide.try_paths(
            *self.start, scratch, place, opened, keys[n_tried:], least[n_tried:], best
        )

    def _copy_scratch(self, scratch, place):
        """Room for a thread to try paths of a node that another one has opened."""
        screen = make_screen(self.shared.pulls, place.stop - place.start)
        return scratch._replace(
            ranks=make_rank_set(place.limit_stop - place.limit_start),
            screen=screen._replace(totals=scratch.screen.totals),
        )

    def _divide(self, scratch, nodes, n_nodes, n_pending):
        """Carry out the split of the first pending node; returns the places of its children."""
        left, right, goes_on = wide.divide_node(
            *self.plain_start, scratch, nodes, n_nodes, n_pending
        )
        start, stop = left.start, right.stop
        n_at_once = -(-CELLS_PER_CALL // (stop - start))

        def partition(some):
            spare = np.empty(stop - start, dtype=np.int32)
            for first in some:
                orders = self.orders[first : first + n_at_once]
                wide.partition_features(orders, start, stop, self.shared.goes_left, spare)

        if goes_on:
            self.team.share(partition, range(0, len(self.orders), n_at_once))
        return [place._replace(seed=np.uint64(place.seed)) for place in (left, right)]


def join(whole):
    """One table of all parts, numbered as by `grow`: all below a right child comes before what is below a left one."""
    parts = [whole]
    for part in parts:
        parts.extend(part.sides)
    nodes = np.empty(sum(len(part.nodes) for part in parts), dtype=NODE_DTYPE)
    to_place = [(whole, 0)]
    n_placed = 1
    while to_place:
        part, number = to_place.pop()
        own = part.nodes
        if part.sides:
            own["children_left"], own["children_right"] = n_placed, n_placed + 1
            # `grow` takes the pending node of the highest number first, the right child: so does this stack,
            # whose last entry is the right side.
            to_place.extend((side, n_placed + i) for i, side in enumerate(part.sides))
            nodes[number] = own[0]
            n_placed += 2
        else:
            is_split = own["children_left"] != LEAF
            for field in ("children_left", "children_right"):
                own[field][is_split] += n_placed - 1  # the part's node 1 becomes this one
            nodes[number] = own[0]
            nodes[n_placed : n_placed + len(own) - 1] = own[1:]
            n_placed += len(own) - 1
    return nodes
