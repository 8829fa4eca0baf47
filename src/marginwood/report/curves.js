"use strict";
// Survival functions: of a row as it was predicted, and of rows together as Turnbull's estimate has them.

// Where intervals do not determine the estimate, the area between its least and its greatest curve is shaded. A paler
// area holds the curve of the values themselves for certain, whatever is assumed.
function drawSurvival(svg, steps, { height, curve = null, interval = null, value = null, xTicks = 6 }) {
  const bottom = 36;
  const { chart, width } = startChart(svg, height);
  const y = d3.scaleLinear([0, 1], [height - bottom, 22]);
  const left = labelRoom(ticksOf(y, 5));
  const times = numbers(steps.times);
  const x = targetScale([times[0], times.at(-1)], [left, width - 12]);
  if (interval) {
    const [start, end] = interval.map((limit) => placeOf(x, limit));
    chart
      .append("rect")
      .attr("class", "band")
      .attr("x", start)
      .attr("width", Math.max(end - start, 2))
      .attr("y", 22)
      .attr("height", height - bottom - 22);
  }
  addAxes(chart, x, y, { width, height, left, bottom, xTicks, xLabel: "target", yLabel: "probability of more" });
  const points = d3.zip(times, steps.least, steps.greatest);
  const across = (point) => x(point[0]);
  const area = d3.area(across, (point) => y(point[1]), (point) => y(point[2])).curve(d3.curveStepAfter);
  const certain = d3.zip(times, steps.certain_least, steps.certain_greatest);
  chart.append("path").attr("class", "certain").attr("d", area(certain));
  chart.append("path").attr("class", "undetermined").attr("d", area(points));
  const line = d3.line(across, (point) => y(point[2])).curve(d3.curveStepAfter);
  chart.append("path").attr("class", "line line-2").attr("d", line(points));
  if (curve) {
    const predicted = d3.zip(numbers(report.survival.times), curve);
    const path = d3.line(across, (point) => y(point[1]));
    chart.append("path").attr("class", "line line-0").attr("d", path(predicted));
  }
  if (value !== null)
    chart
      .append("line")
      .attr("class", "value")
      .attr("x1", placeOf(x, value))
      .attr("x2", placeOf(x, value))
      .attr("y1", 22)
      .attr("y2", height - bottom);
}

// The predicted curve of the row that was last pointed at or followed.
function fillSurvival() {
  if (!report.survival) return { show() {}, draw() {} };
  byId("survival").hidden = false;
  let chosen = null;
  const draw = () => {
    const options = { height: 260 };
    if (chosen !== null) {
      options.curve = report.survival.rows[chosen];
      options.interval = [rows.lower[chosen], rows.upper[chosen]];
      options.value = rows.prediction[chosen];
    }
    drawSurvival(byId("survival-chart"), report.survival.all, options);
    byId("survival-row").textContent = chosen === null ? "a row that you choose above" : `row ${rows.row[chosen]}`;
  };
  const show = (place) => {
    chosen = place;
    draw();
  };
  return { show, draw };
}

// Scores of rankings and of distributions, with the reason of those that these data do not define.
function fillMoreScores() {
  const { scores, n_rows: nScored } = report.more_scores;
  const show = (value) => (value === "" ? "–" : format(value));
  const lines = scores.map((score) => [score.name, show(score.model), show(score.constant)]);
  const notes = scores.filter((score) => score.reason).map((score) => `${score.name}: ${score.reason}`);
  if (report.survival && nScored < report.n_rows) notes.push(`Distributions are scored on ${count(nScored)} rows.`);
  byId("more-scores").querySelector(".scroll").append(table(["Score", "Model", "All alike"], lines));
  byId("more-scores").querySelector(".notes").textContent = notes.join(" ");
}
