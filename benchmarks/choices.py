"""How defaults were chosen: by cross-validation inside the training rows of development sets, never by test scores.

``python -m benchmarks.choices --data DIR`` scores the anchors of trees: for every data set the first published fold is
left out, and `MaxMarginIntervalTreeCV` searches the other rows. Printed is, for each anchor, the geometric mean over
the sets of its least cross-validated error, against that without an anchor.
"""

import argparse
from pathlib import Path

import numpy as np

from marginwood import MaxMarginIntervalTreeCV

ANCHORS = (0.0, 1e-6, 0.3, 1.0, 3.0, 10.0)
LEAST_ERROR = 1e-12  # of a set whose rows are all satisfied


def inner_errors(path, loss):
    """The least cross-validated error of each anchor on the rows outside of the first fold."""
    data = np.load(path)
    rows = data["folds"] != data["folds"].min()
    search = MaxMarginIntervalTreeCV(losses=loss, n_margins=7, anchors=ANCHORS, n_jobs=-1)
    results = search.fit(data["X"][rows], data["y"][rows]).cv_results_
    return [-results["mean_test_score"][results["param_anchor"] == anchor].max() for anchor in ANCHORS]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of .npz files with X, y and folds")
    parser.add_argument("--loss", default="squared_hinge")
    parser.add_argument("--largest", type=int, default=2000, help="leave out sets of more rows")
    args = parser.parse_args()
    ratios = []
    for path in sorted(args.data.rglob("*.npz")):
        if len(np.load(path)["y"]) > args.largest:
            continue
        errors = np.maximum(inner_errors(path, args.loss), LEAST_ERROR)
        ratios.append(errors / errors[0])
        print(f"{path.stem:40}" + "".join(f"{ratio:8.3f}" for ratio in ratios[-1]), flush=True)
    logs = np.log(ratios)
    print(f"{'anchor':40}" + "".join(f"{anchor:8g}" for anchor in ANCHORS))
    print(f"{'geometric mean':40}" + "".join(f"{ratio:8.3f}" for ratio in np.exp(logs.mean(axis=0))))
    print(f"{'better on sets':40}" + "".join(f"{count:8d}" for count in (logs < 0).sum(axis=0)))


if __name__ == "__main__":
    main()
