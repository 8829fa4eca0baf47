"""CensoredLinearRegression without penalty: R's survreg to the digit, and where no estimate exists.

`lung.csv` holds the complete rows of the NCCTG lung cancer data (Loprinzi and others, 1994), as
lifelines packages them, with the codes 1 and 2 of R; its licence is in `datasets/data/NOTICE.md`.
"""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import minimize

from marginwood import (
    CensoredLinearRegression,
    TransformedIntervalRegressor,
    from_events,
    load,
    make_intervals,
    save,
)
from marginwood.datasets import load_diabetic_nephropathy
from marginwood.export import to_sql
from marginwood.report._content import describe

SHAPES = {"normal": stats.norm, "logistic": stats.logistic, "gumbel": stats.gumbel_l}
NOISE_OF = {
    "gaussian": "normal",
    "lognormal": "normal",
    "logistic": "logistic",
    "loglogistic": "logistic",
    "extreme": "gumbel",
    "weibull": "gumbel",
}

# Tobin (1958): durable goods, age and liquidity of 20 households; 0 is "at most 0".
TOBIN = np.array(
    [
        (0, 57.7, 236), (0.7, 50.9, 283), (0, 48.5, 207), (0, 41.7, 220), (0, 47.7, 238),
        (0, 59.8, 216), (0, 44.3, 284), (3.7, 45.1, 221), (0, 51.7, 275), (3, 50, 269),
        (10.4, 46.8, 207), (0, 58, 249), (0, 58.9, 246), (0, 40, 277), (1.5, 34.1, 231),
        (0, 39.9, 219), (0, 33.4, 240), (3.5, 48.1, 266), (6.1, 46.6, 214), (0, 53.1, 251),
    ]
)  # fmt: skip
LUNG = np.loadtxt(Path(__file__).parent / "lung.csv", delimiter=",", skiprows=1)

# What R 4.2.2 with survival 3.5 prints: coefficients and log(scale), their standard errors, and
# the log-likelihoods of the model and of the constant.
#   survreg(Surv(durable, durable > 0, type = "left") ~ age + quant, data = tobin, dist = dist)
#   survreg(Surv(time, status) ~ age + sex + ph.ecog, data = lung, dist = dist)
#   survreg(Surv(left, right, type = "interval2") ~ male, data = diabetes, dist = dist)
SURVREG = {
    ("tobin", "gaussian"): (
        [15.1448664, -0.129059284, -0.045541663, 1.71785092],
        [16.0794532, 0.218583597, 0.0582541155, 0.31032272],
        -28.9401332,
        -29.492199548,
    ),
    ("tobin", "logistic"): (
        [11.2978585, -0.1241486, -0.0297647177, 1.16224983],
        [16.223099, 0.193505436, 0.0604435175, 0.340185795],
        -29.232555393,
        -29.622712501,
    ),
    ("tobin", "extreme"): (
        [22.1954057, -0.113864004, -0.069334131, 1.81791582],
        [15.8915151, 0.284841266, 0.0516401583, 0.3041694],
        -28.495318749,
        -29.466906808,
    ),
    ("lung", "lognormal"): (
        [6.49478673, -0.0191818681, 0.521952879, -0.355566671, 0.0282322737],
        [0.582756276, 0.00832785746, 0.152775382, 0.103308253, 0.0559606245],
        -1146.8818311,
        -1163.1759844,
    ),
    ("lung", "loglogistic"): (
        [5.93668692, -0.00807991943, 0.486623571, -0.404615512, -0.623357152],
        [0.51207266, 0.00747790706, 0.134894148, 0.0930137194, 0.0658133654],
        -1137.4896123,
        -1154.5491793,
    ),
    ("lung", "weibull"): (
        [6.27343525, -0.00747543941, 0.401090541, -0.339638098, -0.31319273],
        [0.453577711, 0.00676350767, 0.123732567, 0.083478415, 0.0613464553],
        -1132.4387459,
        -1147.4280569,
    ),
    ("diabetes", "lognormal"): (
        [2.69982025, 0.0864284416, -0.955230284],
        [0.0238922602, 0.0304479374, 0.0277145955],
        -2026.1182116,
        -2030.1152749,
    ),
    ("diabetes", "loglogistic"): (
        [2.72353963, 0.0791898702, -1.58201024],
        [0.0224462954, 0.0283127269, 0.0329889885],
        -2003.6954878,
        -2007.584937,
    ),
    ("diabetes", "weibull"): (
        [2.90797742, 0.045758296, -1.03896178],
        [0.0223430813, 0.0275011155, 0.0281456423],
        -2027.1963332,
        -2028.5661107,
    ),
}


def read(data):
    """Features, targets, and what R adds to the log-likelihood of logarithms of times."""
    if data == "tobin":
        durable = TOBIN[:, 0]
        return TOBIN[:, 1:], make_intervals(np.where(durable > 0, durable, -np.inf), durable), 0.0
    if data == "lung":
        time, seen = LUNG[:, 0], LUNG[:, 1] == 2
        return LUNG[:, 2:], from_events(np.log(time), seen), np.log(time[seen]).sum()
    X, y = load_diabetic_nephropathy(return_X_y=True)
    is_exact = y[:, 0] == y[:, 1]
    with np.errstate(divide="ignore"):
        return X, np.log(np.maximum(y, 0)), np.log(y[is_exact, 0]).sum()


def parameters(model):
    scale = [] if model.scale is not None else [np.log(model.scale_)]
    return np.array([model.location_, *model.coef_, *scale])


@pytest.mark.parametrize(("data", "dist"), SURVREG)
def test_survreg_prints_the_same(data, dist):
    X, y, correction = read(data)
    value, standard_error, log_likelihood, constant = SURVREG[data, dist]
    model = CensoredLinearRegression(noise=NOISE_OF[dist], alpha=0).fit(X, y)
    np.testing.assert_allclose(parameters(model), value, rtol=1e-7)
    np.testing.assert_allclose(model.standard_errors_, standard_error, rtol=1e-7)
    assert model.log_likelihood_ - correction == pytest.approx(log_likelihood, abs=1e-7)
    assert model.null_log_likelihood_ - correction == pytest.approx(constant, abs=1e-7)
    assert model.aic_ == pytest.approx(2 * len(value) - 2 * model.log_likelihood_)
    assert model.bic_ == pytest.approx(np.log(len(X)) * len(value) - 2 * model.log_likelihood_)


def test_a_known_scale_is_the_exponential_model_of_survreg():
    # survreg(Surv(time, status) ~ age + sex + ph.ecog, data = lung, dist = "exponential")
    X, y, correction = read("lung")
    model = CensoredLinearRegression(noise="gumbel", alpha=0, scale=1).fit(X, y)
    expected = [6.3734231982418, -0.0102173605939, 0.5090613997839, -0.4050169899760]
    np.testing.assert_allclose(parameters(model), expected, rtol=1e-8)
    expected = [0.62075510130804, 0.00917689478206, 0.16716118927639, 0.11269745509555]
    np.testing.assert_allclose(model.standard_errors_, expected, rtol=1e-8)
    assert model.scale_ == pytest.approx(1, rel=1e-15)
    assert model.log_likelihood_ - correction == pytest.approx(-1143.56315131, abs=1e-7)
    assert "1 (given)" in str(model.summary())


@pytest.mark.parametrize(
    ("make_groups", "expected"),
    [
        # survreg(..., dist = "weibull", cluster = age %/% 5)
        (
            lambda X: X[:, 0] // 5,
            [0.279264155575, 0.004858103262, 0.073178679103, 0.132865569950, 0.069602808077],
        ),
        # survreg(..., dist = "weibull", robust = TRUE, cluster = 1:227)
        (
            lambda X: np.arange(len(X)),
            [0.471514777016, 0.007334925270, 0.119583666259, 0.086860321002, 0.066509917925],
        ),
    ],
)
def test_robust_standard_errors_are_those_of_survreg(make_groups, expected):
    X, y, _ = read("lung")
    model = CensoredLinearRegression(noise="gumbel", alpha=0)
    model.fit(X, y, groups=make_groups(X))
    np.testing.assert_allclose(model.standard_errors_, expected, rtol=1e-7)
    assert f"robust, by {len(np.unique(make_groups(X)))} groups" in str(model.summary())


def test_nested_models_are_compared_as_anova_does():
    # anova(survreg(... ~ age), survreg(... ~ age + sex + ph.ecog), dist = "weibull")
    X, y, _ = read("lung")
    large = CensoredLinearRegression(noise="gumbel", alpha=0).fit(X, y)
    small = CensoredLinearRegression(noise="gumbel", alpha=0).fit(X[:, :1], y)
    for table in (large.compare(small), small.compare(large)):
        assert table["chi_squared"][1] == pytest.approx(25.97587191777, abs=1e-7)
        assert table["df"][1] == 2
        assert table["p"][1] == pytest.approx(2.287763262735e-06, rel=1e-6)
    known = CensoredLinearRegression(noise="gumbel", alpha=0, scale=1).fit(X, y)
    gain = 2 * (1143.56315131 - 1132.43874588)
    assert large.compare(known)["chi_squared"][1] == pytest.approx(gain, abs=1e-6)


