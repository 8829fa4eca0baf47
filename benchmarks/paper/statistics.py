"""Comparing methods over data sets.

After Demsar (2006), "Statistical Comparisons of Classifiers over Multiple Data Sets", JMLR 7.
Errors are arrays of one row per data set and one column per method. An infinite error is a failure:
it ranks last.
"""

import numpy as np
from scipy import stats

LEVEL = 0.05
# In a paired test failures are compared too, as an error that no other method comes near.
FAILURE = 1e6


def average_ranks(errors):
    """Mean rank of each method; 1 is best, and ties share their ranks."""
    return stats.rankdata(errors, axis=1).mean(axis=0)


def friedman(errors):
    """Statistic and p-value of the test that all methods are alike."""
    return stats.friedmanchisquare(*np.asarray(errors).T)


def critical_difference(n_methods, n_data_sets):
    """Least difference of two average ranks that Nemenyi's test calls significant."""
    quantile = stats.studentized_range.ppf(1 - LEVEL, n_methods, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * n_data_sets)))


def alike(ranks, difference):
    """Largest groups of methods whose ranks lie within the difference: pairs of least and greatest rank."""
    ranks = np.sort(ranks)
    ends = np.searchsorted(ranks, ranks + difference, side="right") - 1
    return [
        (float(ranks[start]), float(ranks[end]))
        for start, end in enumerate(ends)
        if end > start and (start == 0 or end > ends[start - 1])
    ]


def paired_test(errors, others):
    """Data sets where the first is better and where it is worse, and the p-value of Wilcoxon's signed-rank test."""
    differences = np.minimum(errors, FAILURE) - np.minimum(others, FAILURE)
    differences = differences[differences != 0]
    p_value = float(stats.wilcoxon(differences).pvalue) if len(differences) else 1.0
    return int((differences < 0).sum()), int((differences > 0).sum()), p_value
