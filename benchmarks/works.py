"""What is measured, against what, and what it should reach: each work yields rows of the table."""

from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import bands as confidence
from benchmarks import boosting, distributions, forests, libraries, measure, quantiles, tuning
from benchmarks import coverage as conformal
from benchmarks import groups as comparisons
from benchmarks.problems import MARGIN, TREE_SIZES, crossing_order, simulate
from benchmarks.survival import compare
from benchmarks.survival import early as early_medians
from marginwood import MaxMarginIntervalTree, optimal_costs

LOSSES = ("linear_hinge", "squared_hinge")
LEAST_SCORE = 1e-3
BANDS_FIGURE = Path("build/bands.png")
COVERAGE_FIGURE = Path("build/coverage.png")
FIT_TARGETS = {"linear_hinge": 0.5, "squared_hinge": 1.0}


class Row(NamedTuple):
    """One ratio: what was measured over what it is measured against, both in `unit`."""

    work: str
    against: str
    measured: float
    reference: float
    unit: str
    target: float

    @property
    def ratio(self):
        """Smaller is better."""
        return self.measured / self.reference


class Settings(NamedTuple):
    """`shrink` divides the number of rows: 1 for the real thing. `data` is a directory of data sets, or None."""

    repeats: int
    shrink: int
    data: Path | None = None


def _size(n_samples, n_features=None):
    features = "" if n_features is None else f" p={n_features}"
    return f"n={n_samples:,}{features}"


def _warm_up(adapters):
    small = simulate(100, 2)
    for library in adapters:
        library.fit(small, 3).predict(small.X)


