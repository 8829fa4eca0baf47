"use strict";
// Fills the page and connects its parts.

const KINDS = {
  uncensored: "un-censored",
  left: "left",
  right: "right",
  interval: "interval",
  uninformative: "uninformative",
};

function fillHeader() {
  byId("report-title").textContent = report.title ? ` · ${report.title}` : "";
  document.title = [report.model, report.title, "marginwood report"].filter(Boolean).join(" · ");
  byId("model-name").textContent = report.model;
  const trees = report.n_trees > 1 ? `${count(report.n_trees)} trees · ` : "";
  byId("model-summary").textContent =
    `${trees}${plural(report.n_rows, "row")} · ${plural(report.features.length, "feature")}`;
  const { d2, mse, mae, inside } = report.scores;
  const tile = (name, value, note) =>
    element("li", {}, element("span", {}, name), element("b", {}, value), element("small", {}, note));
  // Where many rows are open above, distances to intervals say little.
  const leading = report.has_many_open ? ["concordance index", "CRPS", "IPCW Brier score"] : [];
  byId("scores").replaceChildren(
    ...report.more_scores.scores
      .filter((score) => leading.includes(score.name) && score.model !== "")
      .map(({ name, model, constant }) =>
        tile(name[0].toUpperCase() + name.slice(1), format(model), `constant ${format(constant)}`),
      ),
    tile("D2", format(Math.abs(d2) < 1e-12 ? 0 : d2), "1 is best, 0 the best constant"),
    tile("Interval MSE", format(mse[0]), `best constant ${format(mse[1])}`),
    tile("Mean distance", format(mae[0]), `best constant ${format(mae[1])}`),
    tile("Inside the interval", percent(inside[0]), `best constant ${percent(inside[1])}`),
  );
  byId("warnings").hidden = report.warnings.length === 0;
  byId("warnings")
    .querySelector("ul")
    .replaceChildren(...report.warnings.map((text) => element("li", {}, text)));
  document.querySelector("footer").textContent =
    `Made by marginwood ${report.version}. This file is complete: it loads nothing.`;
}

function fillTree() {
  if (!report.trees.length) return { follow: null };
  byId("tree").hidden = false;
  const view = new TreeView();
  const choice = byId("tree-number"),
    search = byId("feature-search"),
    row = byId("row-number");
  if (report.trees.length > 1) {
    byId("tree").querySelector("h2").textContent = report.adds_up ? "Stages" : "Trees";
    byId("tree-choice").hidden = false;
    choice.replaceChildren(
      ...report.trees.map((tree, place) => element("option", { value: place }, `${place + 1} of ${report.n_trees}`)),
    );
  }
  const splitOn = Array.from(rows.values.keys()).slice(0, 500);
  byId("feature-names").replaceChildren(
    ...splitOn.map((feature) => element("option", { value: report.features[feature] })),
  );
  row.max = report.n_rows - 1;
  row.placeholder = `0 to ${report.n_rows - 1}`;
  const followRow = () => {
    const place = rows.place.get(Number(row.value));
    const isEmpty = row.value === "";
    view.follow(isEmpty || place === undefined ? null : place);
    if (place !== undefined && !isEmpty) survival.show(place);
    if (isEmpty) setStatus("");
    else if (place !== undefined) setStatus(describeRow(place));
    else if (Number(row.value) >= 0 && Number(row.value) < report.n_rows && Number.isInteger(Number(row.value))) {
      setStatus(
        `Row ${row.value} is not on this page, which holds ${count(rows.row.length)} of ${count(report.n_rows)} rows; the nearest are ${nearestRows(Number(row.value))}.`,
      );
    } else setStatus(`There is no row ${row.value}; rows are counted from 0 to ${report.n_rows - 1}.`);
  };
  choice.onchange = () => {
    view.show(Number(choice.value));
    if (search.value) view.search(search.value);
    if (row.value !== "") followRow();
  };
  search.oninput = () => view.search(search.value);
  search.onkeydown = (event) => {
    if (event.key === "Enter") view.nextMatch();
  };
  row.oninput = followRow;
  byId("expand").onclick = () => view.setAll(true);
  byId("collapse").onclick = () => view.setAll(false);
  byId("zoom-in").onclick = () => view.zoomBy(1.3);
  byId("zoom-out").onclick = () => view.zoomBy(1 / 1.3);
  byId("zoom-fit").onclick = () => view.fit(0.02);
  // On paper the whole of what is open stands in the width of the page.
  addEventListener("beforeprint", () => {
    const box = view.bounds();
    view.svg.attr("viewBox", `${box.x} ${box.y} ${box.width} ${box.height}`);
    view.canvas.attr("transform", null);
  });
  addEventListener("afterprint", () => {
    view.svg.attr("viewBox", null);
    view.canvas.attr("transform", d3.zoomTransform(view.svg.node()));
  });
  view.show(0);
  const find = (name) => {
    search.value = name;
    view.search(name);
    byId("tree").scrollIntoView({ behavior: reducedMotion.matches ? "auto" : "smooth" });
  };
  const follow = (place) => {
    row.value = rows.row[place];
    followRow();
    byId("tree").scrollIntoView({ behavior: reducedMotion.matches ? "auto" : "smooth" });
  };
  return { view, find, follow };
}

function nearestRows(row) {
  const after = d3.bisectLeft(rows.row, row);
  return [rows.row[after - 1], rows.row[after]].filter((near) => near !== undefined).join(" and ");
}

const outcomeTitle = report.outcome[0].toUpperCase() + report.outcome.slice(1);

function nameOutcome() {
  const section = byId("predictions");
  if (report.outcome !== "prediction") section.querySelector("h2").textContent = `${outcomeTitle} against intervals`;
  section.querySelector(".key.inside").textContent = `${report.outcome} inside its interval`;
  section.querySelector(".key.dot").textContent = report.outcome;
}

function fillPredictions(follow) {
  const svg = byId("prediction-chart"),
    caption = byId("prediction-caption"),
    filter = byId("only-outside");
  const all = d3.sort(
    d3.range(rows.row.length),
    (place) => rows.prediction[place],
    (place) => rows.row[place],
  );
  let places = all;
  let cursor = null;
  let chart;
  const held =
    rows.row.length < report.n_rows
      ? `${count(rows.row.length)} of ${count(report.n_rows)} rows are on this page. `
      : "";
  const hint = `${held}Point at a row, or use the arrow keys${follow ? "; click or Enter follows it through the tree" : ""}.`;
  const move = (rank) => {
    cursor = rank === null || !places.length ? null : Math.max(0, Math.min(places.length - 1, rank));
    chart.mark(cursor);
    caption.textContent = cursor === null ? hint : describeRow(places[cursor]);
    if (cursor !== null) survival.show(places[cursor]);
    svg.setAttribute("aria-valuenow", cursor ?? 0);
    svg.setAttribute("aria-valuetext", caption.textContent);
  };
  const draw = () => {
    chart = drawPredictions(places);
    svg.setAttribute("aria-valuemin", 0);
    svg.setAttribute("aria-valuemax", Math.max(places.length - 1, 0));
    move(cursor);
  };
  svg.onpointermove = (event) => move(chart.rankAt(d3.pointer(event, svg)[0]));
  svg.onpointerleave = () => move(null);
  svg.onclick = (event) => {
    move(chart.rankAt(d3.pointer(event, svg)[0]));
    if (follow && cursor !== null) follow(places[cursor]);
  };
  svg.onkeydown = (event) => {
    const at = cursor ?? -1;
    const next = {
      ArrowRight: at + 1,
      ArrowUp: at + 1,
      ArrowLeft: at - 1,
      ArrowDown: at - 1,
      PageUp: at + 20,
      PageDown: at - 20,
      Home: 0,
      End: places.length - 1,
    }[event.key];
    if (next !== undefined) move(next);
    else if (event.key === "Enter" && follow && cursor !== null) follow(places[cursor]);
    else return;
    event.preventDefault();
  };
  filter.onchange = () => {
    places = filter.checked ? all.filter((place) => rows.error[place] > 0) : all;
    cursor = null;
    draw();
  };
  fillWorst(follow);
  return draw;
}

function fillWorst(follow) {
  const worst = report.rows.worst.map((row) => rows.place.get(row));
  if (!worst.length) return;
  const link = (place) => {
    if (!follow) return nameRow(place);
    const button = element(
      "button",
      { type: "button", class: "link", "aria-label": `Follow row ${rows.row[place]} through the tree` },
      nameRow(place),
    );
    button.onclick = () => follow(place);
    return button;
  };
  const lines = worst.map((place) => [
    link(place),
    formatInterval(rows.lower[place], rows.upper[place], rows.closed[place]),
    format(rows.prediction[place]),
    format(rows.error[place]),
  ]);
  byId("worst").append(
    element("h3", {}, "Largest errors"),
    element("div", { class: "scroll" }, table(["Row", "Interval", outcomeTitle, "Distance"], lines)),
  );
}

function fillImportances(find) {
  const section = byId("importances"),
    most = 25,
    found = report.importances;
  if (!found) return;
  section.hidden = false;
  section.querySelector("h2").textContent = found.name === "weights" ? "Weights" : "Importances";
  const values = found.value.map(Number),
    largest = d3.max(values, Math.abs);
  const lines = found.feature.slice(0, most).map((feature, place) => {
    const name = report.features[feature];
    const label = find
      ? element("button", { type: "button", class: "link", title: name }, name)
      : element("span", { title: name }, name);
    if (find) label.onclick = () => find(name);
    const bar = element("span", { class: "bar" }, element("i"));
    bar.firstChild.style.width = `${(100 * Math.abs(values[place])) / largest}%`;
    return element(
      "li",
      {},
      label,
      bar,
      element("span", { class: "number" }, found.name === "weights" ? format(values[place]) : percent(values[place])),
    );
  });
  section.querySelector("ol").replaceChildren(...lines);
  const nOthers = report.features.length - values.length,
    hidden = Math.max(values.length - most, 0);
  const kind =
    found.name === "weights"
      ? "The factor of each feature, in units of the target per unit of the feature."
      : "Share of the decrease of the cost by the splits on each feature.";
  section.querySelector("p").textContent =
    kind +
    (hidden ? ` ${plural(hidden, "smaller one")} left out.` : "") +
    (nOthers ? ` ${plural(nOthers, "feature")} at 0.` : "");
}

const PROMISES = {
  contains: "contains the interval",
  meets: "meets the interval",
  lower: "bounds the interval from below",
  upper: "bounds the interval from above",
};

function fillRanges() {
  if (!report.ranges) return;
  const { level, mode, contain_rate: contained, meet_rate: met } = report.ranges;
  byId("range-key").hidden = false;
  byId("ranges").hidden = false;
  byId("ranges").textContent =
    `The range of a row ${PROMISES[mode]} with a confidence of ${percent(level)}. Of these rows, ranges contain ` +
    `${percent(contained)} of the intervals and meet ${percent(met)}.`;
}

function fillErrors() {
  const lines = report.kinds.map((kind) => [
    KINDS[kind.kind],
    count(kind.rows),
    format(kind.mse),
    format(kind.mae),
    percent(kind.inside),
  ]);
  const { mse, mae, inside } = report.scores;
  lines.push(["all", count(report.n_rows), format(mse[0]), format(mae[0]), percent(inside[0])]);
  byId("errors")
    .querySelector(".scroll")
    .append(table(["Censoring", "Rows", "MSE", "Distance", "Inside"], lines));
}

function fillCurves() {
  byId("curve").hidden = report.curves.length === 0;
  const redraws = report.curves.map((curve) => {
    const legend = curve.lines.map((line, place) => {
      const isEnd = Number(line.x.at(-1)) === Number(curve.chosen);
      const last = isEnd ? `, ${format(Number(line.y.at(-1)))} at the end` : "";
      return element("span", { class: `key line-${place}` }, line.name + last);
    });
    const label = `${curve.y} by ${curve.x.replaceAll("_", " ")}`;
    const svg = d3.create("svg:svg").attr("role", "img").attr("aria-label", label).node();
    byId("curve").append(element("p", { class: "legend" }, ...legend), svg);
    return () => drawCurve(svg, curve);
  });
  return () => redraws.forEach((draw) => draw());
}

const LEVELS = { ccp_alpha: "ccp_alpha", n_estimators: "stages" };

