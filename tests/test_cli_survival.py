"""The command line where many rows are open above: scores that fit lead."""

import numpy as np
import pytest

from marginwood import MaxMarginIntervalForest, from_events, save
from marginwood._cli.main import main
from marginwood.report._content import describe


@pytest.fixture
def survival():
    """Times of which four in ten are right-censored, and a feature that they depend on."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=120)
    time = np.exp(x + 0.5 * rng.normal(size=120))
    stop = np.exp(rng.normal(0.3, 1, 120))
    return x, np.minimum(time, stop), time <= stop


@pytest.fixture
def table(survival, tmp_path):
    path = tmp_path / "survival.csv"
    lines = [f"{a:.6f},{t:.6f},{int(e)}" for a, t, e in zip(*survival, strict=True)]
    path.write_text("\n".join(["x,time,event", *lines]), encoding="utf-8")
    return path


TARGET = ["--time", "time", "--event", "event"]


def test_a_benchmark_leads_with_the_ranking_and_learns_logarithms(table, tmp_path, capsys):
    options = ["--models", "constant", "forest", "--cv", "2", "--out", str(tmp_path / "b.png")]
    heads = []
    for extra in ([], ["--log"]):
        assert main(["benchmark", "--quiet", str(table), *TARGET, *options, *extra]) == 0
        head, constant, forest = capsys.readouterr().out.splitlines()
        assert head.split() == [
            "concordance",
            "+-",
            "CRPS",
            "MSE",
            "MAE",
            "inside",
            "D2",
            "seconds",
        ]
        assert float(constant.split()[1]) == 0.5
        assert constant.split()[3] == "-"
        assert float(forest.split()[1]) > 0.7
        assert float(forest.split()[3]) > 0
        heads.append(forest.split()[:-1])
    assert heads[0] != heads[1]


def test_evaluate_and_the_report_lead_with_rankings_and_curves(survival, table, tmp_path, capsys):
    x, time, event = survival
    X, y = x[:, np.newaxis], from_events(time, event)
    model = MaxMarginIntervalForest(20, min_samples_leaf=10, random_state=0).fit(X, y)
    model.feature_names_in_ = np.array(["x"], dtype=object)
    save(model, tmp_path / "m.mw")
    assert main(["evaluate", "--quiet", str(tmp_path / "m.mw"), str(table), *TARGET]) == 0
    scores, errors = capsys.readouterr().out.split("\n\n")
    assert scores.splitlines()[1].startswith("concordance index")
    assert "IPCW Brier score" in scores
    assert errors.splitlines()[0].endswith("D2")
    content = describe(model, X, y)
    assert content["has_many_open"]
    assert {"concordance index", "CRPS", "IPCW Brier score"} <= {
        score["name"] for score in content["more_scores"]["scores"]
    }
    assert not describe(model, X, np.exp(x))["has_many_open"]
