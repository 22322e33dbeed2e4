"""Model files: save a program's model for a worker, and load a worker's model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from driftway import __version__
from driftway.learners.spec import Spec
from driftway.library.classes import label_of, word_of
from driftway.library.classifier import Classifier
from driftway.library.columns import Columns
from driftway.library.estimator import Estimator
from driftway.library.online import OnlineLearner
from driftway.library.regressor import Regressor
from driftway.worker.settings import ModelSettings
from driftway.worker.state import model_file
from driftway.worker.state.model import Model
from driftway.worker.wire.codec import write_json
from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.events import REGRESSION, Records, Schema, Target

LABELS, TEXT = "labels", "text"
"""Key and value of a file's origin if all labels are text in the program: ``"1"`` is then not read as a number."""


class EventColumns(Columns):
    """The features of events as they are on a topic, read by a model file's schema.

    Missing values are filled in as they were when the file was written.

    Parameters
    ----------
    model : Model
        Of the file; its decoder and imputer are used.
    """

    def __init__(self, model: Model) -> None:
        super().__init__(model.columns, len(model.columns))
        self._model = model

    def state(self) -> tuple[tuple[str, ...] | None, int]:
        raise ValueError("this model reads events of a schema: load its file again instead of copying it")

    def row(self, x: Any) -> Any:
        """Return the numbers of an event: a dict, or JSON in bytes."""
        event = x if isinstance(x, bytes) else write_json(x)
        filled = self._model.imputer
        before = b"" if filled is None else filled.state.memory.tobytes()
        batch = self._model.decode(Records.of_values(ListColumn([event])))
        if filled is not None:
            filled.state.memory[:] = np.frombuffer(before, np.uint8)
        if batch.rejected and not batch.rejected[0].set_aside:
            raise ValueError(f"the event cannot be used: {batch.rejected[0].reason}")
        return batch.X[0]

    def table(self, X: Any) -> Any:
        """Return the rows of a list of events, or of a table of the columns that the schema makes of them."""
        if isinstance(X, list | tuple) and len(X) and isinstance(X[0], Mapping | bytes):
            return np.array([self.row(x) for x in X])
        return super().table(X)


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


def save(estimator: Estimator, path: str | Path) -> None:
    """Write a model file, from which a worker starts with ``--warm-start``.

    Raises
    ------
    UsageFailure
        The file cannot be written.
    ValueError
        Nothing has been learned yet, or the model reads events: such a file is exported from a worker.
    """
    columns, online = estimator.learned()
    if isinstance(columns, EventColumns):
        raise ValueError("this model reads events of a schema: export its file from a worker")
    labels = estimator.classes_.tolist() if isinstance(estimator, Classifier) else []
    if len(labels) < online.learner.n_classes:
        raise ValueError(
            f"a file names all {online.learner.n_classes} classes, of which {len(labels)} came so far: say which there "
            "are, as in classes=['a', 'b', 'c']"
        )
    for name in columns.names or ():
        if not isinstance(name, str) or not _is_unicode(name):
            raise ValueError(f"the feature {name!r} cannot be stored: names of features are text")
    is_text = bool(labels) and all(isinstance(label, str) for label in labels)
    words = [_stored(label, is_text) for label in labels]
    named = words != [str(k) for k in range(len(labels))]
    target = Target(estimator.task, len(labels), tuple(words) if named else ())
    text, standardize = estimator.begun_with
    settings = ModelSettings((Spec.parse(text),), target, columns.n_features, standardize=standardize)
    model, (memory, calibration) = Model(settings, 0), online.state()
    model.champion.state.memory[:] = np.frombuffer(memory, np.uint8)
    if calibration:
        model.monitors.confidence.models[0].begin_with(calibration)
    saved = replace(model.save(), schema=Schema(columns.n_features, columns.names))
    origin = {"made_by": f"driftway {__version__}"}
    if is_text:
        origin[LABELS] = TEXT
    model_file.save(path, model_file.pack(model, saved, 0, origin))


def _stored(label: Any, is_text: bool) -> str:
    """Return a class as the word that a file has for it.

    Raises
    ------
    ValueError
        A loaded model would have another class instead.
    """
    word = word_of(label)
    if not _is_unicode(word) or not (is_text or label_of(word) == label):
        raise ValueError(f"the class {label!r} cannot be stored: classes are all text, or numbers and truth values")
    return word


def _is_unicode(text: str) -> bool:
    """Whether a text can be encoded: not if it has half of a character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
