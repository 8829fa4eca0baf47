"""Tables of linear models: coefficients with their uncertainty, and nested models compared."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import chi2, norm

from marginwood._support.checks import check_number
from marginwood.inference._table import Table

__all__ = ["compare_linear", "summarise_linear"]

# How far apart the likelihoods of constants may be if models saw the same rows.
SAME = 1e-6


def summarise_linear(model: Any, level: float, *, time_ratio: bool) -> Table:
    """The table of a fitted `CensoredLinearRegression`."""
    check_number("level", level, "a number between 0 and 1", lambda value: 0 < value < 1)
    is_scale_known = model.scale is not None
    terms = ["(intercept)", *model.terms_] + ["log(scale)"] * (not is_scale_known)
    coef = np.array([model.location_, *model.coef_, np.log(model.scale_)])[: len(terms)]
    columns: dict[str, Any] = {"term": terms, "coef": coef}
    ratios = slice(1, len(model.terms_) + 1)
    if model.alpha:
        if time_ratio:
            columns |= _exponentiate(ratios, time_ratio=coef)
        notes = [
            f"A penalty (alpha={model.alpha:g}) shrinks the coefficients, so that they have no standard errors: "
            "fit with alpha=0."
        ]
        return Table(columns, _title(model, "penalised maximum likelihood"), notes)
    coef[1:][: len(model.coef_)][np.isnan(model.standard_errors_[ratios])] = np.nan
    z = coef / model.standard_errors_
    half = norm.isf((1 - level) / 2) * model.standard_errors_
    columns |= {
        "std_error": model.standard_errors_,
        "z": z,
        "p": 2 * norm.sf(np.abs(z)),
        "lower": coef - half,
        "upper": coef + half,
    }
    if time_ratio:
        columns |= _exponentiate(
            ratios, time_ratio=coef, ratio_lower=coef - half, ratio_upper=coef + half
        )
    notes = [
        f"Confidence intervals: {100 * level:g} %. Scale of the noise: {model.scale_:.4g}"
        + (" (given)." if is_scale_known else "."),
        f"Log-likelihood {model.log_likelihood_:.6g}, AIC {model.aic_:.6g}, BIC {model.bic_:.6g}.",
    ]
    n_terms = int(np.isfinite(model.standard_errors_[ratios]).sum())
    if n_terms:
        gain = 2 * (model.log_likelihood_ - model.null_log_likelihood_)
        notes.append(
            f"Against the constant: chi-squared {gain:.4g}, df {n_terms}, "
            f"p {_p_value(gain, n_terms)} (likelihood ratio)."
        )
    if model.n_groups_:
        notes.append(
            f"Standard errors are robust, by {model.n_groups_} groups; likelihoods take rows as independent."
        )
    if n_terms < len(model.terms_):
        notes.append(
            "Terms without an estimate are constant, or sums of the terms before them and a constant."
        )
    return Table(columns, _title(model, "maximum likelihood"), notes)


def compare_linear(first: Any, second: Any) -> Table:
    """The likelihood-ratio test of nested models."""
    for name, model in (("self", first), ("other", second)):
        if type(model) is not type(first) or model.alpha:
            raise ValueError(
                f"{name}: expected a CensoredLinearRegression with alpha=0, got {model!r:.80}."
            )
    small, large = sorted((first, second), key=_n_parameters)
    n_extra = _n_parameters(large) - _n_parameters(small)
    is_part = set(small.terms_) <= set(large.terms_) or not hasattr(small, "feature_names_in_")
    if not is_part or not n_extra or (large.scale is not None and large.scale != small.scale):
        raise ValueError(
            "other: expected nested models, the terms of one among those of the other, got "
            f"{first.terms_} and {second.terms_}."
        )
    # The same constant is as likely for the same rows.
    is_same = abs(small.null_log_likelihood_ - large.null_log_likelihood_) <= SAME * (
        1 + abs(small.null_log_likelihood_)
    )
    same_scale = small.scale == large.scale
    if (
        small.noise != large.noise
        or small.n_samples_ != large.n_samples_
        or (same_scale and not is_same)
    ):
        raise ValueError(
            "other: expected a model of the same rows with noise of the same shape, got "
            f"{first!r:.80} of {first.n_samples_:g} rows and {second!r:.80} of {second.n_samples_:g}."
        )
    gain = 2 * (large.log_likelihood_ - small.log_likelihood_)
    models = (small, large)
    return Table(
        {
            "model": ["smaller", "larger"],
            "parameters": [_n_parameters(model) for model in models],
            "log_likelihood": [model.log_likelihood_ for model in models],
            "aic": [model.aic_ for model in models],
            "bic": [model.bic_ for model in models],
            "chi_squared": [None, gain],
            "df": [None, n_extra],
            "p": [None, float(chi2.sf(gain, n_extra))],
        },
        "Likelihood-ratio test of nested models",
    )


def _n_parameters(model: Any) -> int:
    return int(np.isfinite(model.standard_errors_).sum())


def _title(model: Any, method: str) -> str:
    return f"Linear model, {model.noise} noise, {method}, {model.n_samples_:g} rows"


def _p_value(gain: float, n_terms: int) -> str:
    p = float(chi2.sf(gain, n_terms))
    return "<0.0001" if p < 1e-4 else f"{p:.4f}"


def _exponentiate(terms: slice, **columns: Any) -> dict[str, Any]:
    """Exponentials of the entries of terms, nothing for location and scale."""
    result = {}
    for name, values in columns.items():
        ratios = np.full(len(values), np.nan)
        with np.errstate(over="ignore"):
            ratios[terms] = np.exp(values[terms])
        result[name] = ratios
    return result
