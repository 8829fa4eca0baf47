"""IPCW Brier scores and the time-dependent AUC: scikit-survival's figures, and a brute force with ties and weights."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import expon

from marginwood import from_events
from marginwood.distributions import turnbull
from marginwood.metrics import (
    calibration_at,
    cumulative_dynamic_auc,
    integrated_ipcw_brier_score,
    ipcw_brier_score,
)

TIME = [4, 1, 1, 2, 1, 1, 1, 1, 2, 6, 5, 4, 4, 5, 7, 6, 4, 4, 4, 6,
        2, 6, 5, 1, 3, 2, 4, 1, 6, 5, 4, 2, 1, 5, 1, 4, 1, 3, 4, 3]  # fmt: skip
EVENT = [0, 0, 0, 1, 0, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 0,
         1, 1, 1, 1, 1, 0, 1, 1, 1, 0, 0, 1, 1, 0, 1, 1, 1, 1, 1, 1]  # fmt: skip
SCORE = np.array(
    [-1.0, -1.6, -1.2, -1.5, -1.9, 0.4, 0.4, 1.1, -1.2, 0.5, -1.3, 0.2, -1.2, -1.7, -1.2, -0.2,
     -0.8, -1.4, -2.1, -2.8, 0.1, -0.2, -1.2, -1.3, 0.3, -2.7, -1.5, 0.4, -3.5, -0.8, -1.8, -0.3,
     -0.3, -1.2, 0.5, -1.6, 1.2, 0.1, 0.0, 0.6]
)  # fmt: skip
TIMES = np.array([2.0, 3.0, 4.5, 6.0])
Y = from_events(TIME, EVENT)


class Curves:
    """Straight survival curves that fall by a tenth per unit of time."""

    def sf(self, t):
        return np.clip(0.9 + 0.1 * SCORE - 0.1 * t, 0.01, 0.99)

    def cdf(self, t):
        return 1 - self.sf(t)


@pytest.mark.parametrize(
    ("y_train", "brier", "auc", "mean"),
    [
        (
            None,
            [0.28145965517241384, 0.3231125287356322, 0.314907408568443, 0.15261555903866247],
            [0.259560502283105, 0.17730634488127678, 0.3451711323510275, 0.3914482056502925],
            0.3162170872046948,
        ),
        (
            Y[:25],
            [0.2907070833333333, 0.33171541666666665, 0.32374307291666654, 0.1304216666666666],
            [0.25694444444444453, 0.1761904761904762, 0.3433528836754642, 0.3876221498371336],
            0.3134578318742942,
        ),
    ],
)
def test_scikit_survival_has_the_same_figures(y_train, brier, auc, mean):
    # scikit-survival 0.28: brier_score, integrated_brier_score and cumulative_dynamic_auc of
    # y_train or y, y, these curves (or minus the score) and times.
    np.testing.assert_allclose(ipcw_brier_score(Y, Curves(), TIMES, y_train=y_train), brier)
    found = cumulative_dynamic_auc(Y, SCORE, TIMES, y_train=y_train)
    np.testing.assert_allclose(found.auc, auc)
    assert found.mean == pytest.approx(mean)
    if y_train is None:
        integrated = integrated_ipcw_brier_score(Y, Curves(), TIMES)
        assert integrated == pytest.approx(0.2828608176593521)
        columns = np.column_stack([Curves().sf(time) for time in TIMES])
        assert cumulative_dynamic_auc(Y, columns, TIMES).mean == pytest.approx(mean)


def censoring_curve(time, event, weight, at):
    """Kaplan and Meier of the censoring: events leave before censorings at the same time."""
    survival = 1.0
    for t in np.unique(time[~event]):
        if t <= at:
            at_risk = weight[(time > t) | ((time == t) & ~event)].sum()
            survival *= 1 - weight[(time == t) & ~event].sum() / at_risk
    return survival


@given(st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_definitions_by_brute_force_with_ties_and_weights(seed):
    rng = np.random.default_rng(seed)
    time, event = rng.integers(1, 6, 20).astype(float), rng.random(20) < 0.6
    time[0], event[0], event[1], time[1] = 9, True, True, 1
    weight = rng.integers(1, 4, 20).astype(float)
    prediction = rng.integers(0, 4, 20).astype(float)
    y, at = from_events(time, event), 3.5
    g = np.array([censoring_curve(time, event, weight, t) for t in time])
    g_at = censoring_curve(time, event, weight, at)
    survival = expon(scale=1 + prediction).sf(at)
    losses = np.where(time > at, (1 - survival) ** 2 / g_at, np.where(event, survival**2 / g, 0.0))
    expected = np.average(losses, weights=weight)
    found = ipcw_brier_score(y, expon(scale=1 + prediction), at, sample_weight=weight)
    assert found == pytest.approx(expected)
    right = total = 0.0
    for i in np.flatnonzero(event & (time <= at)):
        for j in np.flatnonzero(time > at):
            pair = weight[i] * weight[j] / g[i]
            total += pair
            right += pair * (
                (prediction[i] < prediction[j]) + 0.5 * (prediction[i] == prediction[j])
            )
    found = cumulative_dynamic_auc(y, prediction, at, sample_weight=weight).auc[0]
    assert found == pytest.approx(right / total)


def test_without_censoring_it_is_the_mean_squared_error():
    rng = np.random.default_rng(0)
    time = rng.exponential(size=50)
    found = ipcw_brier_score(time, expon(scale=np.ones(50)), [0.5, 1.0])
    for score, at in zip(found, [0.5, 1.0], strict=True):
        assert score == pytest.approx(np.mean(((time > at) - np.exp(-at)) ** 2))


def test_rows_and_times_that_have_no_score_are_refused():
    with pytest.raises(ValueError, match=r"expected events and right-censored rows.*interval_crps"):
        ipcw_brier_score([(1, 2), (3, 3)], expon(scale=[1, 1]), 2.0)
    y = from_events([1, 2, 3], [1, 1, 0])
    with pytest.raises(ValueError, match=r"times: expected events by 0\.5"):
        cumulative_dynamic_auc(y, [1, 2, 3], 0.5)
    with pytest.raises(ValueError, match="times: nobody is uncensored for as long"):
        ipcw_brier_score([2.0, 9.0], expon(scale=[1, 1]), 5.0, y_train=y)
    with pytest.raises(ValueError, match=r"prediction: expected shape \(3,\) or \(3, 2\)"):
        cumulative_dynamic_auc(y, [1, 2], [1.5, 2.5])
    with pytest.raises(ValueError, match="each to be greater than the one before"):
        ipcw_brier_score(y, expon(scale=[1, 1, 1]), [2.0, 1.0])


def test_calibration_compares_groups_of_risk_with_their_own_curves():
    rng = np.random.default_rng(0)
    scale = np.exp(rng.normal(size=600))
    time = rng.exponential(scale)
    visits = np.floor(time * 4) / 4
    y = np.column_stack([visits, visits + 0.25])
    table = calibration_at(y, expon(scale=scale), 1.0, n_groups=6)
    assert table["n"] == [100] * 6
    assert table["predicted"] == sorted(table["predicted"])
    inside = [
        low <= predicted <= high
        for low, predicted, high in zip(
            table["lower"], table["predicted"], table["upper"], strict=True
        )
    ]
    assert sum(inside) >= 5
    first = np.argsort(scale, kind="stable")[:100]
    assert table["observed"][0] == pytest.approx(float(turnbull(y[first]).sf(1.0)), abs=1e-6)
    wrong = calibration_at(y, expon(scale=2 * scale), 1.0, n_groups=6)
    assert sum(p > high for p, high in zip(wrong["predicted"], wrong["upper"], strict=True)) >= 4


def test_rows_of_no_weight_need_nobody_who_is_uncensored_for_as_long():
    y = from_events([1.0, 2.0, 3.0], [1, 0, 1])
    rows = expon(scale=[1.0, 2.0, 3.0])
    weighted = ipcw_brier_score(y, rows, [1.5], sample_weight=[1, 1, 0])
    assert np.isfinite(weighted).all()


def test_a_calibration_is_at_one_time():
    with pytest.raises(ValueError, match="time: expected one finite number, got 2"):
        calibration_at(from_events([1.0, 2.0], [1, 0]), expon(scale=[1.0, 2.0]), [1.0, 2.0])