def test_models_that_are_not_nested_are_refused():
    X, y, _ = read("lung")
    model = CensoredLinearRegression(alpha=0)
    first = model.fit(X[:, :1], y)
    with pytest.raises(ValueError, match="other: expected nested models"):
        first.compare(CensoredLinearRegression(alpha=0).fit(X[:, 1:2], y))
    with pytest.raises(ValueError, match="same rows with noise of the same shape"):
        first.compare(CensoredLinearRegression(alpha=0).fit(X[:, :2], 2 * y))
    with pytest.raises(ValueError, match="same rows with noise of the same shape"):
        first.compare(CensoredLinearRegression(alpha=0, noise="gumbel").fit(X[:, :2], y))
    with pytest.raises(ValueError, match="other: expected a CensoredLinearRegression with alpha=0"):
        first.compare(CensoredLinearRegression().fit(X[:, :2], y))


def test_the_summary_tests_the_model_against_the_constant():
    X, y, _ = read("lung")
    model = CensoredLinearRegression(noise="gumbel", alpha=0).fit(X, y)
    table = model.summary(level=0.9, time_ratio=True)
    assert table["term"] == ["(intercept)", "x[0]", "x[1]", "x[2]", "log(scale)"]
    # summary(survreg(...)): z and p of sex
    assert table["z"][2] == pytest.approx(0.401090541 / 0.123732567, rel=1e-6)
    assert table["p"][2] == pytest.approx(2 * stats.norm.sf(table["z"][2]), rel=1e-9)
    half = stats.norm.ppf(0.95) * model.standard_errors_[2]
    assert table["lower"][2] == pytest.approx(model.coef_[1] - half)
    assert table["time_ratio"][2] == pytest.approx(np.exp(model.coef_[1]))
    assert table["ratio_upper"][2] == pytest.approx(np.exp(model.coef_[1] + half))
    assert np.isnan(table["time_ratio"][0])
    assert "chi-squared 29.98, df 3, p <0.0001" in str(table)
    assert "Confidence intervals: 90 %. Scale of the noise: 0.7311." in str(table)


def test_a_penalised_model_says_that_it_shrinks():
    X, y, _ = read("lung")
    model = CensoredLinearRegression(alpha=0).fit(X, y)
    model.set_params(alpha=0.3).fit(X, y)
    table = model.summary(time_ratio=True)
    assert list(table.columns) == ["term", "coef", "time_ratio"]
    assert "alpha=0.3) shrinks the coefficients" in str(table)
    assert not hasattr(model, "standard_errors_")
    with pytest.raises(ValueError, match="groups: expected None with a penalty"):
        model.fit(X, y, groups=np.arange(len(X)))


def test_frames_with_categories_have_contrasts_to_the_first():
    pd = pytest.importorskip("pandas")
    X, y, _ = read("lung")
    frame = pd.DataFrame({"age": X[:, 0], "sex": pd.Categorical(np.where(X[:, 1] == 1, "m", "w"))})
    frame["ecog"] = pd.Categorical(X[:, 2].astype(int))
    model = CensoredLinearRegression(alpha=0).fit(frame, y)
    assert model.terms_ == ["age", "sex[w]", "ecog[1]", "ecog[2]", "ecog[3]"]
    # survreg(Surv(time, status) ~ age + sex + factor(ph.ecog), lung, dist = "lognormal")
    expected = [-0.01769588596, 0.52887694414, -0.19168375342, -0.72692956507, -0.83019477880]
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-7)
    expected = [0.008380356240, 0.152320681548, 0.176499511099, 0.209351136407]
    np.testing.assert_allclose(model.standard_errors_[1:5], expected, rtol=1e-7)
    assert model.summary().to_frame().index[2] == "sex[w]"
    np.testing.assert_allclose(model.predict(frame[::-1]), model.predict(frame)[::-1], rtol=1e-14)
    frame["sex"] = frame["sex"].astype(object)
    frame.loc[3, "sex"] = "unknown"
    with pytest.raises(ValueError, match=r"training rows did not have, of sex in 1 of 227.*row 3"):
        model.predict(frame)


