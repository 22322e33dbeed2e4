"use strict";
// Charts over input offsets, each with a legend and a table of its figures behind it.

const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d1f", "#7b61c4"];
const MOST_KEPT = 4000; // points of a series in this page; beyond that every second one is dropped
const TABLE_ROWS = 40;

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

function percent(value) { return value === null || value === undefined ? "–" : (100 * value).toFixed(1) + " %"; }
function number(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  return Number.isInteger(value) ? value.toLocaleString("en") : Number(value.toPrecision(digits)).toLocaleString("en", { maximumSignificantDigits: digits });
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
      if (columns.offset.length > MOST_KEPT) {
        for (const name of Object.keys(columns)) columns[name] = columns[name].filter((_, i) => i % 2 === 0);
      }
    }
  }

  get(partition, learner) { return this.series.get(partition + "\n" + learner)?.columns; }
}

/** One chart: lines are {label, offsets, values, colour, dashed}; marks are offsets with a vertical line. */
class Chart {
  constructor(parent, title, format, hint) {
    this.title = title;
    this.format = format;
    this.place = element("div", { class: "plot", role: "img" });
    this.legend = element("ul", { class: "legend" });
    this.body = element("tbody", {});
    this.head = element("tr", {});
    const table = element("table", {}, element("caption", { class: "note" }, hint), element("thead", {}, this.head), this.body);
    this.more = element("details", {}, element("summary", {}, "Table: " + title), element("div", { class: "scroll", tabindex: "0" }, table));
    this.root = element("div", { class: "chart" }, element("h3", {}, title), element("p", { class: "note" }, hint), this.place, this.legend, this.more);
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
    const shape = JSON.stringify(this.lines.map((line) => [line.label, line.colour, line.dashed]));
    if (shape !== this.shape || !this.plot) {
      this.shape = shape;
      this.build();
    } else {
      this.plot.setData(this.data);
    }
    const said = this.lines.map((line) => line.label + " " + this.format(line.values.at(-1))).join(", ");
    this.place.setAttribute("aria-label", this.title + ", newest: " + said);
    if (this.more.open) this.fillTable();
  }

  build() {
    this.plot?.destroy();
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--soft").trim(), grid = { stroke: style.getPropertyValue("--grid").trim(), width: 1 };
    const axis = { stroke: ink, grid, ticks: grid, font: "12px system-ui, sans-serif" };
    const options = {
      width: this.width(), height: 220, legend: { show: false }, cursor: { y: false },
      scales: { x: { time: false } },
      axes: [
        { ...axis, values: (_, ticks) => ticks.map((tick) => tick.toLocaleString("en")) },
        { ...axis, size: 60, values: (_, ticks) => ticks.map((tick) => this.format(tick)) },
      ],
      series: [{}, ...this.lines.map((line) => ({
        label: line.label, stroke: line.colour, width: line.dashed ? 1.5 : 2, dash: line.dashed ? [6, 4] : undefined,
        points: { show: false }, spanGaps: true,
      }))],
      hooks: { draw: [(plot) => this.drawMarks(plot)] },
    };
    this.place.replaceChildren();
    this.plot = new uPlot(options, this.data, this.place);
    this.legend.replaceChildren(...this.lines.map((line) =>
      element("li", { style: "--key: " + line.colour, class: line.dashed ? "dashed" : null }, line.label)));
    if (this.marks.length) this.legend.append(element("li", { style: "--key: #b3261e" }, "drift alarm"));
  }

  drawMarks(plot) {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.strokeStyle = "rgba(200, 40, 30, .55)";
    for (const offset of this.marks) {
      if (offset < plot.scales.x.min || offset > plot.scales.x.max) continue;
      const x = Math.round(plot.valToPos(offset, "x", true));
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
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
  made.setAttribute("role", "img");
  made.setAttribute("aria-label", label);
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", "M" + points.join("L"));
  made.append(path);
  return made;
}
