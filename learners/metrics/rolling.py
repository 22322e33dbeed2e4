"""Rolling quality of a learner's predictions: the metrics for a task, and what both kinds share.

Metrics look at scores and labels only. Their memory is one `State`, so that it is saved and restored beside
the learner's, and how the rows were cut into batches changes no bit of it.
"""

from driftway.learners.learner import REGRESSION
from driftway.learners.metrics.classification import ClassificationMetrics
from driftway.learners.metrics.regression import RegressionMetrics

WINDOW = 1000
"""Rows of the rolling window: docs/algorithms/metrics.md#metrics."""

Metrics = ClassificationMetrics | RegressionMetrics


def create_metrics(task: str, n_classes: int, n_scores: int, window: int = WINDOW) -> Metrics:
    """The metrics for a learner's task.

    Parameters
    ----------
    task, n_classes, n_scores
        Of the learner.
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
