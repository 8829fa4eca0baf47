"""The report in a real browser: a headless Chromium clicks, types and looks. Pictures are kept in build/."""

import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV

from conftest import PATIENCE
from marginwood import (
    ConformalIntervalRegressor,
    IntervalSearchCV,
    MaxMarginIntervalBoosting,
    MaxMarginIntervalForest,
    MaxMarginIntervalTree,
    TransformedIntervalRegressor,
    from_events,
)
from marginwood._core.nodes import LEAF, NO_FEATURE, NODE_DTYPE
from marginwood._trees.table import IntervalTree
from marginwood.datasets import make_sine
from marginwood.losses import LOSSES
from marginwood.metrics import get_scorer, interval_concordance_index
from marginwood.report import write_report

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
PICTURES = Path(__file__).parents[1] / "build" / "report-screenshots"
HOSTILE = "<script>alert(1)</script>"
NAMES = ["dose (mg)", "age", HOSTILE, "<img src=x onerror=alert(2)>"]
PLAIN_NAMES = ["dose (mg)", "age", "marker A", "marker B"]


def make_data(n_rows, seed):
    """Rows with missing values, and an effect of every feature."""
    X, y = make_sine(n_rows, len(NAMES), random_state=seed)
    y = y + 2.0 * (X[:, 1:2] > 5) + 3.0 * (X[:, 2:3] > 3) * (X[:, 3:4] > 6)
    X[::11, 0] = np.nan
    return pd.DataFrame(X, columns=NAMES), y


X, Y = make_data(240, 0)
X_NEW, Y_NEW = make_data(120, 1)


@pytest.fixture(scope="module")
def models():
    return {
        "tree": IntervalSearchCV(MaxMarginIntervalTree(), {"loss": LOSSES, "margin": 6}, cv=3).fit(
            X, Y
        ),
        "patients": IntervalSearchCV(MaxMarginIntervalTree(), {"margin": 6}, cv=3).fit(
            X.set_axis(PLAIN_NAMES, axis=1), Y
        ),
        "small": MaxMarginIntervalTree(max_leaf_nodes=6).fit(X, Y),
        "forest": MaxMarginIntervalForest(6, random_state=0).fit(X, Y),
        "ranges": ConformalIntervalRegressor(
            MaxMarginIntervalForest(20, random_state=0), mode="meets", method="oob"
        ).fit(X, Y),
        "times": TransformedIntervalRegressor(MaxMarginIntervalTree(max_leaf_nodes=6)).fit(
            X, np.exp(Y)
        ),
        "times-forest": TransformedIntervalRegressor(
            ConformalIntervalRegressor(
                MaxMarginIntervalForest(6, random_state=0), mode="meets", method="oob"
            )
        ).fit(X, np.exp(Y)),
        "times-curves": TransformedIntervalRegressor(
            MaxMarginIntervalForest(6, random_state=0)
        ).fit(X, np.exp(Y)),
    }


@pytest.fixture(scope="module")
def browser():
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip(f"no browser found; looked for {', '.join(BROWSERS)}")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=ARGUMENTS, timeout=1000 * PATIENCE
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory, models):
    path = tmp_path_factory.mktemp("reports")
    for name, model in models.items():
        rows = X_NEW.set_axis(model.feature_names_in_, axis=1)
        row_names = [f"<b>{row}</b>" for row in range(len(rows))] if name == "ranges" else None
        y = np.exp(Y_NEW) if name.startswith("times") else Y_NEW
        write_report(
            model, rows, y, path / f"{name}.html", title="patients.csv", row_names=row_names
        )
    return path


@pytest.fixture
def open_page(browser, folder):
    """Open a report; at the end nothing may have been logged, raised, asked or fetched."""
    contexts, troubles = [], []

    def open_report(name, *, width=1280, height=900, **options):
        context = browser.new_context(
            viewport={"width": width, "height": height}, reduced_motion="reduce", **options
        )
        context.set_default_timeout(1000 * PATIENCE)
        page = context.new_page()
        address = (folder / f"{name}.html").as_uri()
        page.on("console", lambda message: troubles.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on(
            "dialog",
            lambda dialog: (troubles.append(f"dialog: {dialog.message}"), dialog.dismiss()),
        )
        page.on(
            "request",
            lambda request: request.url != address and troubles.append(f"request: {request.url}"),
        )
        page.goto(address)
        contexts.append(context)
        return page

    yield open_report
    for context in contexts:
        context.close()
    assert troubles == []


def keep_picture(page, name, **options):
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"{name}.png", **options)


def ids(page, selector):
    """Numbers of the nodes that a selector finds."""
    return sorted(
        page.eval_on_selector_all(selector, "cards => cards.map(card => Number(card.dataset.node))")
    )


def path_of(model, row):
    rows = X_NEW.set_axis(model.feature_names_in_, axis=1)
    return sorted(model.decision_path(rows)[row].indices.tolist())


def test_a_click_opens_and_closes_a_node(open_page):
    page = open_page("tree")
    assert ids(page, ".node")[0] == 0
    everything = ids(page, ".node")
    root = page.locator("[data-node='0']")
    assert root.get_attribute("aria-expanded") == "true"
    root.locator(".toggle").click()
    assert ids(page, ".node") == [0]
    assert root.get_attribute("aria-expanded") == "false"
    root.locator(".toggle").click()
    assert ids(page, ".node") == everything
    page.locator("[data-node='2'] .card").click()
    page.click("#collapse")
    assert ids(page, ".node") == [0]
    assert "node 0" in page.inner_text("#details")


def test_a_tree_can_be_opened_to_its_last_leaf(open_page, models):
    page, n_nodes = open_page("forest"), models["forest"].estimators_[0].tree_.node_count
    assert page.locator(".node").count() < n_nodes
    page.click("#expand")
    assert ids(page, ".node") == list(range(n_nodes))
    keep_picture(page, "expanded")


def test_pointing_at_a_node_shows_its_rule_and_the_intervals_in_it(open_page, models):
    page, tree = open_page("small"), models["small"].tree_
    leaf = int(models["small"].apply(X_NEW)[0])
    page.locator(f"[data-node='{leaf}'] .card").hover()
    details = page.locator("#details")
    assert f"node {leaf}" in details.inner_text()
    assert f"Training rows\n{tree.n_node_samples[leaf]}" in details.inner_text()
    n_rows = int((models["small"].apply(X_NEW) == leaf).sum())
    assert f"Intervals of {n_rows} rows of these data" in details.inner_text()
    assert details.locator(".strip path.inside").get_attribute("d")
    rules = details.locator(".rule li").all_inner_texts()
    used = {
        NAMES[tree.feature[node]]
        for node in path_of(models["small"], 0)[:-1]
        if tree.feature[node] >= 0
    }
    assert (
        len(rules)
        == len({name for name in used if any(name in rule for rule in rules)})
        == len(used)
    )
    page.locator("h1").hover()
    assert "node 0" in details.inner_text()
    assert "All rows." in details.inner_text()


def test_a_leaf_shows_the_curve_of_its_rows_and_a_split_shows_none(open_page, models):
    page = open_page("small")
    leaf = int(models["small"].apply(X_NEW)[0])
    page.locator(f"[data-node='{leaf}'] .card").hover()
    details = page.locator("#details")
    assert details.locator(".leaf-curve path.line-2").get_attribute("d")
    assert "Turnbull's estimate for these rows" in details.inner_text()
    keep_picture(page, "leaf")
    page.locator("[data-node='0'] .card").hover()
    assert details.locator(".leaf-curve").count() == 0


def test_the_row_that_is_pointed_at_or_followed_shows_its_predicted_curve(open_page, models):
    page, times = open_page("forest"), models["forest"]
    assert page.locator("#survival").is_visible()
    assert page.locator("#survival-chart path.line-0").count() == 0
    assert page.inner_text("#survival-row") == "a row that you choose above"
    page.focus("#prediction-chart")
    page.press("#prediction-chart", "Home")
    first = int(np.argsort(times.predict(X_NEW), kind="stable")[0])
    assert page.inner_text("#survival-row") == f"row {first}"
    drawn = page.locator("#survival-chart path.line-0").get_attribute("d")
    assert drawn.count("L") == 60
    page.fill("#row-number", "7")
    assert page.inner_text("#survival-row") == "row 7"
    assert page.locator("#survival-chart path.line-0").get_attribute("d") != drawn
    page.locator("#survival").scroll_into_view_if_needed()
    keep_picture(page, "survival")


def labels_of_axis(page, chart, place, anchor):
    """Numbers at an axis, and where they stand."""
    script = "texts => texts.map(text => [text.textContent, text.getAttribute('text-anchor'), text.getAttribute('%s')])"
    found = page.eval_on_selector_all(f"{chart} .axis text:not(.label)", script % place)
    return np.array(
        [(float(text.replace(",", "")), float(at)) for text, side, at in found if side == anchor]
    )


@pytest.mark.parametrize("name", ["times", "times-forest", "times-curves"])
def test_a_model_of_the_logarithm_has_log_axes(open_page, models, name):
    page = open_page(name)
    page.focus("#prediction-chart")
    page.press("#prediction-chart", "End")
    axes = [labels_of_axis(page, "#prediction-chart", "y", "end")]
    if name == "times":
        leaf = int(models["times"].regressor_.apply(X_NEW)[0])
        page.locator(f"[data-node='{leaf}'] .card").hover()
        axes += [
            labels_of_axis(page, f"#details {chart}", "x", "middle")
            for chart in (".strip", ".leaf-curve")
        ]
    if name == "times-curves":
        axes.append(labels_of_axis(page, "#survival-chart", "x", "middle"))
    for shown, places in (axis.T for axis in axes):
        assert len(shown) >= 2
        assert (shown > 0).all()
        steps = np.diff(places) / np.diff(np.log(shown))
        np.testing.assert_allclose(steps, steps[0], rtol=1e-6)
    wrong = "marks => marks.filter(mark => [...mark.attributes].some(({ value }) => /NaN|Infinity/.test(value))).length"
    assert page.eval_on_selector_all("svg *", wrong) == 0
    keep_picture(page, name)


def test_scores_of_the_ranking_and_of_distributions_are_tabled(open_page):
    page = open_page("forest")
    names = page.locator("#more-scores tbody tr td:first-child").all_inner_texts()
    assert names[0] == "concordance index"
    assert names[-1] == "D-calibration p-value"
    assert open_page("small").locator("#more-scores tbody tr").count() == 2
    assert open_page("small").locator("#survival").is_hidden()


def test_a_search_finds_the_splits_on_a_feature_and_enter_walks_through_them(open_page, models):
    page, tree = open_page("tree"), models["tree"].tree_
    page.fill("#feature-search", "AGE")
    expected = np.flatnonzero(tree.feature == 1).tolist()
    assert len(expected) > 1
    assert ids(page, ".node.match") == expected
    assert f"{len(expected)} splits found; this is number 1" in page.inner_text("#tree-status")
    first = ids(page, ".node[aria-selected='true']")
    page.press("#feature-search", "Enter")
    assert "this is number 2" in page.inner_text("#tree-status")
    assert ids(page, ".node[aria-selected='true']") != first
    keep_picture(page, "search")
    page.fill("#feature-search", "no such thing")
    assert ids(page, ".node.match") == []
    assert "No split" in page.inner_text("#tree-status")


@pytest.mark.parametrize("row", [0, 1, 77])
def test_the_path_of_a_row_is_the_decision_path(open_page, models, row):
    page, model = open_page("patients", height=1045), models["patients"]
    page.fill("#row-number", str(row))
    path = path_of(model, row)
    assert ids(page, ".node.on-path") == path
    shown = page.inner_text("#sample-path")
    assert f"Path of row {row}" in shown
    steps = page.locator("#sample-path li").all_inner_texts()
    features = [PLAIN_NAMES[model.tree_.feature[node]] for node in path[:-1]]
    assert len(steps) == len(features)
    assert all(step.startswith(f"{name} = ") for step, name in zip(steps, features, strict=True))
    assert ("= missing goes with" in shown) == X_NEW.set_axis(PLAIN_NAMES, axis=1).loc[
        row, features
    ].isna().any()
    if row == 0:
        keep_picture(page, "path")  # the README's
    page.fill("#row-number", "")
    assert ids(page, ".node.on-path") == []


def test_a_row_that_is_not_there_is_named(open_page):
    page = open_page("tree")
    for text in ("120", "-1", "1.5"):
        page.fill("#row-number", text)
        assert f"There is no row {text}; rows are counted from 0 to 119" in page.inner_text(
            "#tree-status"
        )


def test_a_row_of_the_chart_or_of_the_largest_errors_is_followed(open_page, models):
    page = open_page("tree")
    chart = page.locator("#prediction-chart")
    chart.hover(position={"x": 500, "y": 100})
    caption = page.inner_text("#prediction-caption")
    row = int(caption.split(":")[0].removeprefix("Row "))
    chart.click(position={"x": 500, "y": 100})
    assert ids(page, ".node.on-path") == path_of(models["tree"], row)
    button = page.locator("#worst button").first
    button.click()
    assert ids(page, ".node.on-path") == path_of(models["tree"], int(button.inner_text()))


def test_the_chart_can_leave_out_the_rows_that_are_right(open_page, models):
    page = open_page("tree")
    assert "120 rows, by prediction" in page.text_content("#prediction-chart")
    page.check("#only-outside")
    predicted = models["tree"].predict(X_NEW)
    n_outside = int(((predicted < Y_NEW[:, 0]) | (predicted > Y_NEW[:, 1])).sum())
    assert f"{n_outside} rows, by prediction" in page.text_content("#prediction-chart")


def test_the_keyboard_alone_walks_searches_and_follows(open_page, models):
    page, tree = open_page("tree"), models["tree"].tree_

    def selected():
        return page.evaluate("Number(document.activeElement.dataset.node)")

    page.focus("#zoom-fit")
    page.keyboard.press("Tab")
    assert selected() == 0
    page.keyboard.press("ArrowRight")
    assert selected() == tree.children_left[0]
    assert f"node {tree.children_left[0]}" in page.inner_text("#details")
    page.keyboard.press("ArrowLeft")  # closes it
    page.keyboard.press("ArrowLeft")  # goes to its parent
    assert selected() == 0
    page.keyboard.press("Enter")
    assert ids(page, ".node") == [0]
    page.keyboard.press("Space")
    page.keyboard.press("End")
    last = 0
    shown = ids(page, ".node")
    while tree.children_right[last] in shown:  # deep nodes are closed
        last = tree.children_right[last]
    assert selected() == last
    page.keyboard.press("ArrowUp")
    assert selected() == last - 1  # its sibling, a leaf
    page.keyboard.press("Home")
    assert selected() == 0
    page.focus("#feature-search")
    page.keyboard.type("age")
    page.keyboard.press("Enter")
    assert ids(page, ".node.match") == np.flatnonzero(tree.feature == 1).tolist()
    page.keyboard.press("Tab")
    page.keyboard.type("5")
    assert ids(page, ".node.on-path") == path_of(models["tree"], 5)
    page.focus("#prediction-chart")
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    last = int(np.lexsort((np.arange(120), models["tree"].predict(X_NEW)))[-1])
    assert page.input_value("#row-number") == str(last)
    assert page.get_attribute("#prediction-chart", "aria-valuetext").startswith(
        f"Row {last}: predicted"
    )


def scale_of(page):
    return page.evaluate("d3.zoomTransform(document.getElementById('tree-view')).k")


def test_the_tree_is_zoomed_by_buttons_keys_and_wheel(open_page):
    page = open_page("tree")
    scales = [scale_of(page)]
    page.click("#zoom-in")
    scales.append(scale_of(page))
    page.focus("[data-node='0']")
    page.keyboard.press("+")
    scales.append(scale_of(page))
    page.locator("#tree-view").hover(position={"x": 20, "y": 20})
    page.mouse.wheel(0, -200)
    page.wait_for_function(
        "before => d3.zoomTransform(document.getElementById('tree-view')).k > before",
        arg=scales[-1],
    )
    scales.append(scale_of(page))
    assert scales == sorted(set(scales))
    page.keyboard.press("-")
    page.click("#zoom-out")
    assert scale_of(page) < scales[-1]
    page.keyboard.press("0")
    assert page.locator(".node .card").first.is_visible()


def test_the_wheel_scrolls_the_page_until_the_tree_is_used(open_page):
    page = open_page("tree", height=600)
    page.locator("#tree-view").hover(position={"x": 20, "y": 20})
    scale, before = scale_of(page), page.evaluate("scrollY")
    page.mouse.wheel(0, 200)
    page.wait_for_function("before => scrollY > before", arg=before)
    assert scale_of(page) == scale


def test_names_from_the_data_are_text(open_page):
    page = open_page("tree")
    page.click("#expand")
    assert page.locator("#importances").get_by_text(HOSTILE, exact=True).count() == 1
    assert page.locator("#data").get_by_text(NAMES[3], exact=True).count() == 1
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 3
    page.fill("#feature-search", HOSTILE)
    assert f"{HOSTILE} ≤ " in page.inner_text("#details")


def test_the_page_says_what_the_model_scored_and_was_tuned_by(open_page, models):
    page = open_page("tree")
    assert page.inner_text("h1") == "IntervalSearchCV"
    assert f"{models['tree'].score(X_NEW, Y_NEW):.4g}" in page.inner_text("#scores")
    assert page.locator("#surfaces svg").count() == 2
    assert page.locator("#surfaces rect.chosen").count() == 1
    caption = page.inner_text("#surface-caption")
    assert caption.startswith(models["tree"].best_params_["loss"].replace("_", " "))
    assert f"{-models['tree'].best_score_:.4g}" in caption
    page.locator("#surfaces svg").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#surface-caption") != caption


def test_rankings_and_curves_lead_where_many_rows_are_open_above(open_page, models, folder):
    time = np.where(np.isfinite(Y_NEW[:, 0]), Y_NEW[:, 0], Y_NEW[:, 1])
    y = from_events(time, np.arange(len(time)) % 3 > 0)
    rows = X_NEW.set_axis(models["forest"].feature_names_in_, axis=1)
    write_report(models["forest"], rows, y, folder / "open.html")
    page = open_page("open")
    keep_picture(page, "open")
    tiles = page.locator("#scores li").all_inner_texts()
    names = [tile.splitlines()[0] for tile in tiles]
    assert names[:4] == ["Concordance index", "CRPS", "IPCW Brier score", "D2"]
    concordance = interval_concordance_index(y, models["forest"].predict(rows))
    assert f"{concordance:.4g}" in tiles[0]


def test_any_tree_of_a_forest_can_be_chosen(open_page, models):
    page = open_page("forest")
    assert page.locator("#curve path.line").count() == 1
    for number in (4, 0):
        page.select_option("#tree-number", str(number))
        tree = models["forest"].estimators_[number]
        assert f"Training rows\n{tree.tree_.n_node_samples[0]}" in page.inner_text("#details")
        page.fill("#row-number", "3")
        assert ids(page, ".node.on-path") == path_of(tree, 3)
        page.fill("#row-number", "")
    assert page.locator("#tree-number option").count() == 6
    keep_picture(page, "forest", full_page=True)


