"use strict";
// The interactive tree. Only nodes whose ancestors are all open are drawn, so that huge trees stay light.

const CARD = { width: 172, height: 46, across: 260, down: 58 };
const MAX_DRAWN = 800; // nodes that "Expand all" and a search open at most
const OPEN_DEPTH = 3;

class TreeView {
  constructor() {
    this.svg = d3.select("#tree-view");
    this.canvas = this.svg.append("g");
    this.links = this.canvas.append("g").attr("class", "links");
    this.nodes = this.canvas.append("g").attr("class", "nodes");
    this.zoom = d3
      .zoom()
      .scaleExtent([0.02, 3])
      .filter((event) => (event.type === "wheel" ? event.ctrlKey || event.metaKey || this.hasFocus() : !event.button))
      .on("zoom", (event) => this.canvas.attr("transform", event.transform));
    this.svg.call(this.zoom).on("dblclick.zoom", null);
    this.svg.on("keydown", (event) => this.onKey(event));
    this.svg.on("pointerdown.focus", () =>
      this.svg.node().querySelector("[tabindex='0']")?.focus({ preventScroll: true }),
    );
  }

  hasFocus() {
    return this.svg.node().contains(document.activeElement);
  }

  show(number) {
    const tree = (this.tree = readTree(report.trees[number]));
    this.matches = [];
    this.path = [];
    this.followed = null;
    this.selected = 0;
    this.detailsOf = -1;
    const depth = tree.id.length <= 31 ? Infinity : OPEN_DEPTH;
    this.open = new Set(d3.range(tree.id.length).filter((node) => tree.left[node] >= 0 && tree.depth[node] < depth));
    this.rowsIn = null;
    const leaves = tree.value.filter((_, node) => tree.left[node] < 0);
    const colors = report.target.is_log ? d3.scaleSequentialLog : d3.scaleSequential;
    this.color = colors(d3.interpolateViridis).domain(d3.extent(leaves));
    this.draw();
    this.fit(0.75);
    this.describe(0);
  }

  // Which of the page's rows pass each node.
  places(node) {
    if (this.rowsIn === null) {
      this.rowsIn = new Map();
      for (let place = 0; place < rows.row.length; place++) {
        for (const at of pathOf(this.tree, place)) {
          if (!this.rowsIn.has(at)) this.rowsIn.set(at, []);
          this.rowsIn.get(at).push(place);
        }
      }
    }
    return this.rowsIn.get(node) ?? [];
  }

  draw() {
    const { tree } = this;
    const hadFocus = this.hasFocus(); // which cards lose when they are put in order
    const root = d3.hierarchy(0, (node) => (this.open.has(node) ? [tree.left[node], tree.right[node]] : null));
    d3
      .tree()
      .nodeSize([CARD.down, CARD.across])
      .separation((a, b) => (a.parent === b.parent ? 1 : 1.15))(root);
    this.layout = new Map(root.descendants().map((item) => [item.data, item]));
    this.order = []; // from the root down, left before right: the order of reading and of arrow keys
    root.eachBefore((item) => this.order.push(item.data));
    if (!this.layout.has(this.selected))
      this.selected = ancestors(tree, this.selected).findLast((node) => this.layout.has(node));
    const onPath = new Set(this.path),
      found = new Set(this.matches);
    const width = d3.scaleSqrt([0, tree.samples[0] || 1], [1, 9]);
    const link = d3.linkHorizontal();
    const edges = this.links
      .selectAll("g")
      .data(root.links(), (edge) => edge.target.data)
      .join((enter) =>
        enter.append("g").call((g) => {
          g.append("path");
          g.append("text");
        }),
      )
      .attr("class", (edge) => (onPath.has(edge.target.data) ? "on-path" : null));
    edges
      .select("path")
      .attr("stroke-width", (edge) => width(tree.samples[edge.target.data]))
      .attr("d", (edge) =>
        link({ source: [edge.source.y + CARD.width, edge.source.x], target: [edge.target.y, edge.target.x] }),
      );
    edges
      .select("text")
      .attr("x", (edge) => edge.target.y - 6)
      .attr("y", (edge) => edge.target.x + (edge.target.data === tree.left[edge.source.data] ? -8 : 15))
      .attr("text-anchor", "end")
      .text((edge) => {
        const isLeft = edge.target.data === tree.left[edge.source.data],
          split = edge.source.data;
        const takesMissing = sawMissing.has(tree.feature[split]) && isLeft === (tree.missingLeft[split] === 1);
        return (isLeft ? "yes" : "no") + (takesMissing && !partsMissing(tree, split) ? ", missing" : "");
      });
    this.nodes
      .selectAll("g.node")
      .data(root.descendants(), (item) => item.data)
      .join((enter) => this.makeCards(enter))
      .attr("transform", (item) => `translate(${item.y},${item.x})`)
      .attr("aria-expanded", (item) => (tree.left[item.data] < 0 ? null : String(this.open.has(item.data))))
      .attr("data-node", (item) => tree.id[item.data])
      .attr("aria-level", (item) => tree.depth[item.data] + 1)
      .attr("aria-setsize", (item) => (item.data === 0 ? 1 : 2))
      .attr("aria-posinset", (item) => (item.data === 0 || item.data === tree.left[tree.parent[item.data]] ? 1 : 2))
      .attr("tabindex", (item) => (item.data === this.selected ? 0 : -1))
      .attr("aria-selected", (item) => String(item.data === this.selected))
      .classed("on-path", (item) => onPath.has(item.data))
      .classed("match", (item) => found.has(item.data))
      .call((cards) => {
        cards.select(".bar").attr("fill", (item) => this.color(tree.value[item.data]));
        cards
          .select(".first")
          .text((item) => this.title(item.data, 17))
          .classed("value", (item) => tree.feature[item.data] < 0);
        cards.select(".second").text((item) => this.subtitle(item.data));
        cards.attr("aria-label", (item) => `${this.title(item.data, Infinity)}, ${this.subtitle(item.data)}`);
        cards
          .select(".toggle text")
          .text((item) =>
            this.open.has(item.data) ? "−" : tree.leaves[item.data] < 1000 ? tree.leaves[item.data] : "+",
          );
        cards.select(".toggle").attr("display", (item) => (tree.left[item.data] < 0 ? "none" : null));
      });
    const rank = new Map(this.order.map((node, place) => [node, place]));
    this.nodes.selectAll("g.node").sort((a, b) => rank.get(a.data) - rank.get(b.data));
    if (hadFocus) this.card(this.selected).focus({ preventScroll: true });
  }

