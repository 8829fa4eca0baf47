"""CensoredLinearRegression: a linear model with noise of a given shape, by maximum likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from marginwood._base import (
    IntervalRegressorMixin,
    Rows,
    all_or_nothing,
    check_feature_names,
    check_features,
    check_lengths,
    check_rows,
    forget,
)
from marginwood._categories import make_indicators, name_indicators
from marginwood._ends import check_entry
from marginwood._linear.estimates import (
    Units,
    check_maximum,
    estimate,
    in_units,
    independent_columns,
    unit_of,
)
from marginwood._linear.features import standardise
from marginwood._linear.l1 import refuse_infinite
from marginwood._linear.likelihood import (
    LikelihoodProblem,
    Maximum,
    log_likelihood,
    maximise_likelihood,
)
from marginwood._linear.noise import NOISES, make_steps
from marginwood._predictive import DistributionMixin
from marginwood._support.arrays import raise_first
from marginwood._support.blas import one_blas_thread
from marginwood._support.checks import check_choice, check_count, check_number, check_positive
from marginwood._support.notices import warn
from marginwood.distributions import IntervalDistribution
from marginwood.inference import Table
from marginwood.inference._linear import compare_linear, summarise_linear
from marginwood.intervals import BoolArray, FloatArray, IntArray

__all__ = ["CensoredLinearRegression"]

# What only a fit without penalty finds.
JUDGEMENTS = (
    "covariance_",
    "standard_errors_",
    "null_log_likelihood_",
    "n_groups_",
    "aic_",
    "bic_",
)


class CensoredLinearRegression(DistributionMixin, IntervalRegressorMixin, BaseEstimator):
    """Linear model of censored values by maximum likelihood; it predicts distributions.

    A value is ``intercept_ + x @ coef_`` and noise, whose distribution has a known shape, a
    median of 0 and a scale that is the same for all rows. Of logarithms of times this is the model
    of accelerated failure times: log-normal, log-logistic or Weibull.

    Parameters
    ----------
    noise : {"normal", "logistic", "gumbel"}, default="normal"
        The shape of the noise. "gumbel" is the distribution of the smallest of many values: times
        whose logarithms have it are Weibull's.
    alpha : float, default=0.01
        Penalty: half of it times the sum of squares of the weights, in scales of the noise per
        deviation of a feature, is taken from the mean log-likelihood. With 0 the model is the
        maximum likelihood estimate, with standard errors, and an error says where there is none;
        the default shrinks the weights, which suits predictions.
    scale : float, default=None
        The scale of the noise, if it is known: 1 for exponential times, whose logarithms have
        noise of shape "gumbel". None finds the most likely one.
    categorical_features : "from_dtype", sequence of str, int or bool, or None, default="from_dtype"
        Features that are categories: columns of a frame whose type is categorical, or names,
        indices or a mask of features. Each has a weight per category but the first, which is part
        of the constant.
    tol : float, default=1e-9
        How much the next step may still gain, in units of the mean log-likelihood.
    max_iter : int, default=100
        Most steps of the solver.

    Attributes
    ----------
    coef_ : ndarray of shape (n_terms,)
        Weights of the features in their own units. Constant features have weight 0 and, with
        ``alpha=0``, so have those that are sums of features before them.
    terms_ : list of str
        What the weights belong to: names of features, and ``feature[category]``.
    intercept_ : float
        The median where all features are 0.
    location_ : float
        Where the noise is 0, if all features are 0: the intercept of R's survreg. Normal and
        logistic noise has a median of 0.
    scale_ : float
        The scale of the noise: its standard deviation if it is normal.
    log_likelihood_ : float
        The logarithm of the likelihood, without the penalty; exact values count by their density.
    null_log_likelihood_ : float
        That of the most likely constant, with ``alpha=0``.
    covariance_ : ndarray of shape (n_terms + 2, n_terms + 2)
        With ``alpha=0``: the covariance of `location_`, `coef_` and, unless it is known, the
        logarithm of `scale_`; NaN for weights that are not estimated.
    standard_errors_ : ndarray of shape (n_terms + 2,)
        The roots of its diagonal.
    aic_, bic_ : float
        The information criteria of Akaike and Schwarz, with ``alpha=0``; less is better.
    n_samples_ : float
        Number of informative rows, or the sum of their weights.
    categories_ : list or None
        The labels of every feature, None for numbers.
    n_groups_ : int
        With ``alpha=0``: number of groups behind robust standard errors, 0 if they are not robust.
    n_iter_ : int
        Steps of the solver.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names that are all strings.

    See Also
    --------
    L1IntervalRegression : No assumption on the noise, and few features; its predictions are early under censoring.
    DistributionalSuperLearner : Weighs these models and forests.

    Notes
    -----
    With a penalty, two half rows, two thirds of a deviation of the limits above and below their
    mean, are added where all features have their means. They settle what the rows leave open, for instance the
    scale of noise if one constant lies in all intervals. Beside few rows they count, too: of five
    exact values around a line the scale is mostly larger than the most likely one, now and then
    twice as large. With n rows the difference shrinks like 1 / n.

    Where all limits are one value, nothing tells the scale of the noise: it is about a millionth
    of that value.

    A row of weight 2 counts as two rows. Weights with a mean below 1 count as shares: all of them
    divided by one number give the same model.

    References
    ----------
    .. [1] Burridge (1981), "A note on maximum likelihood estimation for regression models using grouped data", Journal
       of the Royal Statistical Society B 43.

    Examples
    --------
    >>> from marginwood import CensoredLinearRegression
    >>> from marginwood.datasets import make_linear
    >>> X, y = make_linear(random_state=0)
    >>> model = CensoredLinearRegression(noise="logistic").fit(X, y)
    >>> low, high = model.predict_quantile(X[:1], [0.1, 0.9])[0]
    >>> bool(low < model.predict(X[:1])[0] < high)
    True
    """

    def __init__(
        self,
        *,
        noise: str = "normal",
        alpha: float = 0.01,
        scale: float | None = None,
        categorical_features: Any = "from_dtype",
        tol: float = 1e-9,
        max_iter: int = 100,
    ) -> None:
        self.noise = noise
        self.alpha = alpha
        self.scale = scale
        self.categorical_features = categorical_features
        self.tol = tol
        self.max_iter = max_iter

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        entry: Any = None,
        groups: Any = None,
    ) -> CensoredLinearRegression:
        """Find the most likely weights and scale.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features, all finite.
        y : array-like of shape (n_samples, 2)
            Lower and upper end of each interval, or any other form that `check_intervals` accepts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; rows of weight 0 count as absent.
        entry : array-like of shape (n_samples,), default=None
            Delayed entry (left truncation): a row is there only because its value is greater than
            this. -inf, the logarithm of time 0, is no condition.
        groups : array-like of shape (n_samples,), default=None
            With ``alpha=0``: which rows may depend on each other, such as those of one patient.
            Standard errors are then robust (the sandwich). A group of its own for every row makes
            them robust against noise of another scale.

        Returns
        -------
        CensoredLinearRegression
            The fitted model.
        """
        check_choice("noise", self.noise, NOISES)
        check_number("alpha", self.alpha, "a number >= 0", lambda alpha: 0 <= alpha < np.inf)
        if self.scale is not None:
            check_positive("scale", self.scale)
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter, 1)
        rows = check_rows(self._as_numbers(X, reset=True), y, sample_weight)
        numbers = None if groups is None else self._number_groups(groups, len(rows.weight))
        is_informative = rows.is_informative
        if entry is not None:
            entry, intervals = check_entry(entry, rows.intervals)
            rows, entry = rows._replace(intervals=intervals), entry[is_informative]
        self._solve(
            rows.take(is_informative),
            entry,
            None if numbers is None else numbers[is_informative],
        )
        return self

    def _as_numbers(self, X: Any, *, reset: bool = False) -> FloatArray:
        """Features as numbers, with a column for each category but the first."""
        X = check_features(self, X, reset=reset)
        if self.categories_ is None:
            refuse_infinite(X)
            return X
        of_words = [labels is not None for labels in self.categories_]
        names = check_feature_names(self)
        for idx in np.flatnonzero(of_words):
            raise_first(
                np.isnan(X[:, idx]),
                f"X: a category that is missing, or that training rows did not have, of {names[idx]}",
                " Leave out these rows, or join rare categories before the fit.",
            )
        refuse_infinite(X)
        return make_indicators(X, self.categories_)

    def _number_groups(self, groups: Any, n_rows: int) -> IntArray:
        if self.alpha:
            raise ValueError("groups: expected None with a penalty. Standard errors need alpha=0.")
        check_lengths(n_rows, len(groups))
        return np.unique(np.asarray(groups), return_inverse=True)[1].astype(np.int64)

    @one_blas_thread()
    def _solve(self, rows: Rows, entry: FloatArray | None, groups: IntArray | None) -> None:
        shares = rows.weight / rows.weight.sum()
        features, (mean, deviation) = standardise(rows.X, shares)
        Z = features.combine(np.arange(features.n_features), np.eye(features.n_features))
        is_free = np.ones(Z.shape[1], np.bool_) if self.alpha else independent_columns(Z)
        Z = Z[:, is_free]
        # Weights that the penalty allows are combinations of rows: with more features than rows,
        # few unknowns do.
        basis = None
        if Z.shape[1] > len(Z):
            basis, triangle = np.linalg.qr(Z.T)
            Z = triangle.T
        units = Units(*unit_of(rows), mean[is_free], deviation[is_free])
        lower, upper = (rows.intervals.T - units.centre) / units.scale
        problem = LikelihoodProblem(
            Z,
            lower,
            upper,
            rows.weight,
            NOISES[self.noise],
            float(self.alpha),
            None if entry is None else (entry - units.centre) / units.scale,
            None if self.scale is None else units.scale / float(self.scale),
        )
        found = maximise_likelihood(problem, self.tol, self.max_iter)
        names = check_feature_names(self)
        self.terms_ = name_indicators(names, self.categories_)
        if not self.alpha:
            free = [term for term, is_one in zip(self.terms_, is_free, strict=True) if is_one]
            check_maximum(problem, found, free)
        if not found.is_converged:
            warn(
                f"The likelihood was not certainly maximised in {found.n_iter} steps. Raise max_iter, tol or alpha.",
                ConvergenceWarning,
            )
        unknowns = found.unknowns
        if basis is not None:
            unknowns = np.append(unknowns[:2], basis @ unknowns[2:])
        self.location_, weights, self.scale_ = units.bring_back(unknowns)
        self.coef_ = np.zeros(len(is_free))
        self.coef_[is_free] = weights
        median = float(problem.noise.quantile(np.array(0.5)))
        self.intercept_ = self.location_ + self.scale_ * median
        self.n_iter_ = found.n_iter
        self.n_samples_ = float(rows.weight.sum())
        value = log_likelihood(problem, found.unknowns)
        self.log_likelihood_ = in_units(problem, units, value)
        self._judge(problem, found, units, is_free, groups)

    def _judge(
        self,
        problem: LikelihoodProblem,
        found: Maximum,
        units: Units,
        is_free: BoolArray,
        groups: IntArray | None,
    ) -> None:
        """Standard errors and what follows from them, of a fit without penalty."""
        if self.alpha:
            forget(self, *JUDGEMENTS)
            return
        estimates = estimate(problem, found, units, groups)
        ends = [True] if self.scale is not None else [True, True]
        places = np.flatnonzero(np.insert(ends, 1, is_free))
        n_parameters = len(is_free) + len(ends)
        self.covariance_ = np.full((n_parameters, n_parameters), np.nan)
        self.covariance_[np.ix_(places, places)] = estimates.covariance
        self.standard_errors_ = np.sqrt(np.diag(self.covariance_))
        self.null_log_likelihood_ = estimates.null_log_likelihood
        self.n_groups_ = 0 if groups is None else int(groups.max()) + 1
        self.aic_ = 2 * len(places) - 2 * self.log_likelihood_
        self.bic_ = float(np.log(self.n_samples_)) * len(places) - 2 * self.log_likelihood_

    def summary(self, *, level: float = 0.95, time_ratio: bool = False) -> Table:
        """Tabulate the coefficients with their standard errors, tests and confidence intervals.

        Parameters
        ----------
        level : float, default=0.95
            Level of the confidence intervals.
        time_ratio : bool, default=False
            Of logarithms of times: whether to add ``exp(coef)``, by how much times are longer per
            unit of the feature, with its confidence interval.

        Returns
        -------
        Table
            A row for the location, each term and the logarithm of the scale: coefficient, standard
            error, z, p-value and confidence interval (Wald). Below it the likelihood, and the
            likelihood-ratio test against the constant. A model with a penalty has coefficients
            only.

        Examples
        --------
        >>> from marginwood import CensoredLinearRegression
        >>> X, y = [[0], [1], [2], [3]], [1.0, 3.5, 4.0, 8.0]
        >>> print(CensoredLinearRegression(alpha=0).fit(X, y).summary())
        Linear model, normal noise, maximum likelihood, 4 rows
        term            coef  std_error        z        p    lower   upper
        (intercept)      0.9     0.6026    1.494   0.1353  -0.2811   2.081
        x[0]            2.15     0.3221    6.675  <0.0001    1.519   2.781
        log(scale)   -0.3282     0.3536  -0.9282   0.3533   -1.021  0.3648
        Confidence intervals: 95 %. Scale of the noise: 0.7202.
        Log-likelihood -4.36309, AIC 14.7262, BIC 12.8851.
        Against the constant: chi-squared 9.986, df 1, p 0.0016 (likelihood ratio).
        """
        check_is_fitted(self)
        return summarise_linear(self, level, time_ratio=time_ratio)

    def compare(self, other: CensoredLinearRegression) -> Table:
        """Test whether the terms that another model lacks matter (likelihood ratio).

        Parameters
        ----------
        other : CensoredLinearRegression
            A model of the same rows, with ``alpha=0`` and noise of the same shape, whose terms are
            a part of those of this one, or the other way round.

        Returns
        -------
        Table
            A row for each of them, the smaller first: number of parameters, log-likelihood, AIC,
            BIC; chi-squared, degrees of freedom and p-value of the larger against the smaller.

        Examples
        --------
        >>> from marginwood import CensoredLinearRegression
        >>> X, y = [[0, 1], [1, 0], [2, 1], [3, 0], [4, 2]], [1.0, 3.5, 4.0, 8.0, 8.5]
        >>> large = CensoredLinearRegression(alpha=0).fit(X, y)
        >>> small = CensoredLinearRegression(alpha=0).fit([row[:1] for row in X], y)
        >>> round(large.compare(small)["p"][1], 4)
        0.0305
        """
        check_is_fitted(self)
        check_is_fitted(other)
        return compare_linear(self, other)

    def predict(self, X: Any) -> FloatArray:
        """Predict medians: ``intercept_ + X @ coef_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            Medians.
        """
        check_is_fitted(self)
        return self._as_numbers(X) @ self.coef_ + self.intercept_

    def predict_distribution(self, X: Any) -> IntervalDistribution:
        """Predict the distribution of the target for every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        IntervalDistribution
            One row per row of X, in steps: 400 narrow ones, and wider ones for the last millionth
            on either side, up to where 1e-300 is left.
        """
        prediction = self.predict(X)
        noise = NOISES[self.noise]
        edges, mass = make_steps(noise)
        ends = self.scale_ * (edges - noise.quantile(np.array(0.5)))
        # Not checked: of targets near the largest that are allowed, tails lie beyond.
        return IntervalDistribution._of(np.column_stack([ends[:-1], ends[1:]]), mass).shifted(
            prediction
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags
