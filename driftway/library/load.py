"""Load a model file: one of `driftway train`, `driftway snapshot export`, or `save`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from driftway.library.classes import label_of
from driftway.library.classifier import Classifier
from driftway.library.columns import Columns
from driftway.library.event_columns import EventColumns
from driftway.library.online import OnlineLearner
from driftway.library.regressor import Regressor
from driftway.library.save import LABELS, TEXT
from driftway.worker.state import model_file
from driftway.worker.wire.events import REGRESSION


def load(path: str | Path) -> Classifier | Regressor:
    """Load a model file (`driftway train`, `driftway snapshot export`, `save`): its champion, to predict and learn on.

    A file that was learned from fields of events takes such events, as dicts or as JSON in bytes.

    Raises
    ------
    UsageFailure, Failure
        The file cannot be read, or is none of this version; in one sentence.
    ValueError
        It holds no learner yet.
    """
    file = model_file.load(path)
    model = file.model()
    if model.schema is None:
        raise ValueError(f"{path} holds no learner yet: it was written before the first usable event")
    settings, target = model.settings, model.settings.target
    given: dict[str, Any] = {"learner": settings.specs[0].text, "standardize": settings.standardize}
    estimator: Classifier | Regressor
    if target.task == REGRESSION:
        estimator = Regressor(**given)
    else:
        words = target.labels or tuple(map(str, range(target.n_classes)))
        text = (file.origin or {}).get(LABELS) == TEXT
        estimator = Classifier(**given, classes=list(words) if text else list(map(label_of, words)))
    reads_events = settings.events is not None or model.imputer is not None
    columns = EventColumns(model) if reads_events else Columns(model.schema.names, model.schema.n_features)
    online = OnlineLearner(model.champion)
    online.set_state((model.champion.state.memory.tobytes(), model.monitors.confidence.champion_state))
    estimator.begin_with(columns, online)
    return estimator
