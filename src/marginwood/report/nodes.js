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
  return Number.isNaN(value) ? tree.missingLeft[node] === 1 : value <= tree.threshold[node];
}

// Whether a split sends every number to the left and only missing values to the right.
function partsMissing(tree, split) {
  return tree.threshold[split] === Infinity && tree.missingLeft[split] === 0;
}

// What a split asks of its feature; who says yes goes left.
function questionOf(tree, split) {
  return partsMissing(tree, split) ? "is present" : `≤ ${format(tree.threshold[split])}`;
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
    const bound = bounds.get(feature) ?? { upTo: Infinity, missing: true };
    if (isLeft) bound.upTo = Math.min(bound.upTo, tree.threshold[split]);
    else bound.above = Math.max(bound.above ?? -Infinity, tree.threshold[split]);
    bound.missing &&= isLeft === (tree.missingLeft[split] === 1);
    bounds.set(feature, bound);
  });
  return Array.from(bounds, ([feature, { above, upTo, missing }]) => {
    const name = report.features[feature];
    if (missing && above >= upTo) return `${name} is missing`;
    if (!missing && above === undefined && upTo === Infinity) return `${name} is present`;
    const most = `${name} ≤ ${format(upTo)}`;
    const range =
      above === undefined ? most : upTo === Infinity ? `${name} > ${format(above)}` : `${format(above)} < ${most}`;
    return range + (missing && sawMissing.has(feature) ? " or missing" : "");
  });
}
