"use strict";
// Charts in SVG. They are drawn for the width that there is, and again when it changes.

function startChart(svg, height) {
  const width = Math.max(svg.clientWidth || svg.parentNode.clientWidth, 240);
  const chart = d3.select(svg).attr("viewBox", `0 0 ${width} ${height}`);
  chart.selectAll("*").remove();
  return { chart, width };
}

// The values that an axis names: of a logarithmic one, which has a base, those that have room for a name.
function ticksOf(scale, n) {
  const show = scale.base ? scale.tickFormat(n, format) : format;
  return scale.ticks(n).filter((tick) => show(tick) !== "");
}

// Where a chart begins, so that the labels of its vertical axis fit to the left of it.
const labelRoom = (ticks) => Math.max(52, 14 + 8 * (d3.max(ticks, (tick) => format(tick).length) ?? 0));

function addAxes(chart, x, y, { width, height, left, bottom, xLabel, yLabel, xTicks = 6 }) {
  const floor = height - bottom;
  const axis = chart.append("g").attr("class", "axis");
  if (y) {
    for (const tick of ticksOf(y, 5)) {
      axis
        .append("line")
        .attr("class", "grid")
        .attr("x1", left)
        .attr("x2", width)
        .attr("y1", y(tick))
        .attr("y2", y(tick));
      axis
        .append("text")
        .attr("x", left - 8)
        .attr("y", y(tick))
        .attr("dy", "0.32em")
        .attr("text-anchor", "end")
        .text(format(tick));
    }
  }
  for (const tick of ticksOf(x, xTicks)) {
    axis
      .append("text")
      .attr("x", x(tick))
      .attr("y", floor + 16)
      .attr("text-anchor", "middle")
      .text(format(tick));
  }
  if (xLabel)
    axis
      .append("text")
      .attr("x", width - 1)
      .attr("y", height - 3)
      .attr("text-anchor", "end")
      .attr("class", "label")
      .text(xLabel);
  if (yLabel) axis.append("text").attr("x", 0).attr("y", 11).attr("class", "label").text(yLabel);
}

// The finite ends of a row's predicted range; an infinite one runs to the edge.
const rangeOf = (place) => (rows.rangeLower ? [rows.rangeLower[place], rows.rangeUpper[place]] : []);

// Intervals upright, in the order of the prediction; an open end is an arrow, or runs to the edge where rows are dense.
function drawPredictions(places) {
  const svg = byId("prediction-chart");
  const height = 340,
    bottom = 34,
    top = 22;
  const { chart, width } = startChart(svg, height);
  const y = targetScale(
    targetDomain(
      places,
      Array.from(places, (place) => [rows.prediction[place], ...rangeOf(place)]).flat(),
    ),
    [height - bottom, top],
  );
  const left = labelRoom(ticksOf(y, 5));
  const x = d3.scaleLinear([-0.5, Math.max(places.length, 1) - 0.5], [left, width - 4]);
  addAxes(chart, d3.scaleLinear([0, 0], [left, width]), y, {
    width,
    height,
    left,
    bottom,
    xTicks: 0,
    yLabel: "target",
    xLabel: `${plural(places.length, "row")}, by ${report.outcome}`,
  });
  const step = (width - left) / Math.max(places.length, 1);
  const isSparse = step >= 2.5;
  const marks = { inside: d3.path(), outside: d3.path() };
  const dots = d3.path();
  const ranges = d3.path();
  const size = Math.min(3, Math.max(1.1, step / 3));
  places.forEach((place, rank) => {
    const at = x(rank),
      path = rows.error[place] > 0 ? marks.outside : marks.inside;
    const [floor, ceiling] = y.range();
    if (rows.rangeLower) {
      const [from, to] = rangeOf(place).map((end) => placeOf(y, end));
      ranges.rect(at - step * 0.4, to, Math.max(step * 0.8, 0.6), Math.max(from - to, 1));
    }
    const ends = [rows.lower[place], rows.upper[place]].map((end) => (isShown(end) ? y(end) : null));
    const known = ends.filter((end) => end !== null);
    const reach = 26,
      middle = y(rows.prediction[place]);
    const openLow = isSparse ? Math.min(floor, Math.max(...known, middle) + reach) : floor;
    const openHigh = isSparse ? Math.max(ceiling, Math.min(...known, middle) - reach) : ceiling;
    const low = ends[0] ?? openLow,
      high = ends[1] ?? openHigh;
    path.moveTo(at, low);
    path.lineTo(at, Math.min(high, low - 1));
    for (const [end, tip, turn] of [
      [ends[0], low, -1],
      [ends[1], high, 1],
    ]) {
      if (!isSparse) continue;
      const half = Math.min(step / 2 - 0.5, 3);
      path.moveTo(at - half, end === null ? tip + turn * 5 : tip);
      if (end === null) path.lineTo(at, tip);
      path.lineTo(at + half, end === null ? tip + turn * 5 : tip);
    }
    dots.moveTo(at + size, middle);
    dots.arc(at, middle, size, 0, 2 * Math.PI);
  });
  const group = chart.append("g").attr("class", isSparse ? "intervals" : "intervals dense");
  group.append("path").attr("class", "range").attr("d", ranges);
  group.append("path").attr("class", "inside").attr("d", marks.inside);
  group.append("path").attr("class", "outside").attr("d", marks.outside);
  group.append("path").attr("class", "dots").attr("d", dots);
  const cursor = chart.append("g").attr("class", "cursor");
  const mark = (rank) => {
    cursor.selectAll("*").remove();
    if (rank === null) return;
    cursor
      .append("line")
      .attr("x1", x(rank))
      .attr("x2", x(rank))
      .attr("y1", top)
      .attr("y2", height - bottom);
    cursor.append("circle").attr("cx", x(rank)).attr("cy", y(rows.prediction[places[rank]])).attr("r", 5);
  };
  const rankAt = (across) => Math.max(0, Math.min(places.length - 1, Math.round(x.invert(across))));
  return { mark, rankAt };
}