def fit(settings):
    """Growing a tree, in seconds."""
    ours = {loss: libraries.marginwood(loss) for loss in LOSSES}
    theirs = libraries.scikit_learn()
    _warm_up([*ours.values(), theirs])
    for n_samples, n_features, max_depth in TREE_SIZES:
        problem = simulate(n_samples // settings.shrink, n_features)
        adapters = [*ours.values(), theirs]
        tasks = {library.name: partial(library.fit, problem, max_depth) for library in adapters}
        seconds = measure.best_times(tasks, settings.repeats)
        for loss, library in ours.items():
            work = f"fit, {loss}, {_size(len(problem.X), n_features)} depth {max_depth}"
            yield Row(
                work,
                theirs.name,
                seconds[library.name],
                seconds[theirs.name],
                "s",
                FIT_TARGETS[loss],
            )


def absolute_error(settings):
    """Growing median trees and forests of exact labels, in CPU seconds, and how far off they are then."""
    for what, ours, theirs, loss, other in quantiles.absolute_errors(settings):
        yield Row(f"{what}, medians", "scikit-learn, absolute_error", ours, theirs, "s", 1.0)
        yield Row(f"{what}, distance", "scikit-learn, absolute_error", loss, other, "y", 1.02)


def predict(settings):
    """Predicting with a tree of depth 10, in seconds."""
    ours, theirs = libraries.marginwood("squared_hinge"), libraries.scikit_learn()
    _warm_up([ours, theirs])
    training = simulate(10**5 // settings.shrink, 10)
    X = simulate(10**6 // settings.shrink, 10, seed=1).X
    models = {library.name: library.fit(training, 10) for library in (ours, theirs)}
    tasks = {name: partial(model.predict, X) for name, model in models.items()}
    seconds = measure.best_times(tasks, settings.repeats)
    yield Row(
        f"predict, {_size(*X.shape)} depth 10",
        theirs.name,
        seconds[ours.name],
        seconds[theirs.name],
        "s",
        1.0,
    )


def categories(settings):
    """Growing a tree from features of 1,000 categories, in seconds, against features of 1,000 numbers.

    These are the effects of the categories, which a tree splits as well as it does categories, or
    their codes.
    """
    rng = np.random.default_rng(0)
    n_samples, n_features = 10**5 // settings.shrink, 5
    X = rng.integers(0, 1000, size=(n_samples, n_features)).astype(float)
    effect = rng.normal(size=(n_features, 1000))
    effects = np.column_stack([effect[idx][X[:, idx].astype(int)] for idx in range(n_features)])
    centre = effects.sum(axis=1) + rng.normal(size=n_samples)
    y = np.column_stack(
        [centre - rng.exponential(size=n_samples), centre + rng.exponential(size=n_samples)]
    )
    for loss in LOSSES:
        tasks = {}
        for name, features, chosen in (
            ("categories", X, list(range(n_features))),
            ("their effects", effects, None),
            ("their codes", X, None),
        ):
            model = MaxMarginIntervalTree(
                loss=loss, margin=MARGIN, max_depth=8, categorical_features=chosen
            )
            model.fit(features[:2000], y[:2000])
            tasks[name] = partial(model.fit, features, y)
        seconds = measure.best_times(tasks, settings.repeats)
        work = f"categories, {loss}, {_size(n_samples, n_features)} depth 8, 1,000 each"
        for name in ("their effects", "their codes"):
            yield Row(work, name, seconds["categories"], seconds[name], "s", 1.0)


def solve(settings):
    """All prefix minima, sorting included, in seconds."""
    lower, upper = np.ascontiguousarray(simulate(10**6 // settings.shrink, 1).y.T)
    margins = np.where(lower == upper, 0.0, MARGIN)
    limits = np.concatenate([lower + margins, upper - margins])
    limits = limits[np.isfinite(limits)]
    tasks = {
        loss: partial(optimal_costs, lower, upper, margin=MARGIN, loss=loss) for loss in LOSSES
    }
    for task in tasks.values():
        task()
    seconds = measure.best_times(
        {**tasks, "argsort": partial(np.argsort, limits)}, settings.repeats
    )
    for loss in LOSSES:
        work = f"optimal_costs, {loss}, {_size(len(lower))}"
        yield Row(work, "np.argsort of the limits", seconds[loss], seconds["argsort"], "s", 1.2)


def crossing(settings):
    """The order that makes the squared-hinge minimum cross a cluster at every step: growth of time."""
    sizes = [10**5 // settings.shrink * times for times in (1, 8)]
    orders = [np.ascontiguousarray(crossing_order(n).T) for n in sizes]
    tasks = {
        n: partial(optimal_costs, *ends, loss="squared_hinge")
        for n, ends in zip(sizes, orders, strict=True)
    }
    tasks[sizes[0]]()
    seconds = measure.best_times(tasks, settings.repeats)
    work = f"optimal_costs, squared_hinge, crossing order, {_size(sizes[1])}"
    yield Row(work, f"the same, {_size(sizes[0])}", seconds[sizes[1]], seconds[sizes[0]], "s", 12.0)


def startup(settings):
    """A fresh process, in seconds."""
    cold, warm = measure.first_fit_times(min(settings.repeats, 3))
    yield Row("first fit of a process, cold cache", "1 s", cold, 1.0, "s", 10.0)
    yield Row("first fit of a process, warm cache", "1 s", warm, 1.0, "s", 0.5)
    yield Row(
        "import, without scikit-learn's",
        "1 s",
        measure.import_time(settings.repeats),
        1.0,
        "s",
        0.4,
    )


def _allowed_memory(X):
    return 12 * X.size + 250 * len(X)


def memory(settings):
    """Peak memory of a fit beyond X and y, in bytes."""
    for n_samples, n_features in ((10**6, 10), (10**5, 100)):
        problem = simulate(n_samples // settings.shrink, n_features)
        for loss in LOSSES:
            for n_jobs in (None, 2):
                tree = MaxMarginIntervalTree(loss=loss, margin=MARGIN, max_depth=6, n_jobs=n_jobs)
                peak = measure.peak_memory(problem, tree)
                work = f"memory of fit, {loss}, {_size(*problem.X.shape)} depth 6, {n_jobs or 1} threads"
                yield Row(
                    work,
                    "12 B per cell + 250 B per row",
                    peak,
                    _allowed_memory(problem.X),
                    "B",
                    1.0,
                )


def tune(settings):
    """Choosing loss, margin and pruning by cross-validation, in seconds."""
    for what, seconds, allowed in tuning.search_times(settings, LOSSES):
        yield Row(f"tune, {what}", "1 s", seconds, 1.0, "s", allowed)


def threads(settings):
    """One tree and boosting in two threads, and the default search in up to 16, in seconds; needs idle cores."""
    for what, seconds, reference in boosting.thread_times(settings):
        yield Row(f"{what}, two threads", "one thread", seconds, reference, "s", 1 / 1.7)
    for what, seconds, reference in boosting.level_times(settings):
        against = "XGBoost hist, survival:aft, two threads"
        yield Row(f"boost, {what}, two threads", against, seconds, reference, "s", 1.0)
    for what, seconds, reference, allowed in tuning.thread_times(settings):
        yield Row(f"search, {what}", "one thread", seconds, reference, "s", allowed)


def boost(settings):
    """Boosting, in seconds, against XGBoost with equal rounds and depth."""
    for what, seconds, reference, wanted in boosting.stage_times(settings):
        yield Row(f"boost, {what}", "XGBoost hist, survival:aft", seconds, reference, "s", wanted)


def objective(settings):
    """XGBoost with our objective, in seconds, against its own."""
    for what, seconds, reference in boosting.objective_times(settings):
        yield Row(
            f"XGBoost objective, {what}", "XGBoost survival:aft", seconds, reference, "s", 1.5
        )


def forest_fit(settings):
    """Growing a forest, in seconds."""
    targets = {"linear_hinge": 1.0, "squared_hinge": 1.5}
    for what, loss, seconds, reference in forests.fit_times(settings, LOSSES):
        yield Row(
            f"forest fit, {loss}, {what}",
            forests.SCIKIT_LEARN,
            seconds,
            reference,
            "s",
            targets[loss],
        )


def forest_predict(settings):
    """Predicting with a forest as many rows as it was trained on, in seconds."""
    for what, seconds, reference in forests.predict_times(settings):
        yield Row(f"forest predict, {what}", forests.SCIKIT_LEARN, seconds, reference, "s", 1.0)


def forest_threads(settings):
    """Growing a forest in two threads, in seconds; needs two idle cores."""
    for what, seconds, reference in forests.thread_times(settings):
        yield Row(f"forest fit, two threads, {what}", "one thread", seconds, reference, "s", 0.555)


def forest_survival(settings):
    """Growing a forest from right-censored times, in seconds."""
    for what, seconds, reference in forests.survival_times(settings):
        against = "scikit-survival RandomSurvivalForest"
        yield Row(f"forest fit, {what}", against, seconds, reference, "s", 0.02)


def forest_memory(settings):
    """Peak memory of growing a forest beyond X, y and node tables: no more than one tree may take."""
    for what, peak, X in forests.memory(settings):
        yield Row(
            f"memory of forest fit, {what}",
            "12 B per cell + 250 B per row",
            peak,
            _allowed_memory(X),
            "B",
            1.0,
        )


def npmle(settings):
    """The NPMLE of Turnbull, certified, in seconds."""
    for what, seconds, reference in distributions.sort_times(settings):
        yield Row(f"turnbull, {what}", "np.sort of the ends", seconds, reference, "s", 12.0)
    for n, seconds, n_reference, reference in distributions.growth_times(settings):
        work = f"turnbull, inspections, 10% exact, {_size(n)}"
        yield Row(work, f"the same, {_size(n_reference)}", seconds, reference, "s", 12.0)
    for what, seconds in distributions.query_times(settings):
        yield Row(f"turnbull, {what}", "1 s", seconds, 1.0, "s", 10.0)
    for what, seconds in distributions.forest_times(settings):
        yield Row(f"predict_distribution, {what}", "1 s", seconds, 1.0, "s", 30.0)
    for what, seconds, reference in distributions.lifelines_times(settings):
        yield Row(f"turnbull, {what}", "lifelines npmle", seconds, reference, "s", 0.01)


def coverage(settings):
    """Broken promises of conformal ranges against what theory allows, and a figure."""
    rates, n_broken, n_finite = conformal.measure(settings)
    for rate in rates:
        work = f"coverage, {rate.mechanism}, {rate.mode}, {rate.method}, {_size(rate.n_samples)}"
        target = round(1.0 + conformal.N_ERRORS * rate.error / rate.allowed, 3)
        yield Row(
            work,
            f"{rate.allowed:.3g} of the rows missed",
            rate.missed,
            rate.allowed,
            "share",
            target,
        )
    yield Row(
        "coverage, radii of hidden labels outside of their bracket",
        "none",
        n_broken,
        1.0,
        "fits",
        0.0,
    )
    yield Row("coverage, finite ends that must be infinite", "none", n_finite, 1.0, "ends", 0.0)
    conformal.draw(rates, COVERAGE_FIGURE)


def bands(settings):
    """How often confidence bands miss the truth against 1 less their level, and a figure."""
    found = confidence.measure(settings)
    missed = 1 - confidence.LEVEL
    for one in found:
        work = (
            f"bands, {one.censoring}, {one.distribution}, S = {one.share}, {_size(one.n_samples)}"
        )
        yield Row(work, f"{missed:.2g} missed", 1 - one.covered, missed, "share", 1.4)
    confidence.draw(found, BANDS_FIGURE)


def groups(settings):
    """How often tests of groups reject where there is no difference, and their power beside the parametric test."""
    found = comparisons.measure(settings)
    powers = {one.censoring: one.power for one in found if one.test == "parametric"}
    for one in found:
        if one.test == "parametric":
            continue
        work = f"groups, {one.censoring}, {one.test}"
        level = comparisons.LEVEL
        yield Row(f"{work}, size", f"{level:g}", one.size, level, "share", comparisons.MOST / level)
        reference = powers[one.censoring]
        yield Row(f"{work}, power missed", "parametric", 1 - one.power, 1 - reference, "share", 2.0)


def early(settings):
    """Bias of predicted medians against what is allowed, and their error against that of a survival forest."""
    with_others = _has("sksurv")
    found = early_medians.measure(Path("build/early.csv"), settings.shrink, with_others=with_others)
    for share, allowed in early_medians.ALLOWED_BIAS.items():
        bias, error, _ = found[early_medians.CHOSEN, share]
        yield Row(
            f"early, {share} censored, bias of the median",
            "allowed",
            abs(bias),
            allowed,
            "log time",
            1.0,
        )
        if with_others:
            _, reference, _ = found[early_medians.SURVIVAL_FOREST, share]
            against = "scikit-survival RandomSurvivalForest"
            yield Row(
                f"early, {share} censored, error of the median",
                against,
                error,
                reference,
                "log time",
                1.0,
            )


def survival(settings):
    """Survival curves against those of other libraries: concordance lost, Brier score and CPU seconds."""
    if not all(map(_has, ("lifelines", "sksurv", "surpyval"))):
        return
    found = compare.measure(Path("build/survival.csv"), settings.shrink)
    for name in dict.fromkeys(name for name, _ in found):
        ours = {
            method: scores
            for (own, method), scores in found.items()
            if own == name and compare.is_ours(method)
        }
        theirs = {
            method: scores
            for (own, method), scores in found.items()
            if own == name and method not in ours
        }
        for score in ("discordance", "brier"):
            # A library that gives up has no score.
            best = min(theirs, key=lambda method: np.nan_to_num(theirs[method][score], nan=np.inf))
            # Few rows may be ranked without a mistake, and nothing is a ratio of that.
            measured = max(min(scores[score] for scores in ours.values()), LEAST_SCORE)
            reference = max(theirs[best][score], LEAST_SCORE)
            yield Row(f"survival, {name}, {score}", best, measured, reference, score, 1.01)


def _has(package):
    if find_spec(package) is None:
        print(f"{package} is not installed: what needs it is left out")
        return False
    return True


WORKS = {
    work.__name__: work
    for work in (
        fit,
        solve,
        crossing,
        absolute_error,
        predict,
        categories,
        startup,
        memory,
        tune,
        forest_fit,
        forest_predict,
        forest_threads,
        forest_survival,
        forest_memory,
        threads,
        boost,
        objective,
        npmle,
        coverage,
        bands,
        groups,
        early,
        survival,
    )
}