  makeCards(enter) {
    const card = enter.append("g").attr("class", "node").attr("role", "treeitem");
    card
      .append("rect")
      .attr("class", "card")
      .attr("y", -CARD.height / 2)
      .attr("width", CARD.width)
      .attr("height", CARD.height)
      .attr("rx", 7);
    card
      .append("rect")
      .attr("class", "bar")
      .attr("x", 5)
      .attr("y", -CARD.height / 2 + 5)
      .attr("width", 4)
      .attr("height", CARD.height - 10)
      .attr("rx", 2);
    card.append("text").attr("class", "first").attr("x", 17).attr("y", -4);
    card.append("text").attr("class", "second").attr("x", 17).attr("y", 14);
    const toggle = card
      .append("g")
      .attr("class", "toggle")
      .attr("transform", `translate(${CARD.width},0)`)
      .attr("aria-hidden", "true");
    toggle.append("circle").attr("class", "touch").attr("r", 18);
    toggle.append("circle").attr("r", 11);
    toggle.append("text").attr("dy", "0.34em").attr("text-anchor", "middle");
    toggle.on("pointerdown", (event) => event.stopPropagation());
    toggle.on("click", (event, item) => {
      event.stopPropagation();
      this.select(item.data);
      this.toggle(item.data);
    });
    card.on("click", (event, item) => this.select(item.data));
    card.on("pointerenter", (event, item) => event.pointerType === "mouse" && this.describe(item.data));
    card.on("pointerleave", (event) => event.pointerType === "mouse" && this.describe(this.selected));
    card.on("focus", (event, item) => this.select(item.data, false));
    return card;
  }

  title(node, length) {
    const { tree } = this;
    if (tree.feature[node] < 0) return (report.adds_up && tree.value[node] >= 0 ? "+" : "") + format(tree.value[node]);
    return shorten(report.features[tree.feature[node]], length);
  }

  subtitle(node) {
    const { tree } = this;
    const rows = `n ${count(tree.samples[node])}`;
    if (tree.feature[node] < 0) return rows;
    return `${questionOf(tree, node)} · ${rows}${tree.left[node] < 0 ? " · not shown" : ""}`;
  }

  toggle(node) {
    if (this.tree.left[node] < 0) return;
    if (!this.open.delete(node)) this.open.add(node);
    this.draw();
    this.reveal(node);
  }

  select(node, takeFocus = true) {
    this.selected = node;
    this.nodes
      .selectAll("g.node")
      .attr("tabindex", (item) => (item.data === node ? 0 : -1))
      .attr("aria-selected", (item) => String(item.data === node));
    this.describe(node);
    if (takeFocus) this.card(node)?.focus({ preventScroll: true });
  }

  card(node) {
    return this.nodes
      .selectAll("g.node")
      .filter((item) => item.data === node)
      .node();
  }