const MAX_STRIP = 40;

// The intervals of a node's rows lie on top of each other; the line is what the node predicts.
function drawStrip(svg, places, value, low, high) {
  const sorted = places.slice().sort((a, b) => rows.lower[a] - rows.lower[b] || rows.upper[a] - rows.upper[b]);
  const shown =
    sorted.length <= MAX_STRIP
      ? sorted
      : d3.range(MAX_STRIP).map((i) => sorted[Math.floor((i * sorted.length) / MAX_STRIP)]);
  const line = shown.length > 20 ? 4 : 7,
    height = shown.length * line + 30,
    bottom = 20;
  const { chart, width } = startChart(svg, height);
  const x = targetScale(targetDomain(places, value === null ? [] : [value]), [6, width - 6]);
  addAxes(chart, x, null, { width, height, left: 0, bottom, xTicks: 4 });
  if (value !== null && low !== high) {
    const start = isShown(low) ? placeOf(x, low) : 0,
      end = isShown(high) ? placeOf(x, high) : width;
    chart
      .append("rect")
      .attr("class", "band")
      .attr("x", start)
      .attr("width", Math.max(end - start, 0))
      .attr("height", height - bottom);
  }
  const paths = { inside: d3.path(), outside: d3.path() };
  shown.forEach((place, rank) => {
    const at = 5 + rank * line;
    const path = rows.error[place] > 0 ? paths.outside : paths.inside;
    const isOpen = [!isShown(rows.lower[place]), !isShown(rows.upper[place])];
    const start = isOpen[0] ? 1 : x(rows.lower[place]),
      end = isOpen[1] ? width - 1 : x(rows.upper[place]);
    path.moveTo(start, at);
    path.lineTo(Math.max(end, start + 2), at);
    if (isOpen[0]) (path.moveTo(start + 4, at - 2.5), path.lineTo(start, at), path.lineTo(start + 4, at + 2.5));
    if (isOpen[1]) (path.moveTo(end - 4, at - 2.5), path.lineTo(end, at), path.lineTo(end - 4, at + 2.5));
  });
  const group = chart.append("g").attr("class", "intervals");
  for (const name of ["inside", "outside"]) group.append("path").attr("class", name).attr("d", paths[name]);
  if (value !== null)
    chart
      .append("line")
      .attr("class", "value")
      .attr("x1", x(value))
      .attr("x2", x(value))
      .attr("y2", height - bottom);
  return shown.length;
}

function drawCurve(svg, curve) {
  const height = 280,
    bottom = 38;
  const { chart, width } = startChart(svg, height);
  const lines = curve.lines.map((line) => ({
    name: line.name,
    points: d3.zip(line.x.map(Number), line.y.map(Number)),
  }));
  const points = lines.flatMap((line) => line.points);
  const xs = d3.extent(points, (point) => point[0]),
    [least, largest] = d3.extent(points, (point) => point[1]);
  if (xs[0] === xs[1]) curve.log_x ? (xs[1] *= 10) : (xs[1] += 1);
  // Errors are counted from 0; scores may lie below it.
  const y = d3.scaleLinear([Math.min(least, 0), Math.max(largest, 0) || (least < 0 ? 0 : 1)], [height - bottom, 22]).nice();
  const left = labelRoom(ticksOf(y, 5));
  const x = (curve.log_x ? d3.scaleLog : d3.scaleLinear)(xs, [left, width - 12]);
  addAxes(chart, x, y, {
    width,
    height,
    left,
    bottom,
    xLabel: curve.x.replaceAll("_", " "),
    yLabel: curve.y,
  });
  const chosen = Number(curve.chosen);
  if (chosen >= xs[0] && chosen <= xs[1]) {
    chart
      .append("line")
      .attr("class", "chosen")
      .attr("x1", x(chosen))
      .attr("x2", x(chosen))
      .attr("y1", 22)
      .attr("y2", height - bottom);
  }
  lines.forEach((line, place) => {
    chart
      .append("path")
      .attr("class", `line line-${place}`)
      .attr(
        "d",
        d3.line(
          (point) => x(point[0]),
          (point) => y(point[1]),
        )(line.points),
      );
    if (line.points.length === 1)
      chart
        .append("circle")
        .attr("class", `line-${place}`)
        .attr("cx", x(line.points[0][0]))
        .attr("cy", y(line.points[0][1]))
        .attr("r", 3);
  });
}

