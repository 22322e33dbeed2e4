"""Rolling metrics of a learner's predictions, by task.

Metrics use scores and labels only. Their memory is one `State`, which is saved and restored with the learner's, and
how rows are split into batches does not affect it.
"""

from driftway.learners.learner import REGRESSION
from driftway.learners.metrics.classification import ClassificationMetrics
from driftway.learners.metrics.regression import RegressionMetrics

WINDOW = 1000
"""Rows of the rolling window: docs/algorithms/metrics.md#metrics."""

Metrics = ClassificationMetrics | RegressionMetrics


def create_metrics(task: str, n_classes: int, n_scores: int, window: int = WINDOW) -> Metrics:
    """Create the metrics for a learner's task.

    Parameters
    ----------
    task, n_classes, n_scores
        Those of the learner.
    window : int
        Rows of the rolling window, >= 1.

    Raises
    ------
    ValueError
        The window is empty.
    """
    if task == REGRESSION:
        return RegressionMetrics(window)
    return ClassificationMetrics(n_classes, n_scores, window)