  openTo(node) {
    for (const at of ancestors(this.tree, node).slice(0, -1)) this.open.add(at);
  }

  setAll(isOpen) {
    const { tree } = this;
    this.open.clear();
    let nDrawn = 1;
    const queue = isOpen ? [0] : [];
    for (let next = 0; next < queue.length && nDrawn + 2 <= MAX_DRAWN; next++) {
      const node = queue[next];
      if (tree.left[node] < 0) continue;
      this.open.add(node);
      nDrawn += 2;
      queue.push(tree.left[node], tree.right[node]);
    }
    this.draw();
    this.fit(0.1);
    this.describe(this.selected);
    const isCut = isOpen && nDrawn < tree.id.length;
    setStatus(
      isCut
        ? `${count(nDrawn)} of ${count(tree.id.length)} nodes are drawn, the most at once; open others one by one.`
        : "",
    );
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { tree, selected, order } = this;
    const place = order.indexOf(selected),
      isOpen = this.open.has(selected);
    const go = (node) => {
      this.select(node);
      this.reveal(node);
    };
    const actions = {
      ArrowDown: () => place + 1 < order.length && go(order[place + 1]),
      ArrowUp: () => place > 0 && go(order[place - 1]),
      ArrowRight: () => tree.left[selected] >= 0 && (isOpen ? go(tree.left[selected]) : this.toggle(selected)),
      ArrowLeft: () => (isOpen ? this.toggle(selected) : selected > 0 && go(tree.parent[selected])),
      Home: () => go(0),
      End: () => go(order.at(-1)),
      Enter: () => this.toggle(selected),
      " ": () => this.toggle(selected),
      "+": () => this.zoomBy(1.3),
      "=": () => this.zoomBy(1.3),
      "-": () => this.zoomBy(1 / 1.3),
      0: () => this.fit(0.02),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  }

  moving() {
    return reducedMotion.matches ? this.svg : this.svg.transition().duration(220);
  }

  zoomBy(factor) {
    this.zoom.scaleBy(this.moving(), factor);
  }

  bounds(nodes = this.layout.keys()) {
    const items = Array.from(nodes, (node) => this.layout.get(node));
    const [top, bottom] = d3.extent(items, (item) => item.x);
    const right = d3.max(items, (item) => item.y) + CARD.width + 28;
    return { x: -24, y: top - CARD.down / 2, width: right + 24, height: bottom - top + CARD.down };
  }

  // Nodes, as large as the view allows, but not smaller than `least`: then the root stands at the left.
  fit(least, nodes = this.layout.keys()) {
    const { width, height } = this.size(),
      box = this.bounds(nodes);
    const scale = Math.max(least, Math.min(1, width / box.width, height / box.height));
    const x = box.width * scale <= width ? (width - box.width * scale) / 2 - box.x * scale : 8 - box.x * scale;
    const y =
      box.height * scale <= height
        ? (height - box.height * scale) / 2 - box.y * scale
        : height / 2 - this.layout.get(0).x * scale;
    this.zoom.transform(this.svg, d3.zoomIdentity.translate(x, y).scale(scale));
  }

  size() {
    return { width: this.svg.node().clientWidth, height: this.svg.node().clientHeight };
  }

  // Move no further than needed to see a node and, if it is open, its children.
  reveal(node) {
    const item = this.layout.get(node),
      { width, height } = this.size(),
      at = d3.zoomTransform(this.svg.node());
    const [left, top] = at.apply([item.y, item.x - CARD.height / 2]);
    const [right, bottom] = at.apply([
      item.y + CARD.width + (item.children ? CARD.across : 16),
      item.x + CARD.height / 2,
    ]);
    const shift = (low, high, size) =>
      low < 10 || high - low > size ? 10 - low : high > size - 10 ? size - 10 - high : 0;
    const [dx, dy] = [shift(left, right, width), shift(top, bottom, height)];
    if (dx || dy) this.zoom.translateBy(this.moving(), dx / at.k, dy / at.k);
  }

  search(text) {
    const { tree } = this,
      wanted = text.trim().toLowerCase();
    const fits = wanted ? report.features.map((name) => name.toLowerCase().includes(wanted)) : [];
    const exact = wanted ? report.features.map((name) => name.toLowerCase() === wanted) : [];
    const accepted = exact.some(Boolean) ? exact : fits;
    this.matches = wanted
      ? d3
          .range(tree.id.length)
          .filter((node) => accepted[tree.feature[node]])
          .sort((a, b) => tree.depth[a] - tree.depth[b])
      : [];
    this.match = -1;
    for (const node of this.matches) {
      if (this.open.size * 2 + 1 > MAX_DRAWN) break;
      this.openTo(node);
    }
    this.draw();
    if (this.matches.length) this.nextMatch();
    else setStatus(wanted ? `No split of this tree is on a feature like “${text.trim()}”.` : "");
  }

  nextMatch() {
    if (!this.matches.length) return;
    this.match = (this.match + 1) % this.matches.length;
    const node = this.matches[this.match];
    this.openTo(node);
    this.selected = node;
    this.draw();
    this.describe(node);
    this.reveal(node);
    setStatus(
      `${plural(this.matches.length, "split")} found; this is number ${this.match + 1}. Enter goes to the next.`,
    );
  }

  follow(place) {
    this.followed = place;
    this.path = place === null ? [] : pathOf(this.tree, place);
    if (place !== null) {
      this.selected = this.path.at(-1);
      this.openTo(this.selected);
    }
    this.draw();
    if (place !== null) {
      this.fit(0.5, this.path);
      this.reveal(this.selected);
    }
    this.detailsOf = -1;
    this.describe(this.selected);
  }

  describe(node) {
    if (this.detailsOf === node) return;
    this.detailsOf = node;
    const { tree } = this,
      panel = byId("details"),
      isLeaf = tree.feature[node] < 0;
    const name = node === 0 ? "Root" : isLeaf ? "Leaf" : "Split";
    const rule = ruleOf(tree, node),
      places = this.places(node);
    const split = isLeaf ? [] : [["Splits on", `${report.features[tree.feature[node]]} ${questionOf(tree, node)}`]];
    const facing = element("dl", { class: "facts" });
    facts(facing, [
      ...split,
      [report.adds_up ? "Adds" : isLeaf ? "Predicts" : "Would predict", format(tree.value[node])],
      ["Optimal interval", formatInterval(tree.low[node], tree.high[node])],
      ["Cost", format(tree.cost[node])],
      ["Training rows", count(tree.samples[node])],
    ]);
    const strip = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    strip.setAttribute("class", "strip");
    const caption = element("p", { class: "muted small" });
    panel.replaceChildren(
      ...(this.followed === null ? [] : [this.describePath()]),
      element("h3", {}, `${name} `, element("span", { class: "muted" }, `node ${tree.id[node]}`)),
      rule.length
        ? element(
            "ul",
            { class: "rule", "aria-label": "Rule of this node" },
            ...rule.map((part) => element("li", {}, part)),
          )
        : element("p", { class: "rule" }, "All rows."),
      facing,
      ...(places.length ? [strip] : []),
      caption,
    );
    this.drawLeaf(panel, report.leaf_curves[tree.id[node]]);
    const all = rows.row.length < report.n_rows ? ` on this page` : "";
    if (!places.length) return void (caption.textContent = `None of these data's rows${all} come here.`);
    const nShown = drawStrip(strip, places, report.adds_up ? null : tree.value[node], tree.low[node], tree.high[node]);
    const shown = nShown < places.length ? `; ${nShown} are drawn` : "";
    caption.textContent = `Intervals of ${plural(places.length, "row")} of these data${all} that come here${shown}.`;
  }

  // What the rows of a leaf say about the distribution of the target there.
  drawLeaf(panel, steps) {
    if (!steps) return;
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("class", "leaf-curve");
    const caption =
      "Turnbull's estimate for these rows; Kaplan and Meier's, if they are right-censored. " +
      "The pale band holds their curve for certain, whatever is assumed.";
    panel.append(svg, element("p", { class: "muted small" }, caption));
    drawSurvival(svg, steps, { height: 170, xTicks: 3 });
  }

  describePath() {
    const { tree, path, followed } = this;
    const steps = path.slice(0, -1).map((node, step) => {
      const value = rows.values.get(tree.feature[node])[followed],
        isLeft = path[step + 1] === tree.left[node];
      const given = `${report.features[tree.feature[node]]} = ${showValue(tree.feature[node], value)}`;
      const codes = tree.codes[node];
      if (partsMissing(tree, node)) return element("li", {}, given + (isLeft === !codes ? ", present" : ""));
      if (codes) {
        const held = `${isLeft ? "" : "not "}in ${showLabels(tree.feature[node], codes)}`;
        return element("li", {}, `${given}${Number.isNaN(value) ? " goes with" : ","} ${held}`);
      }
      const test = Number.isNaN(value) ? (isLeft ? "goes with ≤" : "goes with >") : isLeft ? "≤" : ">";
      return element("li", {}, `${given} ${test} ${format(tree.threshold[node])}`);
    });
    return element(
      "div",
      { class: "path", id: "sample-path" },
      element("h3", {}, `Path of row ${rows.row[followed]}`),
      element("ol", {}, ...steps),
      element("p", {}, describeRow(followed)),
    );
  }
}

function setStatus(text) {
  byId("tree-status").textContent = text;
}
