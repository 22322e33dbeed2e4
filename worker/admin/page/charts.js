"use strict";
// Charts over input offsets, each with a legend and a table of its figures behind it.

const COLOURS = 8; // --line-0, --line-1, .. of the style sheet, which has others for dark
const MAX_KEPT = 4000; // points of a series in this page; beyond that every second one is dropped
const TABLE_ROWS = 40;
const WIDE = 30; // largest by smallest value from which a scale is logarithmic

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

function percent(value) { return value === null || value === undefined ? "–" : (100 * value).toFixed(1) + " %"; }
function decimals(value) { return value === null || value === undefined ? "–" : value.toFixed(3); }
function number(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  return Number.isInteger(value) ? value.toLocaleString("en") : Number(value.toPrecision(digits)).toLocaleString("en", { maximumSignificantDigits: digits });
}

/** The largest value by the smallest; 1 if one is not positive. */
function spread(columns) {
  let low = Infinity, high = 0;
  for (const column of columns) {
    for (const value of column) {
      if (value === null || value === undefined) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return low > 0 && high > 0 ? high / low : 1;
}

/** Points of each partition and learner, as columns. */
class Store {
  constructor() { this.series = new Map(); }

  add(parts) {
    for (const part of parts) {
      const key = part.partition + "\n" + part.learner;
      if (!this.series.has(key)) this.series.set(key, { partition: part.partition, learner: part.learner, columns: { offset: [] } });
      const columns = this.series.get(key).columns, before = columns.offset.length, more = part.offset.length;
      for (const name of new Set([...Object.keys(columns), ...Object.keys(part)])) {
        if (name === "partition" || name === "learner") continue;
        columns[name] = (columns[name] || Array(before).fill(null)).concat(part[name] || Array(more).fill(null));
      }
      if (columns.offset.length > MAX_KEPT) {
        for (const name of Object.keys(columns)) columns[name] = columns[name].filter((_, i) => i % 2 === 0);
      }
    }
  }

  get(partition, learner) { return this.series.get(partition + "\n" + learner)?.columns; }
}

/**
 * One chart: lines are {label, offsets, values, colour, dashed}; marks are offsets with a vertical line. Options: `level`
 * has a horizontal line; `logarithmic` allows a logarithmic scale, which is taken if a linear one would hide the small.
 */
class Chart {
  constructor(parent, title, format, hint, options = {}) {
    this.title = title;
    this.format = format;
    this.options = options;
    this.scale = element("small", {});
    this.place = element("div", { class: "plot", role: "img" });
    this.legend = element("ul", { class: "legend" });
    this.body = element("tbody", {});
    this.head = element("tr", {});
    const table = element("table", {}, element("caption", { class: "note" }, hint), element("thead", {}, this.head), this.body);
    this.more = element("details", {}, element("summary", {}, "Table: " + title), element("div", { class: "scroll", tabindex: "0" }, table));
    this.root = element("div", { class: "chart" }, element("h3", {}, title, " ", this.scale), element("p", { class: "note" }, hint), this.place, this.legend, this.more);
    parent.append(this.root);
    this.marks = [];
    this.plot = null;
    this.shape = "";
    this.more.addEventListener("toggle", () => this.fillTable());
    new ResizeObserver(() => this.resize()).observe(this.place);
  }

  show(lines, marks = []) {
    this.lines = lines.filter((line) => line.offsets.length);
    this.marks = marks;
    this.root.hidden = !this.lines.length;
    if (this.root.hidden) return;
    this.data = uPlot.join(this.lines.map((line) => [line.offsets, line.values]));
    this.logarithmic = Boolean(this.options.logarithmic) && spread(this.data.slice(1)) > WIDE;
    const shape = JSON.stringify([this.logarithmic, this.marks.length > 0, ...this.lines.map((line) => [line.label, line.colour, line.dashed])]);
    if (shape !== this.shape || !this.plot) {
      this.shape = shape;
      this.build();
    } else {
      this.plot.setData(this.data);
    }
    const said = this.lines.map((line) => line.label + " " + this.format(line.values.at(-1))).join(", ");
    this.place.setAttribute("aria-label", this.title + ", newest: " + said);
    this.fillLegend();
    if (this.more.open) this.fillTable();
  }

  build() {
    this.plot?.destroy();
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const ink = colour("--soft"), grid = { stroke: colour("--grid"), width: 1 };
    const axis = { stroke: ink, grid, ticks: grid, font: "12px system-ui, sans-serif" };
    const options = {
      width: this.width(), height: 220, legend: { show: false }, cursor: { y: false },
      scales: { x: { time: false }, y: { distr: this.logarithmic ? 3 : 1, range: (_, low, high) => this.range(low, high) } },
      axes: [
        { ...axis, size: 32, values: (_, ticks) => ticks.map((tick) => tick.toLocaleString("en")) },
        { ...axis, size: 60, values: (_, ticks) => ticks.map((tick) => tick === null ? "" : this.format(tick).replace(".0 %", " %")) },
      ],
      series: [{}, ...this.lines.map((line) => ({
        label: line.label, stroke: colour(line.colour), width: line.dashed ? 1.5 : 2, dash: line.dashed ? [6, 4] : undefined,
        points: { show: false }, spanGaps: true,
      }))],
      hooks: { draw: [(plot) => this.drawMarks(plot)], setCursor: [() => this.fillLegend()] },
    };
    this.place.replaceChildren();
    this.scale.textContent = this.logarithmic ? "logarithmic scale" : "";
    this.plot = new uPlot(options, this.data, this.place);
    this.said = this.lines.map(() => element("b", {}));
    this.where = element("li", { class: "where" });
    const keys = this.lines.map((line, i) => element("li", { style: "--key: var(" + line.colour + ")", class: line.dashed ? "dashed" : null }, line.label, " ", this.said[i]));
    if (this.marks.length) keys.push(element("li", { style: "--key: var(--alarm)" }, "drift alarm"));
    this.legend.replaceChildren(...keys, this.where);
  }

  /** Writes the figures under the cursor behind the names, or the newest ones. */
  fillLegend() {
    const under = this.plot?.cursor.idx ?? null, at = under ?? this.data[0].length - 1;
    this.said.forEach((place, i) => { place.textContent = this.format(this.data[i + 1][at]); });
    this.where.textContent = under === null ? "" : "at offset " + this.data[0][at].toLocaleString("en");
  }

  /** Limits of the vertical axis: round ones a little beyond the values; shares stay within 0 and 100 %. */
  range(low, high) {
    if (low === null) return [0, 1];
    if (this.logarithmic) return uPlot.rangeLog(low, high, 10, false);
    if (low === high) [low, high] = [low - Math.max(.05 * Math.abs(low), .01), high + Math.max(.05 * Math.abs(high), .01)];
    const [from, to] = uPlot.rangeNum(low, high, .1, true);
    return this.format === percent ? [Math.max(0, from), Math.min(1, to)] : [from, to];
  }

  drawMarks(plot) {
    const { ctx, bbox } = plot;
    const style = getComputedStyle(document.documentElement), inside = (scale, value) => value >= plot.scales[scale].min && value <= plot.scales[scale].max;
    const shown = this.marks.filter((offset) => inside("x", offset));
    ctx.save();
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([]); // the last line may have been dashed
    ctx.strokeStyle = style.getPropertyValue("--alarm");
    ctx.globalAlpha = Math.max(.25, Math.min(.7, 6 / shown.length)); // many must not hide the lines
    for (const offset of shown) {
      const x = Math.round(plot.valToPos(offset, "x", true));
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    if (this.options.level !== undefined && inside("y", this.options.level)) {
      const y = Math.round(plot.valToPos(this.options.level, "y", true));
      ctx.globalAlpha = 1;
      ctx.strokeStyle = style.getPropertyValue("--plain-0");
      ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
    }
    ctx.restore();
  }

  fillTable() {
    if (!this.more.open || !this.data) return;
    const offsets = this.data[0], step = Math.max(1, Math.ceil(offsets.length / TABLE_ROWS)), rows = [];
    for (let i = offsets.length - 1; i >= 0; i -= step) {
      const cells = this.lines.map((_, j) => element("td", {}, this.format(this.data[j + 1][i])));
      rows.push(element("tr", {}, element("th", { scope: "row" }, offsets[i].toLocaleString("en")), ...cells));
    }
    this.head.replaceChildren(...["Offset", ...this.lines.map((line) => line.label)].map((text) => element("th", { scope: "col" }, text)));
    this.body.replaceChildren(...rows);
  }

  width() { return Math.max(240, this.place.clientWidth || this.root.parentElement.clientWidth - 4); }
  resize() { if (this.plot && Math.abs(this.plot.width - this.width()) > 1) this.plot.setSize({ width: this.width(), height: 220 }); }
}

/** A line of some 60 means of the values, as inline SVG. */
function sparkline(values, label) {
  const known = (values || []).filter((value) => value !== null);
  if (known.length < 2) return "";
  const per = Math.ceil(known.length / 60), means = [];
  for (let i = 0; i < known.length; i += per) {
    const group = known.slice(i, i + per);
    means.push(group.reduce((a, b) => a + b, 0) / group.length);
  }
  const low = Math.min(...means), high = Math.max(...means, low + 1e-9);
  const points = means.map((mean, i) => (118 * i / Math.max(1, means.length - 1) + 1).toFixed(1) + "," + (22 - 20 * (mean - low) / (high - low)).toFixed(1));
  const made = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  made.setAttribute("class", "spark");
  made.setAttribute("viewBox", "0 0 120 24");
  made.setAttribute("preserveAspectRatio", "none");
  made.setAttribute("role", "img");
  made.setAttribute("aria-label", label);
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", "M" + points.join("L"));
  made.append(path);
  return made;
}