def test_a_search_over_stages_shows_both_curves_a_surface_and_the_grid(open_page, folder):
    grid = {"n_estimators": [1, 2, 4, 8, 16], "margin": [0.0, 0.5, 1.0], "max_depth": [1, 2]}
    boosting = MaxMarginIntervalBoosting(learning_rate=0.3)
    search = GridSearchCV(boosting, grid, scoring=get_scorer("interval_d2"), cv=2).fit(X, Y)
    write_report(search, X_NEW, Y_NEW, folder / "stages.html")
    page = open_page("stages")
    assert page.locator("#curve svg").count() == 2
    assert page.locator("#curve svg").nth(1).get_attribute("aria-label") == "score by n estimators"
    assert "score by margin and stages, bright is better" in page.inner_text("#tuning")
    assert page.locator("#surfaces svg").count() == 1
    assert page.locator("#surfaces rect.chosen").count() == 1
    caption = page.inner_text("#surface-caption")
    assert caption.startswith(
        f"margin {search.best_params_['margin']:g}, stages {search.best_params_['n_estimators']}:"
    )
    assert f"{search.best_score_:.4g}" in caption
    chosen = page.locator("#candidates tr.chosen td").all_inner_texts()
    assert chosen[:-1] == [
        f"{search.best_params_[name]:g}" for name in ("margin", "max_depth", "n_estimators")
    ]
    assert page.locator("#candidates tbody tr").count() == 6
    keep_picture(page, "stages", full_page=True)


@pytest.mark.parametrize("name", ["tree", "forest"])
def test_a_phone_needs_no_sideways_scrolling(open_page, name):
    page = open_page(name, width=360, height=740, has_touch=True, is_mobile=True)
    page.fill("#row-number", "3")
    page.locator("[data-node='0'] .toggle").dispatch_event("click")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("innerWidth") == 360
    keep_picture(page, f"{name}-phone", full_page=True)


@pytest.mark.parametrize("unit", [1e5, 1e100])
@pytest.mark.parametrize(
    "model",
    [
        IntervalSearchCV(MaxMarginIntervalTree(), {"margin": 3}, cv=3),
        MaxMarginIntervalForest(2, random_state=0),
    ],
)
def test_numbers_beside_a_chart_are_not_cut_off(open_page, folder, model, unit):
    write_report(model.fit(X, -unit * np.abs(Y[:, 0].clip(-9, 9))), X, Y, folder / "large.html")
    page = open_page("large", width=360)
    cut = """labels => labels.filter(label => {
        const [text, chart] = [label, label.ownerSVGElement].map(part => part.getBoundingClientRect());
        return text.left < chart.left || text.right > chart.right;
    }).map(label => label.textContent)"""
    assert (
        page.locator(
            "#predictions .axis text, #curve .axis text, #surfaces .axis text"
        ).evaluate_all(cut)
        == []
    )


def test_dark_and_light_have_colours_of_their_own_and_paper_is_light(open_page):
    colours = {}
    for scheme in ("light", "dark"):
        page = open_page("tree", color_scheme=scheme)
        colours[scheme] = page.evaluate("getComputedStyle(document.body).backgroundColor")
        keep_picture(page, scheme, full_page=True)
    assert colours["light"] != colours["dark"]
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator(".toolbar").is_visible()


def test_printing_shows_all_that_is_open_and_leaves_the_view_as_it_was(open_page):
    page = open_page("tree")
    before = page.get_attribute("#tree-view > g", "transform")
    page.evaluate(
        "addEventListener('beforeprint', () => (window.box = document.querySelector('#tree-view').outerHTML))"
    )
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.pdf(path=PICTURES / "print.pdf", format="A4")
    assert "viewBox=" in page.evaluate("box.trim().split('>')[0]")
    assert page.get_attribute("#tree-view", "viewBox") is None
    assert page.get_attribute("#tree-view > g", "transform") == before


def plant(parents, thresholds):
    """A tree on one feature: the k-th pair of nodes after the root are the children of the k-th parent."""
    nodes = np.zeros(2 * len(parents) + 1, NODE_DTYPE)
    nodes["feature"], nodes["children_left"], nodes["children_right"] = NO_FEATURE, LEAF, LEAF
    nodes["value"] = nodes["value_low"] = nodes["value_high"] = np.arange(len(nodes))
    nodes["feature"][parents], nodes["threshold"][parents] = 0, thresholds
    nodes["children_left"][parents] = 2 * np.arange(len(parents)) + 1
    nodes["children_right"][parents] = nodes["children_left"][parents] + 1
    tree = MaxMarginIntervalTree()
    tree.n_features_in_, tree.tree_ = 1, IntervalTree(nodes, np.array([False]))
    return tree


