"""A model of River with the interface of a learner: it runs in Python, row by row, and has no snapshot."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from driftway.learners.contract import Array, Counts, Learner, ParameterError, UpdateRule, field
from driftway.learners.engine.parameters import Parameters
from driftway.learners.engine.update_loop import no_op
from driftway.learners.learner import REGRESSION, SnapshotMismatch
from driftway.worker.errors import LearnerFailed
from driftway.worker.evaluation.river.classes import PREFIX, create, find_class, import_river, in_words, seed_of

MAX_LOG_ODDS = 40.0
"""Bound of a score; River's probabilities may be 0 and 1. A log loss clamps at 34.5."""
SMALLEST = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class RiverParameters:
    """What was given: the class within River, its parameters as text, and the seed of a model that takes one."""

    model: str
    given: tuple[tuple[str, str], ...]
    seed: int | None

    def as_dict(self) -> dict[str, Any]:
        """The arguments of `RiverLearner` that create the same model."""
        return {"model": self.model, "given": self.given}


class Learned(NamedTuple):
    """The state that can be seen; the rest is the model's own."""

    rows: Counts = field("i8[1]", "labelled rows that the model has learned")


class RiverLearner(Learner):
    """A model of River: classifier or regressor, behind the same standardiser and metrics as every learner.

    A score is what the model says: in regression its number; of two classes the log-odds of class 1 that its
    probabilities give; of more classes their probabilities. The class predicted is always that of the model's
    `predict_one`. Where the probabilities say otherwise, as where two are equal, the score is just as far on the side
    of that class as it must be. A model without probabilities scores -1 and 1, or 0 and 1. Before it can say anything,
    a score is 0.

    Parameters
    ----------
    n_features, n_classes, task
        As in `Learner`.
    model : str
        The class within River, as ``tree.HoeffdingTreeClassifier``.
    given : sequence of (name, value)
        Its parameters, as text.

    State
    -----
    That of the model is its own: a learner cannot take it apart, so `snapshot` and `restore` refuse.

    Cost
    ----
    A Python dict and two or three calls of the model per row: 100 to 100,000 rows a second.

    Raises
    ------
    ParameterError
        River is not installed, there is no such model, or it does not take the parameters, the task, or such rows.

    Source
    ------
    Montiel et al., River: machine learning for streaming data in Python, JMLR 2021.
    """

    Params: ClassVar[type[Parameters]] = Parameters
    composite = True

    def __init__(
        self,
        n_features: int,
        n_classes: int,
        task: str,
        *,
        model: str,
        given: Sequence[tuple[str, str]],
    ) -> None:
        self.name = f"{PREFIX}:{model}"
        self._path, self._given = model, tuple(given)
        found, example = find_class(model), create(model, dict(given))
        self.tasks = tasks_of(found, example)
        self._most_probable = predicts_the_most_probable(found)
        numbers = range(n_features)
        # Numbers as names: the order of a set of texts differs between processes. Factorisation machines need texts.
        self._names: Sequence[Any] = numbers
        binary = task != REGRESSION and n_classes == 2
        if task != REGRESSION and not binary and self.tasks == ("binary",):
            raise ParameterError(
                f"it learns two classes, not {n_classes}; "
                f"{PREFIX}:multiclass.OneVsRestClassifier:classifier={model} learns them one against all"
            )
        self._class = bool if binary else int
        self._sure = False
        if ("regression" if task == REGRESSION else "binary" if binary else "multiclass") in self.tasks:
            try:
                self._sure = self._probe(n_classes, task)
            except Exception:
                self._names = [f"x{j}" for j in numbers]
                try:
                    self._sure = self._probe(n_classes, task)
                except Exception as error:
                    raise ParameterError(f"it does not learn rows of {n_features} numbers: {in_words(error)}") from None
        self.link, self.multiclass_link = ("logistic", "direct") if self._sure else (None, None)
        super().__init__(n_features, n_classes, task, model=model, given=tuple(given))

    def rule(self) -> UpdateRule:
        return UpdateRule(no_op, no_op, (), Learned)

    def initialise(self) -> None:
        self._model = self._created()
        self._score_row: Callable[[dict[Any, float], Array], None] = {
            "regression": self._score_number, "binary": self._score_margin, "multiclass": self._score_classes
        }[self.kind]  # fmt: skip

    @cached_property
    def sharing(self) -> None:
        """Nothing is shared: the model stays within the partition."""
        return None

    def identity(self) -> dict[str, Any]:
        return {**super().identity(), "river": import_river().__version__}

    def snapshot(self) -> bytes:
        """Refuse.

        Raises
        ------
        SnapshotMismatch
            Always: the state of a model of River is not in this learner's buffer.
        """
        raise SnapshotMismatch(f"{self.name} has no snapshot: only the model itself knows its state")

    def restore(self, blob: bytes) -> None:
        raise SnapshotMismatch(f"{self.name} cannot be restored from {len(blob)} bytes: it has no snapshot")

    def clone_empty(self) -> Learner:
        return RiverLearner(self.n_features, self.n_classes or 2, self.task, model=self._path, given=self._given)

    def compile_kernels(self) -> None:
        """Compile nothing."""

    def compile_separate_kernels(self) -> None:
        """Compile nothing."""

    def _read(self, parameters: Mapping[str, Any]) -> Any:
        model, given = parameters["model"], parameters["given"]
        return RiverParameters(model, given, seed_of(model, dict(given)))

    def _created(self) -> Any:
        return create(self._path, dict(self._given))

    def _probe(self, n_classes: int, task: str) -> bool:
        """Let a model that is thrown away learn rows of each class; return whether it has probabilities."""
        model, names = self._created(), self._names
        labels = [0.5, -0.5] if task == REGRESSION else [self._class(k) for k in range(min(n_classes, 3))]
        sure = task != REGRESSION
        for t, label in enumerate(labels * 2):
            x = dict(zip(names, (np.arange(len(names)) + t + 0.5).tolist(), strict=True))
            try:
                if sure:
                    log_odds(model.predict_proba_one(x))
            except NotImplementedError:
                sure = False
            if (chosen := model.predict_one(x)) is not None:
                float(chosen)
            model.learn_one(x, label)
        return sure

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        names, learn, of_row, learned = self._names, self._model.learn_one, self._score_row, self.state["rows"]
        read = float if self.task == REGRESSION else self._class
        t = 0
        try:
            for t, (row, label) in enumerate(zip(rows.tolist(), y.tolist(), strict=True)):
                x = dict(zip(names, row, strict=True))
                of_row(x, score[t])
                if not math.isnan(label):
                    learn(x, read(label))
                    learned[0] += 1
        except Exception as error:
            where = f"a row after {learned[0]:,} labelled ones"
            raise LearnerFailed(f"{self.name} has failed at {where}: {in_words(error)}") from error

    def _score_number(self, x: dict[Any, float], score: Array) -> None:
        said = self._model.predict_one(x)
        score[0] = 0.0 if said is None else finite(float(said))

    def _answer(self, x: dict[Any, float]) -> tuple[Mapping[Any, float], Any]:
        """Return probabilities, if it has any, and the class of `predict_one`; None: it has nothing to say yet."""
        probabilities = self._model.predict_proba_one(x) if self._sure else {}
        if not (self._sure and self._most_probable):
            return probabilities, self._model.predict_one(x)
        # As River's default does it; asking again would take as long again.
        return probabilities, max(probabilities, key=probabilities.__getitem__) if probabilities else None

    def _score_margin(self, x: dict[Any, float], score: Array) -> None:
        probabilities, chosen = self._answer(x)
        if chosen is None:
            score[0] = 0.0
            return
        ahead = 1.0 if chosen else -1.0
        if self._sure:
            ahead = log_odds(probabilities)
        score[0] = max(ahead, 0.0) if chosen else min(ahead, -SMALLEST)

    def _score_classes(self, x: dict[Any, float], score: Array) -> None:
        score[:] = 0.0
        probabilities, chosen = self._answer(x)
        if chosen is None:
            return
        for one, share in probabilities.items():
            score[int(one)] = finite(float(share))
        if not self._sure:
            score[int(chosen)] = 1.0
        elif int(np.argmax(score)) != int(chosen):
            score[int(chosen)] = np.nextafter(score.max(), np.inf)