def test_terms_that_are_sums_of_others_have_no_estimate():
    X, y, _ = read("lung")
    wide = np.column_stack([X[:, 0], np.ones(len(X)), X[:, 1:], 3 - 2 * X[:, 0] + X[:, 2]])
    model = CensoredLinearRegression(alpha=0).fit(wide, y)
    plain = CensoredLinearRegression(alpha=0).fit(X, y)
    np.testing.assert_allclose(model.coef_[[0, 2, 3]], plain.coef_, rtol=1e-9)
    assert np.isnan(model.standard_errors_[[2, 5]]).all()
    np.testing.assert_allclose(
        model.standard_errors_[[0, 1, 3, 4, 6]], plain.standard_errors_, rtol=1e-9
    )
    assert model.aic_ == pytest.approx(plain.aic_)
    table = model.summary()
    assert np.isnan(table["coef"][2])
    assert "Terms without an estimate" in str(table)


def draw_rows(seed, noise, n_rows=60, *, is_late):
    """Rows of all kinds of censoring, some of which entered late."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 2))
    value = X[:, 0] - 0.5 * X[:, 1] + 0.7 * SHAPES[noise].rvs(size=n_rows, random_state=rng)
    lower, upper = value - rng.exponential(size=n_rows), value + rng.exponential(size=n_rows)
    kind = rng.integers(0, 4, n_rows)
    lower = np.select([kind == 0, kind == 3], [value, -np.inf], lower)
    upper = np.select([kind == 0, kind == 2], [value, np.inf], upper)
    entry = np.where(rng.random(n_rows) < 0.5, rng.normal(-1, 1, n_rows), -np.inf)
    is_there = value > entry if is_late else np.ones(n_rows, bool)
    return X[is_there], np.column_stack([lower, upper])[is_there], entry[is_there]


def log_likelihood(theta, X, y, entry, shape, weight):
    """From SciPy's distributions: rows are known to lie in their interval and above their entry."""
    location, scale = theta[0] + X @ theta[1:-1], np.exp(theta[-1])
    lower, upper = np.maximum(y[:, 0], entry), y[:, 1]
    is_exact = y[:, 0] == y[:, 1]
    probability = shape.cdf(upper, location, scale) - shape.cdf(lower, location, scale)
    density = shape.pdf(np.where(is_exact, upper, 0.0), location, scale)
    values = np.log(np.where(is_exact, density, probability))
    return float(weight @ (values - shape.logsf(entry, location, scale)))


def second_derivative(function, point, step=1e-4):
    steps = step * np.eye(len(point))
    return np.array(
        [
            [
                function(point + a + b) - function(point + a - b)
                - function(point - a + b) + function(point - a - b)
                for b in steps
            ]
            for a in steps
        ]
    ) / (4 * step**2)  # fmt: skip


@given(st.integers(0, 10**6), st.sampled_from(sorted(SHAPES)), st.booleans())
@settings(max_examples=20, deadline=None)
def test_estimates_maximise_the_likelihood_and_its_curvature_is_their_precision(
    seed, noise, is_late
):
    X, y, entry = draw_rows(seed, noise, is_late=is_late)
    weight = np.random.default_rng(seed).integers(1, 3, len(y)).astype(float)
    arguments = {"entry": entry} if is_late else {}
    model = CensoredLinearRegression(noise=noise, alpha=0).fit(X, y, weight, **arguments)
    entry = entry if is_late else np.full(len(y), -np.inf)

    def value(theta):
        return log_likelihood(theta, X, y, entry, SHAPES[noise], weight)

    found = parameters(model)
    assert model.log_likelihood_ == pytest.approx(value(found), rel=1e-9, abs=1e-7)
    best = minimize(lambda theta: -value(theta), found, method="BFGS")
    assert model.log_likelihood_ >= -best.fun - 1e-7
    expected = np.linalg.inv(-second_derivative(value, found))
    np.testing.assert_allclose(model.covariance_, expected, rtol=1e-3, atol=1e-5)


def test_a_weight_of_two_is_a_row_twice_also_for_groups_and_entries():
    X, y, entry = draw_rows(1, "logistic", is_late=True)
    weight = np.where(np.arange(len(X)) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(len(X)), weight.astype(int))
    groups = np.arange(len(X)) // 4
    model = CensoredLinearRegression(noise="logistic", alpha=0)
    model.fit(X, y, weight, entry=entry, groups=groups)
    found = parameters(model), model.covariance_, model.log_likelihood_, model.bic_
    model.fit(X[twice], y[twice], entry=entry[twice], groups=groups[twice])
    for ours, theirs in zip(
        found,
        (parameters(model), model.covariance_, model.log_likelihood_, model.bic_),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9)


