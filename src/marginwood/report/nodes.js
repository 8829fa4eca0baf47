"use strict";
// Node tables as columns, and the ways through them.

const sawMissing = new Set(report.saw_missing);

function readTree(raw) {
  const tree = {
    id: raw.id,
    left: raw.left,
    right: raw.right,
    feature: raw.feature,
    samples: raw.samples,
    missingLeft: raw.missing_left,
    threshold: numbers(raw.threshold),
    codes: raw.codes ?? [],
    value: numbers(raw.value),
    low: numbers(raw.low),
    high: numbers(raw.high),
    cost: numbers(raw.cost),
    parent: new Int32Array(raw.id.length).fill(-1),
    depth: new Int32Array(raw.id.length),
    leaves: new Int32Array(raw.id.length),
  };
  const size = raw.id.length;
  for (let node = 0; node < size; node++) {
    if (tree.left[node] < 0) continue;
    for (const child of [tree.left[node], tree.right[node]]) {
      tree.parent[child] = node;
      tree.depth[child] = tree.depth[node] + 1;
    }
  }
  for (let node = size - 1; node >= 0; node--) {
    if (tree.left[node] < 0) tree.leaves[node] = 1;
    if (node > 0) tree.leaves[tree.parent[node]] += tree.leaves[node];
  }
  return tree;
}

function goesLeft(tree, node, place) {
  const value = rows.values.get(tree.feature[node])[place];
  if (Number.isNaN(value)) return tree.missingLeft[node] === 1;
  return tree.codes[node] ? tree.codes[node].includes(value) : value <= tree.threshold[node];
}

// Whether a split parts only missing values from all others: numbers go left, categories right.
function partsMissing(tree, split) {
  if (tree.codes[split]) return tree.codes[split].length === 0;
  return tree.threshold[split] === Infinity && tree.missingLeft[split] === 0;
}

function showLabels(feature, codes) {
  const labels = codes.slice(0, 12).map((code) => report.categories[feature][code]);
  return `{${labels.join(", ")}${codes.length > 12 ? `, … ${codes.length - 12} more` : ""}}`;
}

// A value of a feature: a number, or the label of a category.
function showValue(feature, value) {
  const labels = report.categories?.[feature];
  return labels && !Number.isNaN(value) ? String(labels[value]) : format(value);
}

// What a split asks of its feature; who says yes goes left.
function questionOf(tree, split) {
  const codes = tree.codes[split];
  if (partsMissing(tree, split)) return codes ? "is missing" : "is present";
  return codes ? `in ${showLabels(tree.feature[split], codes)}` : `≤ ${format(tree.threshold[split])}`;
}

function pathOf(tree, place) {
  const path = [0];
  for (let node = 0; tree.left[node] >= 0; path.push(node)) {
    node = goesLeft(tree, node, place) ? tree.left[node] : tree.right[node];
  }
  return path;
}

function ancestors(tree, node) {
  const path = [];
  for (let at = node; at >= 0; at = tree.parent[at]) path.unshift(at);
  return path;
}

// The conditions on the way to a node, one per feature.
function ruleOf(tree, node) {
  const bounds = new Map();
  const path = ancestors(tree, node);
  path.slice(0, -1).forEach((split, step) => {
    const feature = tree.feature[split],
      isLeft = path[step + 1] === tree.left[split];
    const labels = report.categories?.[feature];
    const bound = bounds.get(feature) ?? { upTo: Infinity, missing: true, codes: labels && labels.map((_, code) => code) };
    if (labels) bound.codes = bound.codes.filter((code) => tree.codes[split].includes(code) === isLeft);
    else if (isLeft) bound.upTo = Math.min(bound.upTo, tree.threshold[split]);
    else bound.above = Math.max(bound.above ?? -Infinity, tree.threshold[split]);
    bound.missing &&= isLeft === (tree.missingLeft[split] === 1);
    bounds.set(feature, bound);
  });
  return Array.from(bounds, ([feature, { above, upTo, missing, codes }]) => {
    const name = report.features[feature];
    const orMissing = missing && sawMissing.has(feature) ? " or missing" : "";
    if (codes) return codes.length ? `${name} in ${showLabels(feature, codes)}${orMissing}` : `${name} is missing`;
    if (missing && above >= upTo) return `${name} is missing`;
    if (!missing && above === undefined && upTo === Infinity) return `${name} is present`;
    const most = `${name} ≤ ${format(upTo)}`;
    const range =
      above === undefined ? most : upTo === Infinity ? `${name} > ${format(above)}` : `${format(above)} < ${most}`;
    return range + orMissing;
  });
}