function fillTuning() {
  const { surface, candidates } = report,
    found = surface ?? candidates;
  if (!found) return () => {};
  byId("tuning").hidden = false;
  const name = found.scoring,
    over = found.folds > 1 ? `Cross-validation over ${plural(found.folds, "fold")}: ` : "";
  const sentences = [];
  if (candidates) {
    const lines = candidates.rows.map((row, place) => [...row, format(Number(candidates.errors[place]))]);
    byId("candidates").append(table([...candidates.names, name], lines, 0));
    const more = candidates.n_more ? `, ${count(candidates.n_more)} more left out` : "";
    sentences.push(`The table has the best of each combination${more}; its first line was chosen.`);
  }
  if (!surface) {
    byId("tuning").querySelector("p").textContent = [`${over}${name}.`, ...sentences].join(" ");
    return () => {};
  }
  const level = LEVELS[surface.level] ?? surface.level.replaceAll("_", " ");
  sentences.unshift(
    `${over}${name} by margin and ${level}, ${surface.is_error ? "dark" : "bright"} is better. The ringed cell was chosen.`,
  );
  byId("tuning").querySelector("p").textContent = sentences.join(" ");
  const colors = surfaceColors(surface),
    caption = byId("surface-caption");
  const show = (cell) => {
    const leaves = cell.leaves === undefined ? "" : `, ${plural(cell.leaves, "leaf").replace("leafs", "leaves")}`;
    const loss = cell.loss ? `${cell.loss.replaceAll("_", " ")}, ` : "";
    const outcome = Number.isFinite(cell.error) ? `${name} ${format(cell.error)} ± ${format(cell.std)}` : "not tried";
    const where = Number.isNaN(cell.level) ? "" : `, ${level} ${format(cell.level)}`;
    caption.textContent = `${loss}margin ${format(cell.margin)}${where}${leaves}: ${outcome}`;
  };
  const parts = surface.losses.map((part) => {
    const title = part.loss.replaceAll("_", " ");
    const svg = d3
      .create("svg:svg")
      .attr("tabindex", 0)
      .attr("role", "img")
      .attr("aria-label", `${title}: ${name} by margin and ${level}; arrow keys read the cells`)
      .node();
    byId("surfaces").append(element("figure", {}, element("figcaption", {}, title), svg));
    return { part, svg, chosen: part.loss === surface.chosen.loss ? surface.chosen : null };
  });
  const axis = surface.level === "ccp_alpha" ? "ccp_alpha: more pruning →" : `${level} →`;
  return () => {
    for (const { part, svg, chosen } of parts) {
      const best = drawSurface(svg, part, chosen, colors, axis, show);
      if (best) show(best);
    }
  };
}

function fillData() {
  const { target, feature_table: features } = report,
    section = byId("data");
  const kinds = report.kinds.map((kind) => `${count(kind.rows)} ${KINDS[kind.kind]}`).join(", ");
  facts(section.querySelector("dl"), [
    ["Rows", count(report.n_rows)],
    ["Features", count(report.features.length)],
    ["Censoring", kinds],
    ...(target.low === null ? [] : [["Limits", `${format(Number(target.low))} to ${format(Number(target.high))}`]]),
    ...(target.width === null ? [] : [["Median width", `${format(Number(target.width))} of intervals with two ends`]]),
  ]);
  const lines = features.feature.map((feature, place) => {
    const low = Number(features.low[place]),
      high = Number(features.high[place]);
    const range = low <= high ? [format(low), format(high)] : ["none", "none"];
    const name = report.features[feature],
      missing = count(features.missing[place]),
      labels = features.categories[place];
    if (labels) return [name, `${count(labels)} ${labels === 1 ? "category" : "categories"}`, "", missing, ""];
    return [name, ...range, missing, count(features.infinite[place])];
  });
  section.querySelector(".scroll").append(table(["Feature", "Least", "Greatest", "Missing", "Infinite"], lines));
  const nLeft = report.features.length - lines.length;
  section.querySelector("p").textContent = nLeft ? `${plural(nLeft, "feature")} of less importance left out.` : "";
  facts(byId("parameters").querySelector("dl"), Object.entries(report.parameters));
}

fillHeader();
nameOutcome();
const survival = fillSurvival();
const tree = fillTree();
const redraws = [fillPredictions(tree.follow), survival.draw, fillCurves(), fillTuning()];
fillImportances(tree.find);
fillRanges();
fillErrors();
fillMoreScores();
fillData();
const redraw = () => redraws.forEach((draw) => draw());
redraw();
let waiting = 0;
addEventListener("resize", () => {
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(redraw);
});
