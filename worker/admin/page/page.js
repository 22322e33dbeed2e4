"use strict";
// Asks the worker for its status and shows it; the path is relative, since a proxy may add one in front. What comes from
// topics is only ever inserted as text.

const LIVE_MS = 2000, READING_MS = 400, LEVEL = 0.05;
const byId = (id) => document.getElementById(id);
let store = new Store(), view = 0, cursor = 0, status = null;
const charts = {
  quality: new Chart(byId("charts"), "Rolling accuracy", percent,
    "Over the rolling window, by input offset; the no-change and majority baselines are over all labels"),
  loss: new Chart(byId("charts"), "Squared error", number, "Over the rolling window, by input offset; dashed: over all labels", { logarithmic: true }),
  test: new Chart(byId("charts"), "Evidence that a challenger is better", number,
    "Natural logarithm of the e-value; from 3 (dotted line) on, a challenger is better than the champion at the 5 % level", { level: -Math.log(LEVEL) }),
  coverage: new Chart(byId("charts"), "Coverage", percent, "Share of the labels inside their interval or set, over the rolling window"),
};

function cell(content, attributes) { return element("td", attributes, content === null || content === undefined ? "–" : content); }
function figure(field, value, format) { return cell(format(value), { "data-field": field, "data-value": value ?? "" }); }
function sum(values) { return values.reduce((a, b) => a + (b || 0), 0); }
function seconds(value) { return value === null || value === undefined ? "–" : value < 1 ? Math.round(1000 * value) + " ms" : number(value) + " s"; }
function milliseconds(value) { return value === null || value === undefined ? "–" : seconds(value / 1000); }
function facts(list, pairs) {
  list.replaceChildren(...pairs.flatMap(([name, value, kind]) => [element("div", {}, element("dt", {}, name), element("dd", { class: kind }, value))]));
}

function verdict(model) {
  for (const [side, kind] of [["better", "good"], ["worse", "bad"]]) {
    if ((model[side + "_p"] ?? 1) <= LEVEL) return element("span", { class: kind }, side + (model[side + "_p"] < .001 ? ", p < 0.001" : ", p ≤ " + number(model[side + "_p"], 1)));
  }
  return "better_p" in model ? "undecided" : "";
}

function champions() { return status.models.filter((model) => model.champion); }

function showNow() {
  const own = status.worker, first = champions(), accuracies = first.map((one) => one.window_accuracy).filter((value) => value !== null && value !== undefined);
  const lags = first.map((one) => one.lag).filter((lag) => lag !== null);
  const pairs = [
    ["Partitions", String(first.length)],
    ["Rows per second", number(Math.round(sum(first.map((one) => one.rows_per_second))))],
    ["Lag", lags.length ? number(sum(lags)) : "–"],
  ];
  if (accuracies.length) pairs.push(["Accuracy now, mean", percent(sum(accuracies) / accuracies.length)]);
  pairs.push(["Rejected", number(sum(first.flatMap((one) => Object.values(one.rejected))))]);
  pairs.push(["Drift alarms", number(sum(first.flatMap((one) => Object.values(one.drifts))))]);
  const worst = Object.values(own.partitions).map((one) => one.prediction_latency_seconds?.p99).filter((value) => value);
  pairs.push(["Latency p99 here", worst.length ? seconds(Math.max(...worst)) : "–"]);
  facts(byId("tiles"), pairs);
}