// Quantiles give every part of the surface its share of the colours: a few bad corners would take them all.
function surfaceColors(surface) {
  const errors = surface.losses.flatMap((part) => part.error.flat().map(Number)).filter(Number.isFinite);
  return d3.scaleSequentialQuantile(d3.interpolateViridis).domain(errors);
}

function drawSurface(svg, part, chosen, colors, axisLabel, show) {
  const margins = numbers(part.margins),
    n = part.error[0].length,
    line = Math.max(12, Math.min(22, 260 / margins.length));
  const left = labelRoom(margins),
    top = 8,
    height = top + margins.length * line + 40;
  const { chart, width } = startChart(svg, height);
  const x = d3.scaleBand(d3.range(n), [left, width - 2]).paddingInner(0.04);
  const y = d3.scaleBand(d3.range(margins.length), [top + margins.length * line, top]).paddingInner(0.06);
  const cells = d3.cross(d3.range(margins.length), d3.range(n));
  const at = ([row, column]) => ({
    row,
    column,
    error: Number(part.error[row][column]),
    std: Number(part.std[row][column]),
    level: Number(part.level[row][column]),
    leaves: part.leaves?.[row][column],
    margin: margins[row],
    loss: part.loss,
  });
  chart
    .selectAll("rect")
    .data(cells)
    .join("rect")
    .attr("x", (cell) => x(cell[1]))
    .attr("y", (cell) => y(cell[0]))
    .attr("width", x.bandwidth())
    .attr("height", y.bandwidth())
    .attr("rx", 1.5)
    .attr("fill", (cell) => (Number.isFinite(at(cell).error) ? colors(at(cell).error) : "none"))
    .on("pointerenter", (event, cell) => show(at(cell)));
  const axis = chart.append("g").attr("class", "axis");
  const every = Math.ceil(14 / line);
  margins.forEach((margin, row) => {
    if (row % every === 0)
      axis
        .append("text")
        .attr("x", left - 6)
        .attr("y", y(row) + y.bandwidth() / 2)
        .attr("dy", "0.32em")
        .attr("text-anchor", "end")
        .text(format(margin));
  });
  const columns = n === 1 ? [0] : [0, Math.round((n - 1) / 2), n - 1];
  for (const column of columns) {
    const anchor = column === 0 && n > 1 ? "start" : column === n - 1 ? "end" : "middle";
    const side =
      anchor === "start" ? x(column) : anchor === "end" ? x(column) + x.bandwidth() : x(column) + x.bandwidth() / 2;
    const row = chosen ? chosen.row : 0;
    axis
      .append("text")
      .attr("x", side)
      .attr("y", height - 22)
      .attr("text-anchor", anchor)
      .text(format(Number(part.level[row][column])));
  }
  axis
    .append("text")
    .attr("class", "label")
    .attr("x", width)
    .attr("y", height - 5)
    .attr("text-anchor", "end")
    .text(axisLabel);
  axis
    .append("text")
    .attr("class", "label")
    .attr("x", 0)
    .attr("y", height - 5)
    .text("↑ margin");
  const ring = chart.append("rect").attr("class", "cursor").attr("rx", 2);
  const move = ([row, column]) => {
    ring
      .attr("x", x(column) - 1)
      .attr("y", y(row) - 1)
      .attr("width", x.bandwidth() + 2)
      .attr("height", y.bandwidth() + 2);
    show(at([row, column]));
  };
  let cursor = chosen ? [chosen.row, chosen.column] : [0, 0];
  if (chosen) {
    chart
      .append("rect")
      .attr("class", "chosen")
      .attr("rx", 2)
      .attr("x", x(chosen.column) - 1.5)
      .attr("y", y(chosen.row) - 1.5)
      .attr("width", x.bandwidth() + 3)
      .attr("height", y.bandwidth() + 3);
  }
  const steps = { ArrowUp: [1, 0], ArrowDown: [-1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  svg.onkeydown = (event) => {
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    cursor = [
      Math.max(0, Math.min(margins.length - 1, cursor[0] + step[0])),
      Math.max(0, Math.min(n - 1, cursor[1] + step[1])),
    ];
    move(cursor);
  };
  return chosen && at([chosen.row, chosen.column]);
}