def test_delayed_entry_is_that_of_lifelines():
    # WeibullAFTFitter().fit(frame, "time", "event", entry_col="entry", formula="x"), lifelines 0.30
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    time = np.exp(0.5 + 0.4 * x + 0.6 * np.log(rng.exponential(size=400)))
    entry = rng.uniform(0, 1.5, 400)
    stop = np.minimum(time, entry + rng.uniform(0.5, 2, 400))
    kept = time > entry
    y = from_events(np.log(stop), stop == time)[kept]
    model = CensoredLinearRegression(noise="gumbel", alpha=0)
    model.fit(x[kept, None], y, entry=np.log(entry[kept]))
    expected = [0.531335313, 0.387442349, -0.610129740]
    np.testing.assert_allclose(parameters(model), expected, rtol=2e-5)
    expected = [0.045812784, 0.049352482, 0.087760330]
    np.testing.assert_allclose(model.standard_errors_, expected, rtol=2e-4)


@pytest.mark.parametrize(
    ("lower", "upper", "advice"),
    [
        ([1, 2, 3, 4, 5, 6], np.inf, "no row has a finite upper end"),
        (-np.inf, [1, 2, 3, 4, 5, 6], "no row has a finite lower end"),
        ([1, 3, 5, 7, 9, 11], [1, 3, 5, 7, 9, 11], r"'x\[0\]' can lie inside of all intervals"),
        ([0, 2, 4, 6, 8, 10], [2, 4, 6, 8, 10, 12], r"'x\[0\]' can lie inside of all intervals"),
        ([-np.inf] * 3 + [1] * 3, [1] * 3 + [np.inf] * 3, r"'x\[0\]' .*parts them completely"),
        ([1, -np.inf] * 3, [np.inf, 1] * 3, "leave open which parameters"),
    ],
)
@pytest.mark.parametrize("noise", SHAPES)
def test_where_no_finite_estimate_exists_an_error_says_why_and_what_helps(
    noise, lower, upper, advice
):
    X = np.arange(6.0)[:, np.newaxis]
    y = make_intervals(lower, upper)
    model = CensoredLinearRegression(noise=noise, alpha=0)
    with pytest.raises(ValueError, match=advice) as raised:
        model.fit(X, y)
    assert "Give a penalty (alpha=0.01" in str(raised.value)
    assert not hasattr(model, "coef_")
    assert np.isfinite(model.set_params(alpha=0.01).fit(X, y).predict(X)).all()


def test_entries_that_cannot_be_are_refused():
    X, y = [[0.0], [1.0], [2.0]], [(1.0, 1.0), (2.0, 3.0), (4.0, np.inf)]
    model = CensoredLinearRegression(alpha=0)
    with pytest.raises(ValueError, match=r"entry: not below the value.*row 0, entry=1.0"):
        model.fit(X, y, entry=[1, 0, 0])
    with pytest.raises(ValueError, match=r"entry: not below the value.*row 1, entry=3.0"):
        model.fit(X, y, entry=[0, 3, 0])
    with pytest.raises(ValueError, match=r"entry: NaN or infinite in 1 of 3"):
        model.fit(X, y, entry=[0, np.nan, 0])
    with pytest.raises(ValueError, match=r"entry: expected shape \(3,\), one for each row"):
        model.fit(X, y, entry=[0, 1])


def test_files_keep_judgements(tmp_path):
    X, y, _ = read("lung")
    model = TransformedIntervalRegressor(
        CensoredLinearRegression(noise="gumbel", alpha=0), func="log"
    ).fit(X, np.exp(y))
    save(model, tmp_path / "model.mw")
    table = load(tmp_path / "model.mw").regressor_.summary(time_ratio=True)
    assert str(table) == str(model.regressor_.summary(time_ratio=True))


def test_exports_of_categories_refuse_and_reports_show_them():
    pd = pytest.importorskip("pandas")
    X, y, _ = read("lung")
    frame = pd.DataFrame({"ecog": pd.Categorical(X[:, 2].astype(int)), "age": X[:, 0]})
    model = CensoredLinearRegression().fit(frame, y)
    with pytest.raises(ValueError, match="to_sql takes features of numbers, and 'ecog' holds"):
        to_sql(model)
    weights = describe(model, frame, y)["importances"]
    assert weights["feature"] == [0, 1]
    assert weights["value"][0] == pytest.approx(min(model.coef_[:3]))