function showModels() {
  const regression = status.task === "regression", covered = status.models.some((model) => "window_coverage" in model);
  const quality = regression
    ? [["window_mse", "Squared error", number], ["window_mae", "Absolute error", number], ["window_r2", "r²", number]]
    : [["window_accuracy", "Accuracy", percent], ["no_change_accuracy", "No change", percent], ["majority_accuracy", "Majority", percent],
       ["window_calibration_error", "Calibration error", decimals]];
  if (covered) quality.push(["window_coverage", "Coverage", percent]);
  const heads = ["Partition", "Model", "Recent", ...quality.map((one) => one[1]), "Labels", "Rows/s", "Lag", "Test", "Drift"];
  byId("models-head").replaceChildren(...heads.map((text) =>
    element("th", { scope: "col", class: text === "Recent" ? "text recent" : ["Model", "Test", "Drift"].includes(text) ? "text" : null }, text)));
  const rows = status.models.map((model) => {
    const name = model.learner || "–", role = model.champion ? [] : [element("small", {}, "challenger")];
    const recent = store.get(model.partition, model.learner)?.[regression ? "window_mse" : "window_accuracy"];
    const own = String(model.partition) in status.worker.partitions;
    const drift = model.champion && model.last_drift // the detectors watch the champion
      ? [model.last_drift.detector.split(":")[0], element("small", {}, number(model.rows_since_drift) + " rows ago")] : [];
    return element("tr", { "data-partition": model.partition, "data-learner": model.learner ?? "" },
      element("th", { scope: "row" }, String(model.partition), ...(own ? [element("small", {}, "this worker")] : [])),
      element("td", { class: "text" }, name, ...role), cell(sparkline(recent, "recent values of " + name), { class: "recent" }),
      ...quality.map(([field, , format]) => figure(field, model[field], format)),
      figure("labels", model.labels, number), figure("rows_per_second", model.champion ? model.rows_per_second : null, (v) => v === null ? "–" : number(Math.round(v))),
      figure("lag", model.champion ? model.lag : null, number), cell(verdict(model), { class: "text" }), element("td", { class: "text" }, ...drift));
  });
  byId("models").tBodies[0].replaceChildren(...rows);
  byId("models-note").textContent = rows.length ? "" : status.complete ? "No partition has committed anything yet." : "Reading the group's topics.";
}

function showPartition() {
  const select = byId("partition"), partitions = [...new Set(status.models.map((model) => String(model.partition)))];
  const chosen = partitions.includes(select.value) ? select.value : partitions[0];
  if (partitions.join() !== [...select.options].map((option) => option.value).join()) {
    select.replaceChildren(...partitions.map((text) => element("option", { value: text }, text)));
    if (chosen !== undefined) select.value = chosen;
  }
  const models = status.models.filter((model) => String(model.partition) === chosen && model.learner);
  const line = (field) => (model, i) => {
    const columns = store.get(model.partition, model.learner) || { offset: [] };
    return { label: model.learner, offsets: columns[field] ? columns.offset : [], values: columns[field] || [], colour: "--line-" + i % COLOURS };
  };
  const plain = (field, label, colour) => models.slice(0, 1).map(line(field)).map((one) => ({ ...one, label, colour, dashed: true }));
  const marks = (status.alarms[chosen] || []).map(([offset]) => offset);
  byId("charts-note").textContent = models.some((model) => store.get(model.partition, model.learner)) ? "" : "There is no accuracy point yet.";
  charts.quality.show([...models.map(line("window_accuracy")), ...plain("no_change_accuracy", "no change", "--plain-0"),
    ...plain("majority_accuracy", "majority", "--plain-1")], marks);
  charts.loss.show([...models.map(line("window_mse")), ...plain("mse", "all labels", "--plain-0")], marks);
  charts.test.show(models.map(line("better_log_e")));
  charts.coverage.show(models.map(line("window_coverage")), marks);
  showExperts(models);
  const champion = models[0], drifts = Object.entries(champion?.drifts || {}), alarms = status.alarms[chosen] || [];
  byId("drift-section").hidden = !drifts.length;
  byId("drift").tBodies[0].replaceChildren(...drifts.map(([detector, count]) => element("tr", {}, element("th", { scope: "row" }, detector),
    cell(number(count)), cell(number(alarms.filter((alarm) => alarm[1] === detector).at(-1)?.[0])))));
}

function showExperts(models) {
  const mixture = models.find((model) => model.experts), section = byId("experts-section");
  section.hidden = !mixture;
  if (!mixture) return;
  const shares = Object.entries(mixture.experts).sort((a, b) => b[1] - a[1]);
  byId("experts").tBodies[0].replaceChildren(...shares.map(([name, share]) => element("tr", { "data-expert": name }, element("th", { scope: "row" }, name),
    cell(element("span", { class: "bar", style: "width: " + (100 * share / shares[0][1]).toFixed(1) + "%", "aria-hidden": "true" }), { class: "wide" }),
    figure("share", share, percent))));
}

function showDelays() {
  const delayed = champions().filter((model) => "waiting" in model);
  byId("delay-section").hidden = !delayed.length;
  byId("delay").tBodies[0].replaceChildren(...delayed.map((model) => element("tr", {}, element("th", { scope: "row" }, String(model.partition)),
    cell(number(model.waiting)), cell(number(model.never_labelled)), cell(number(model.delay_rows?.median)),
    cell(milliseconds(model.delay_ms?.median)), cell(milliseconds(model.delay_ms?.p95)))));
}

