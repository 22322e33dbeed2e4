"""Figures that a task keeps by itself, and the gauges that show them: delays of labels, and sharing of models.

They are part of the task's state, so that a restore may set them back: gauges, not counters.
"""

from __future__ import annotations

from typing import NamedTuple


class TaskGauge(NamedTuple):
    """A figure as Prometheus gets it, without the prefix of all metrics.

    Parameters
    ----------
    name, text : str
        The gauge's name and help.
    factor : float
        What one unit of the figure is in the gauge's unit.
    quantile : str
        Value of the label `quantile`; empty if the gauge has no such label.
    """

    name: str
    text: str
    factor: float = 1.0
    quantile: str = ""


DELAY_ROWS = "label_delay_rows", "Input rows between a row and its label, of the last 1,000 labels, by quantile"
DELAY_SECONDS = "label_delay_seconds", "Seconds from a row to its label, of the last 1,000 labels, by quantile"
FIGURES = {
    "waiting": TaskGauge("rows_awaiting_labels", "Rows that are waiting for their labels"),
    "never_labelled": TaskGauge("rows_never_labelled", "Rows that stopped waiting before their label arrived"),
    "delay_rows_median": TaskGauge(*DELAY_ROWS, quantile="0.5"),
    "delay_rows_p95": TaskGauge(*DELAY_ROWS, quantile="0.95"),
    "delay_ms_median": TaskGauge(*DELAY_SECONDS, factor=0.001, quantile="0.5"),
    "delay_ms_p95": TaskGauge(*DELAY_SECONDS, factor=0.001, quantile="0.95"),
    "wrong_timestamps": TaskGauge(
        "wrong_timestamps", "Records whose timestamp does not fit those of the records around them"
    ),
    "furthest_ms": TaskGauge("wrong_timestamp_max_seconds", "Largest error of such a timestamp", 0.001),
    "labels_waiting": TaskGauge(
        "label_topic_waiting_records", "Records of the label topic that are waiting for events"
    ),
    "labels_ahead_ms": TaskGauge(
        "label_topic_ahead_seconds", "Timestamp of the newest label minus timestamp of the newest event", 0.001
    ),
    "rounds": TaskGauge("model_sharing_rounds", "Exchanges of models with other partitions since the partition began"),
    "refused": TaskGauge("model_sharing_refused_updates", "Updates since the restore that could not be merged"),
    "incompatible": TaskGauge(
        "model_sharing_incompatible_updates", "Updates since the restore of incompatible learners"
    ),
}
"""Figure of `Task.clocks`, `Model.delay_metrics` or `ModelExchange.figures` -> its gauge."""