def tasks_of(found: type[Any], example: Any) -> tuple[str, ...]:
    """Return the tasks of a model.

    Raises
    ------
    ParameterError
        It is neither a classifier nor a regressor of single rows and labels.
    """
    from river import base

    if issubclass(found, base.Regressor):
        return ("regression",)
    if issubclass(found, base.Classifier):
        # River's own checks read this property, too.
        return ("binary", "multiclass") if example._multiclass else ("binary",)  # noqa: SLF001
    raise ParameterError("it is neither a classifier nor a regressor")


def predicts_the_most_probable(found: type[Any]) -> bool:
    """Whether a classifier's `predict_one` is River's default: the first class of the largest probability."""
    from river import base

    return getattr(found, "predict_one", None) is base.Classifier.predict_one


def log_odds(probabilities: Mapping[Any, float]) -> float:
    """Return the log-odds of class 1, at most MAX_LOG_ODDS; 0 without probabilities."""
    no, yes = float(probabilities.get(False, 0.0)), float(probabilities.get(True, 0.0))
    if not (yes > 0.0 or no > 0.0):
        return 0.0
    if not (yes > 0.0 and no > 0.0):
        return MAX_LOG_ODDS if yes > 0.0 else -MAX_LOG_ODDS
    return max(-MAX_LOG_ODDS, min(MAX_LOG_ODDS, math.log(yes) - math.log(no)))


def finite(value: float) -> float:
    """Return a score, 0 if it is not finite."""
    return value if math.isfinite(value) else 0.0
