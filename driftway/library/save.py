"""Save what a program learned as a model file, from which a worker starts with ``--warm-start``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from driftway import __version__
from driftway.learners.spec import Spec
from driftway.library.classes import label_of, word_of
from driftway.library.columns import Columns
from driftway.library.event_columns import EventColumns
from driftway.library.online import OnlineLearner
from driftway.worker.settings import ModelSettings
from driftway.worker.state import model_file
from driftway.worker.state.model import Model
from driftway.worker.wire.events import Schema, Target

LABELS, TEXT = "labels", "text"
"""Key and value of a file's origin if all labels are text in the program: ``"1"`` is then not read as a number."""


def save(
    path: str | Path, columns: Columns, online: OnlineLearner, begun_with: tuple[str, bool], labels: Sequence[Any]
) -> None:
    """Write a model file.

    Parameters
    ----------
    path : str or Path
        The file; one that exists is replaced.
    columns, online : Columns, OnlineLearner
        The features, and what has been learned.
    begun_with : str, bool
        The learner as on the command line, and whether it standardizes.
    labels : sequence
        The classes known so far, in the order of their indices; none in regression.

    Raises
    ------
    UsageFailure
        The file cannot be written.
    ValueError
        The model reads events, or its features or classes cannot be stored.
    """
    if isinstance(columns, EventColumns):
        raise ValueError("this model reads events of a schema: export its file from a worker")
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
    target = Target(online.learner.task, len(labels), tuple(words) if named else ())
    text, standardize = begun_with
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
