"""`python -m tests.regenerate.metrics`: docs/reference/metrics.md, a worker's metrics in the words of `/metrics`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from prometheus_client.metrics import MetricWrapperBase

from driftway.worker.kafka.error_handling import ErrorAction
from driftway.worker.stream.observability.metrics import SECONDS, STATES, WORKER, WorkerMetrics
from driftway.worker.stream.observability.task_figures import FIGURES
from driftway.worker.wire.rejections import BY_END, KINDS, LABEL, OTHER

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"
COMMAND = "python -m tests.regenerate.metrics"
PARTITION = "partition"
SUFFIXES = {"counter": "_total", "info": "_info"}
"""Type -> what its samples' names end with, beyond the metric's own name."""

HEAD = f"""# Metrics

A worker with `--http-port` has these metrics at `/metrics`, in the text format of Prometheus. This page is generated
from the code by `{COMMAND}`.
[Operate]({os.pardir}/how-to/operate.md#what-to-look-at) says which of them to watch, and what to do.

- Every metric named `driftway_...` has the labels `group` and `topic`. Those of the first table also have `partition`:
  their series disappear when the partition moves to another worker.
- A histogram has the series `..._bucket`, `..._sum` and `..._count`. The upper bounds of its buckets are
  {{buckets}} seconds.
- Units are base units: seconds, bytes, records, offsets. Counters begin at 0 when the worker starts, and those
  of a partition whenever the worker gets it.
- Each counter and histogram also has a series `..._created`, the time at which it began. In the environment of the
  worker, `PROMETHEUS_DISABLE_CREATED_SERIES=true` leaves these out.
"""
ACTIONS = ", ".join(f"`{action.value}`" for action in ErrorAction)
LABELS = {
    "action": f"what the worker does about the error: {ACTIONS}",
    "broker": "id of the broker",
    "client": "`native` or `python`",
    "detector": "the drift detector, with its parameters",
    "expert": "the learner within the mixture",
    "field": "path of the field",
    "kind": "name of the error in the Kafka client, such as `_TRANSPORT`",
    "learner": "the champion or a challenger, with its parameters",
    "metric": "a field of [accuracy points](messages.md), such as `window_accuracy`",
    "quantile": ", ".join(sorted({f"`{one.quantile}`" for one in FIGURES.values() if one.quantile})),
    "reason": "kind of reason: {reasons}",
    "source": "`memory`: the partition came back to a worker that still had its state; `log`: it was read from Kafka",
    "state": ", ".join(f"`{state}`" for state in STATES),
}
"""Label -> what its values are, beyond those of all metrics."""


def kinds_of_reasons() -> str:
    """Return the kinds by which rejections and labels set aside are counted."""
    return ", ".join(f"`{kind}`" for kind in dict.fromkeys((*BY_END.values(), *KINDS.values(), LABEL, OTHER)))


def own_labels(metric: MetricWrapperBase) -> tuple[str, ...]:
    """Return the labels of a metric beyond group and topic."""
    return tuple(metric._labelnames[len(WORKER) :])


def row(name: str, kind: str, labels: Iterable[str], text: str) -> str:
    """Return a metric's row."""
    shown = ", ".join(f"`{label}`" for label in labels)
    return f"| `{name}{SUFFIXES.get(kind, '')}` | {kind} | {shown} | {text.rstrip('.')} |"


def page() -> str:
    """Return the page."""
    metrics = WorkerMetrics("group", "topic")
    wrappers = [one for one in vars(metrics).values() if isinstance(one, MetricWrapperBase)] + [
        *metrics.figures.values()
    ]
    labels = {metric._name: own_labels(metric) for metric in wrappers}
    of_partitions, of_worker, of_process = list[str](), list[str](), list[str]()
    for found in metrics.registry.collect():
        own = labels.get(found.name, ())
        if PARTITION in own:
            of_partitions.append(row(found.name, found.type, own[1:], found.documentation))
        elif found.name.startswith("driftway"):
            more = ("version", "python", "librdkafka", "client") if found.type == "info" else own
            of_worker.append(row(found.name, found.type, more, found.documentation))
        else:
            of_process.append(row(found.name, found.type, own, found.documentation))
    table = ["| Metric | Type | Labels | Meaning |", "|---|---|---|---|"]
    values = [f"| `{name}` | {text.format(reasons=kinds_of_reasons())} |" for name, text in LABELS.items()]
    parts = [
        HEAD.format(buckets=", ".join(map(str, SECONDS))),
        *("## Of each partition", "", *table, *of_partitions, ""),
        *("## Of the worker", "", *table, *of_worker, ""),
        *(
            "## Of the process",
            "",
            "Only on systems with `/proc`. These metrics have no labels.",
            "",
            *table,
            *of_process,
            "",
        ),
        *("## Values of labels", "", "| Label | Values |", "|---|---|", *values),
    ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
