"""Learners, drift detectors and streams by name."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from driftway.learners.drift import registry as detectors
from driftway.learners.drift.detector import DRIFT, WARNING, Detector
from driftway.learners.learner import CLASSIFICATION, REGRESSION
from driftway.learners.spec import Spec
from driftway.library.classes import Classes, label_of, list_or_number
from driftway.library.classifier import Classifier
from driftway.library.columns import MAX_SHOWN, number_in
from driftway.library.regressor import Regressor


def create(
    learner: str = "auto",
    task: str = CLASSIFICATION,
    *,
    standardize: bool = True,
    classes: Iterable[Any] | int | None = None,
    **parameters: Any,
) -> Classifier | Regressor:
    """Create a model.

    >>> create("auto")
    >>> create("arow", r=0.1, classes=["ham", "spam"])
    >>> create("dfop:mu=0.99", "regression")

    Parameters
    ----------
    learner : str
        ``NAME`` or ``NAME:parameter=value,...``; `driftway learners` lists the names.
    task : str
        ``classification`` or ``regression``.
    standardize, classes
        As in `Classifier`.
    **parameters
        The learner's parameters.

    Raises
    ------
    UnknownLearner, ParameterError
        The learner or a parameter is not valid.
    ValueError
        There is no such task, or there are fewer than two classes, or one twice, or classes of a regressor.
    """
    given = ",".join(
        f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in parameters.items()
    )
    text = learner if not given else f"{learner}{',' if ':' in learner else ':'}{given}"
    spec = Spec.parse(text)
    if task not in (CLASSIFICATION, REGRESSION):
        raise ValueError(f"task is {CLASSIFICATION} or {REGRESSION}, not {task!r}")
    classes = list_or_number(classes)
    if task == REGRESSION:
        if classes is not None:
            raise ValueError("classes are for classification: a regressor predicts numbers")
        spec.min_features(task=task)
        return Regressor(spec.text, standardize=standardize)
    spec.min_features(Classes(classes).n_classes, task)
    return Classifier(spec.text, standardize=standardize, classes=classes)


OTHERS = "kswin takes numbers of any size, and so does page_hinkley with `lam` and `delta` in their unit"
"""Detectors for other numbers than errors between 0 and 1."""


class DriftDetector:
    """A drift detector that takes one value at a time, as River's.

    Parameters
    ----------
    detector : Detector
        What decides.
    """

    def __init__(self, detector: Detector) -> None:
        self._detector, self._value = detector, np.empty(1)
        self.drift_detected = self.warning_detected = self._warned = False

    def update(self, x: float) -> None:
        """Take the next value: 1 for a mistake and 0 for a hit, or a loss; `drift_detected` says what came of it.

        NaN changes nothing. ``adwin``, ``hddm_a`` and ``hddm_w`` count values below 0 as 0 and those above 1 as 1. A
        warning says so once.

        Raises
        ------
        ValueError
            The value is no number; or ``ddm`` or ``eddm``, which count mistakes, get another number than 0 and 1.
        """
        value, name = number_in(x), self._detector.name
        if value is None:
            raise ValueError(f"the value is {repr(x)[:MAX_SHOWN]}, not a number")
        if self._detector.binary and value not in (0.0, 1.0) and not math.isnan(value):
            raise ValueError(f"{name} counts mistakes: give 1 for a mistake or 0 for a hit, not {value}; {OTHERS}")
        if self._detector.clips and not self._warned and not 0.0 <= value <= 1.0 and not math.isnan(value):
            self._warned = True
            warnings.warn(f"{name} counts {value} as {min(max(value, 0.0), 1.0)}; {OTHERS}", stacklevel=2)
        self._value[0] = value
        verdict = self._detector.observe(self._value)[0]
        self.drift_detected, self.warning_detected = bool(verdict == DRIFT), bool(verdict == WARNING)

    def __repr__(self) -> str:
        given = self._detector.parameters.as_dict().items()
        return f"DriftDetector({self._detector.name}: {', '.join(f'{name}={value}' for name, value in given)})"


def detector(name: str, **parameters: Any) -> DriftDetector:
    """Create a drift detector, such as ``adwin``.

    Raises
    ------
    UnknownDetector, ParameterError
        The name or a parameter is not valid.
    """
    return DriftDetector(detectors.create(name, **parameters))


def stream(
    name: str, *, rows: int | None = None, seed: int = 1, **opening: Any
) -> Iterator[tuple[dict[str, float], Any]]:
    """Open a generator, a file or a public stream by name, and yield its rows as (features by name, label).

    A missing label is None if labels are classes. Events of a file that a worker would reject are left out, with a
    warning.

    Parameters
    ----------
    name, rows, seed, **opening
        As in `driftway.producers.streams.open_stream`.

    Raises
    ------
    UsageFailure
        There is no such stream, or it cannot be read.
    """
    from driftway.producers.streams import open_stream

    found = open_stream(name, rows=rows, seed=seed, **opening)
    return _rows(found)


def _rows(found: Any) -> Iterator[tuple[dict[str, float], Any]]:
    names, first = found.feature_names, 0
    labels = None if found.labels is None else [label_of(word) for word in found.labels]
    warned = False
    for X, y in found.blocks():
        rejected = np.isinf(X).all(axis=1) & hasattr(found, "reasons")
        if rejected.any() and not warned:
            row, warned = first + int(rejected.argmax()), True
            warnings.warn(
                f"rows of {found.name} are left out; the first, row {row}: {found.reasons[row]}", stacklevel=2
            )
        for row, label in zip(X[~rejected].tolist(), y[~rejected].tolist(), strict=True):
            known = label if labels is None else None if math.isnan(label) else labels[int(label)]
            yield dict(zip(names, row, strict=True)), known
        first += len(y)