def test_a_huge_tree_opens_at_once_and_draws_a_part(open_page, folder):
    X, splits = np.linspace(0, 1, 5000).reshape(-1, 1), np.arange(2**13 - 1)
    huge = plant(splits, np.random.RandomState(0).permutation(len(splits)) / len(splits))
    write_report(huge, X, np.zeros(5000), folder / "huge.html")
    page = open_page("huge")
    assert page.locator(".node").count() == 15
    page.click("#expand")
    assert 700 < page.locator(".node").count() <= 800
    assert "the most at once" in page.inner_text("#tree-status")
    page.fill("#row-number", "4999")
    assert ids(page, ".node.on-path") == sorted(huge.decision_path(X[[4999]]).indices.tolist())
    page.fill("#row-number", "1")
    assert "Row 1 is not on this page" in page.inner_text("#tree-status")
    page.fill("#feature-search", "x[0]")
    assert "8,191 splits found" in page.inner_text("#tree-status")


def test_a_deep_tree_is_followed_to_its_last_leaf(open_page, folder):
    X = np.arange(71.0).reshape(-1, 1)
    deep = plant(2 * np.arange(70), np.arange(70.0))
    assert deep.get_depth() == 70
    write_report(deep, X, X.ravel(), folder / "deep.html")
    page = open_page("deep")
    page.fill("#row-number", "70")
    assert ids(page, ".node.on-path") == list(range(0, 141, 2))
    assert page.locator("[data-node='140'] .card").is_visible()
    assert page.locator(".rule li").all_inner_texts() == ["x[0] > 69"]


def test_a_split_that_parts_missing_values_from_all_others_is_put_in_words(open_page, folder):
    X, y = np.array([[0.0], [1.0], [2.0], [np.nan], [np.nan]]), [2.0, 3.0, 7.0, 20.0, 20.0]
    tree = MaxMarginIntervalTree().fit(X, y)
    assert np.isinf(tree.tree_.threshold[0])
    write_report(tree, X, y, folder / "parted.html")
    page = open_page("parted")
    assert "x[0] is present" in page.inner_text("#details")
    assert page.text_content("[data-node='0']").count("is present") == 1
    assert "∞" not in page.inner_text("#tree")
    assert page.locator("#tree-view text").all_text_contents()[:2] == ["yes", "no"]
    for row, step, rule in [
        (4, "x[0] = missing", "x[0] is missing"),
        (2, "x[0] = 2, present", "x[0] > 1.5"),
    ]:
        page.fill("#row-number", str(row))
        assert page.locator("#sample-path li").all_inner_texts()[0] == step
        leaf = int(tree.apply(X)[row])
        page.locator(f"[data-node='{leaf}'] .card").click()
        assert page.locator(".rule li").all_inner_texts() == [rule]


def test_categories_are_shown_by_their_labels_and_counted(open_page, folder):
    X = pd.DataFrame(
        {"tgrade": pd.Categorical(["I", "I", "II", "II", "III", "III", "III", "III", "III"])}
    )
    y = [1.0, 1, 1, 1, 9, 9, 9, 9, 9]
    write_report(MaxMarginIntervalTree().fit(X, y), X, y, folder / "grades.html")
    page = open_page("grades")
    assert "tgrade in {I, II}" in page.inner_text("#details")
    assert page.locator("#data tbody td").all_text_contents() == [
        "tgrade",
        "3 categories",
        "",
        "0",
        "",
    ]


def test_ranges_are_drawn_and_rows_are_called_by_their_names(open_page):
    page = open_page("ranges")
    assert page.locator("#prediction-chart .range").bounding_box()["height"] > 50
    assert "meets the interval with a confidence of 90.0%" in page.locator("#ranges").text_content()
    page.locator("#prediction-chart").focus()
    page.keyboard.press("Home")
    assert re.match(
        r"Row (\d+) \(<b>\1</b>\): predicted \S+, range \[",
        page.locator("#prediction-caption").text_content(),
    )
    assert page.locator("#worst button, #worst td").first.text_content().endswith("</b>)")
    assert open_page("small").locator("#range-key").is_hidden()