function showRejected() {
  const counts = new Map();
  for (const model of champions()) {
    for (const [place, kinds] of [[0, model.rejected], [1, model.labels_set_aside]]) {
      for (const [kind, count] of Object.entries(kinds)) {
        if (!counts.has(kind)) counts.set(kind, [0, 0]);
        counts.get(kind)[place] += count;
      }
    }
  }
  const rows = [...counts].map(([kind, [events, labels]]) => element("tr", { "data-kind": kind }, element("th", { scope: "row" }, kind),
    figure("events", events, number), figure("labels", labels, number)));
  byId("rejected").tBodies[0].replaceChildren(...(rows.length ? rows : [element("tr", {}, element("td", { colspan: "3" }, "None."))]));
}

function showWorker() {
  const own = status.worker;
  facts(byId("worker-facts"), [
    ["State", own.phase, own.ready ? "good" : "bad"], ["Cluster", own.cluster, own.cluster === "answers" ? "good" : "bad"],
    ["Rebalances", number(own.rebalances ?? 0)], ["Client errors", number(sum(Object.values(own.client_errors || {})))],
    ["Throttled requests", number(own.throttled_requests ?? 0)], ["Promotions", number(own.promotions ?? 0)],
  ]);
  const times = (found) => found?.count ? seconds(found.p50) + ", " + seconds(found.p99) : "–";
  const total = (value) => typeof value === "object" && value ? sum(Object.values(value)) : value ?? 0;
  const columns = [
    ["State", (one) => one.state], ["Lag", (one) => number(one.lag)], ["Predictions", (one) => number(one.predictions ?? 0)],
    ["Latency p50, p99", (one) => times(one.prediction_latency_seconds)], ["Commit p50, p99", (one) => times(one.commit_duration_seconds)],
    ["State bytes", (one) => number(one.state_bytes)], ["Snapshot age", (one) => seconds(one.snapshot_age_seconds)],
    ["Restores", (one) => Object.entries(one.restores || {}).map(([source, count]) => count + " from " + source).join(", ") || "0"],
    ["Failed restores", (one) => number(total(one.restore_failures))], ["Failed commits", (one) => number(total(one.commit_failures))],
    ["Repaired outputs", (one) => number(one.output_repairs ?? 0)],
  ];
  byId("own-head").replaceChildren(...["Partition", ...columns.map((one) => one[0])].map((text) => element("th", { scope: "col" }, text)));
  byId("own").tBodies[0].replaceChildren(...Object.entries(own.partitions).map(([partition, one]) =>
    element("tr", { "data-partition": partition }, element("th", { scope: "row" }, partition), ...columns.map(([, text]) => cell(text(one))))));
}

function show() {
  byId("of").textContent = `group ${status.group} on ${status.topic}`;
  document.title = `${status.group} on ${status.topic}: Driftway`;
  showNow();
  showModels();
  showPartition();
  showDelays();
  showRejected();
  showWorker();
  byId("foot").textContent = `Driftway ${status.version}. Figures of the group come from its output topics, figures of this worker from its metrics.`;
}

function say(text, kind) {
  const place = byId("state");
  place.className = kind;
  if (place.textContent !== text) place.textContent = text;
}

async function poll() {
  let wait = LIVE_MS;
  if (!document.hidden) {
    try {
      const answer = await fetch(`v1/status?view=${view}&since=${cursor}`, { cache: "no-store" });
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      status = await answer.json();
      if (status.view !== view) store = new Store();
      ({ view, cursor } = status);
      store.add(status.series);
      show();
      say(status.error ? `Kafka: ${status.error}` : status.complete ? "live" : "reading", status.error ? "bad" : "live");
      if (!status.complete && !status.error) wait = READING_MS;
    } catch (error) {
      say(`this worker does not answer (${error.message})`, "bad");
    }
  }
  setTimeout(poll, wait);
}

byId("partition").addEventListener("change", () => status && showPartition());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => Object.values(charts).forEach((chart) => chart.plot && chart.build()));
document.addEventListener("visibilitychange", () => { if (!document.hidden && status) show(); });
poll();
