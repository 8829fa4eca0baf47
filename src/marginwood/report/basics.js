"use strict";
// Content, numbers and text. Whatever comes from the data goes through `element` or `textContent`: it is never markup.

const report = JSON.parse(document.getElementById("content").textContent);
const byId = (id) => document.getElementById(id);
const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");

// JSON has no NaN and no infinities: they come as words.
const numbers = (column) => Float64Array.from(column, Number);

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function format(value) {
  if (Number.isNaN(value)) return "missing";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  return d3.format(size >= 1000 && size < 1e6 ? ",.1~f" : ".4~g")(value);
}

const percent = d3.format(".1%");
const count = d3.format(",");
const plural = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;

// `closed` says which ends belong to the interval: "left", "right", "both" or "neither".
function formatInterval(low, high, closed = "both") {
  if (low === high) return `exactly ${format(low)}`;
  const start = Number.isFinite(low) && ["left", "both"].includes(closed) ? "[" : "(";
  const end = Number.isFinite(high) && ["right", "both"].includes(closed) ? "]" : ")";
  return `${start}${format(low)}, ${format(high)}${end}`;
}

// A name that fits: its start and its end say more than its start alone.
function shorten(text, length) {
  const letters = Array.from(text);
  if (letters.length <= length) return text;
  const head = Math.ceil((length - 1) * 0.6);
  return `${letters.slice(0, head).join("")}…${letters.slice(letters.length - (length - 1 - head)).join("")}`;
}

function table(heads, rows, chosen = -1) {
  const cell = (tag, content, place) => element(tag, place === 0 ? {} : { class: "number" }, content);
  return element(
    "table",
    {},
    element("thead", {}, element("tr", {}, ...heads.map((head, place) => cell("th", head, place)))),
    element(
      "tbody",
      {},
      ...rows.map((row, place) =>
        element(
          "tr",
          place === chosen ? { class: "chosen" } : {},
          ...row.map((value, column) => cell("td", value, column)),
        ),
      ),
    ),
  );
}

function facts(list, pairs) {
  list.replaceChildren(...pairs.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
}

// The rows that the page holds, as columns; `place` is where a row of the data stands in them.
const rows = {
  row: report.rows.row,
  lower: numbers(report.rows.lower),
  upper: numbers(report.rows.upper),
  closed: report.rows.closed,
  prediction: numbers(report.rows.prediction),
  error: numbers(report.rows.error),
  rangeLower: report.ranges ? numbers(report.ranges.lower) : null,
  rangeUpper: report.ranges ? numbers(report.ranges.upper) : null,
  place: new Map(report.rows.row.map((row, place) => [row, place])),
  values: new Map(Object.entries(report.rows.values).map(([feature, column]) => [Number(feature), numbers(column)])),
};

// The number of a row, and what it is called if rows have names.
function nameRow(place) {
  const name = report.rows.name[place];
  return name ? `${rows.row[place]} (${name})` : String(rows.row[place]);
}

function describeRow(place) {
  const error = rows.error[place];
  const outcome = error === 0 ? "inside" : `outside by ${format(error)}`;
  const range = rows.rangeLower ? `, range ${formatInterval(rows.rangeLower[place], rows.rangeUpper[place])}` : "";
  const predicted = report.outcome === "prediction" ? "predicted" : report.outcome;
  return (
    `Row ${nameRow(place)}: ${predicted} ${format(rows.prediction[place])}${range}, interval ` +
    `${formatInterval(rows.lower[place], rows.upper[place], rows.closed[place])}, ${outcome}.`
  );
}

// The axis of the target is logarithmic for a model of the logarithm; there 0 lies as far off as an open end.
const isShown = (end) => Number.isFinite(end) && (!report.target.is_log || end > 0);
const targetScale = (domain, range) => (report.target.is_log ? d3.scaleLog : d3.scaleLinear)(domain, range);

// Where an end lies; one that is not on the axis lies at its edge.
function placeOf(scale, end) {
  const [start, stop] = scale.range();
  if (!isShown(end)) return end > 0 ? stop : start;
  return Math.max(Math.min(start, stop), Math.min(Math.max(start, stop), scale(end)));
}

// Room above and below the limits that are shown, so that open ends have somewhere to go.
function targetDomain(places, others = []) {
  const values = [...others];
  for (const place of places) values.push(rows.lower[place], rows.upper[place]);
  const [low, high] = d3.extent(values.filter(isShown));
  if (low === undefined) return report.target.is_log ? [1, 10] : [-1, 1];
  if (report.target.is_log) {
    const factor = (high / low) ** 0.06;
    return factor > 1 ? [low / factor, high * factor] : [low / 2, high * 2];
  }
  const room = (high - low) * 0.06 || Math.abs(low) * 0.1 || 1;
  return [low - room, high + room];
}
