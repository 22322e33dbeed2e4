"""The classifier of the library."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.parameters import ParameterError
from driftway.learners.learner import CLASSIFICATION
from driftway.learners.metrics.prequential import predicted_class
from driftway.learners.metrics.probabilities import link_of, probabilities
from driftway.learners.metrics.reliability import MILLION
from driftway.learners.spec import Spec
from driftway.library.classes import Classes, as_array, distinct, label_array
from driftway.library.columns import Array, Columns
from driftway.library.estimator import Estimator


class Classifier(Estimator):
    """Learns classes row by row, with the bits of a worker that reads the same rows.

    >>> model = Classifier("auto")
    >>> for x, y in rows:
    ...     predicted = model.predict_one(x)
    ...     model.learn_one(x, y)

    Parameters
    ----------
    learner : str
        As on the command line: ``NAME`` or ``NAME:parameter=value,...``; it must be able to learn classes.
    standardize : bool
        Whether features are standardised online, as in a worker.
    classes : iterable or int or None
        The classes in the order of their indices, as a worker's ``--labels``; or their number, and they are numbered as
        they come. None: two, or those of the first table. True, False, 1 and 0 are their own indices.

    Raises
    ------
    ParameterError, UnknownLearner
        The learner or a parameter is not valid; raised with the first row.
    """

    task = CLASSIFICATION
    parameters = (*Estimator.parameters, "classes")
    _known: Classes | None = None

    def __init__(
        self, learner: str = "auto", *, standardize: bool = True, classes: Iterable[Any] | int | None = None
    ) -> None:
        super().__init__(learner, standardize=standardize)
        self.classes = classes

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes known so far, in the order of their indices."""
        self._seen()
        return as_array(self._labels().known)

    def partial_fit(self, X: Any, y: Any, classes: Iterable[Any] | None = None) -> Self:
        """Learn rows in their order; before the first one, `classes` may say which classes there are."""
        if classes is not None and self._known is None:
            self._known = Classes(_sorted(classes))
        return super().partial_fit(X, y)

    def predict_one(self, x: Any) -> Any:
        columns = self._columns or Columns.of_row(x)
        score = self._ready(columns).score(columns.row(x))
        return self._labels().label(int(self._known_only(score).argmax()) if len(score) > 1 else int(score[0] >= 0.0))

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """Return class -> probability of a row, calibrated on the rows before; empty before the first label."""
        columns, labels = self._columns or Columns.of_row(x), self._labels()
        score, millionths = self._ready(columns).probability(columns.row(x))
        if len(score) == 1 and len(labels.known) == 2:
            right = millionths / MILLION
            pair = (1.0 - right, right) if score[0] >= 0.0 else (right, 1.0 - right)
            return dict(zip(labels.known, pair, strict=True))
        shares = self._known_shares(score[None], np.array([millionths]))
        return dict(zip(labels.known, shares[0].tolist(), strict=True))

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of rows, f8[n, K], in the order of `classes_`; errors as of `predict`."""
        return self._known_shares(*self._predict_batch(X))

    def learn_many(self, X: Any, y: Any) -> None:
        self._labels()  # a first batch may lack classes, so they are numbered as they come
        super().learn_many(X, y)

    def predict_proba_many(self, X: Any) -> Any:
        """Return the probabilities of a data frame's rows, with its index and a column for each class known so far.

        Errors as of `predict_many`.
        """
        shares = self._known_shares(*self._predict_frame(X))
        return sys.modules["pandas"].DataFrame(shares, index=X.index, columns=self._labels().known)

    def score(self, X: Any, y: Any) -> float:
        """Return the accuracy on rows, without learning from them."""
        predicted = self.predict(X)
        labels = self._labels_of(y, len(predicted))
        known = set(self._labels().known)
        if len(labels) and known.isdisjoint(labels.tolist()):
            raise ValueError(f"none of the labels is a class of the model: {labels[0]!r} is not one of {known}")
        return float((predicted == labels).mean())

    def __getstate__(self) -> dict[str, Any]:
        known = None if self._known is None else (self._known.n_classes, *self._known.known)
        return {**super().__getstate__(), "_classes": known}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        if (known := state["_classes"]) is not None:
            self._known = Classes(known[0])
            for label in known[1:]:
                self._known.index(label)
        super().__setstate__(state)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags(poor_score=True, multi_class=_learns_many(self.learner))
        return tags

    @property
    def _multiclass(self) -> bool:
        return self._n_classes() > 2

    def _labels(self) -> Classes:
        if self._known is None:
            self._known = Classes(self.classes)
        return self._known

    def _target(self, y: Any) -> float:
        return self._labels().index(y)

    def _targets(self, y: NDArray[Any]) -> Array:
        if y.dtype.kind == "f" and not (y == np.rint(y)).all():
            raise ValueError("Unknown label type: continuous numbers are no classes, a Regressor learns them")
        if self._known is None and self.classes is None:
            found = _sorted(y)
            if len(found) > 2 and not _learns_many(self.learner):
                raise ValueError(
                    "Only binary classification is supported. The type of the target is multiclass: "
                    f"{self.learner} learns two classes, y has {len(found)}; ova:{self.learner} may learn them"
                )
            self._known = Classes(found)
        return self._labels().indices(y)

    def _predictions(self, score: Array) -> NDArray[Any]:
        labels = self._labels()
        every = as_array([labels.label(k) for k in range(labels.n_classes)])
        found: NDArray[Any] = every[predicted_class(self._known_only(score), self._kind())]
        return found

    def _known_only(self, score: Array) -> Array:
        """Return the scores without those of classes that have not come yet, f8[.., k], but at least one."""
        return score[..., : max(len(self._labels().known), 1)]

    def _known_shares(self, score: Array, millionths: NDArray[np.int64]) -> Array:
        """As `_shares`, of the classes that have come, f8[n, .]."""
        shares, known = self._shares(score, millionths), len(self._labels().known)
        return shares if known == shares.shape[1] else shares[:, :known] / shares[:, :known].sum(axis=1, keepdims=True)

    def _shares(self, score: Array, millionths: NDArray[np.int64]) -> Array:
        """Return probabilities, f8[n, K]: the calibrated one of the class predicted, the rest as the scores have it.

        Where the scores say that another class is more likely, the rest is mixed with equal shares just so far that
        none is: a calibrated probability is at least 1 / K.
        """
        k, kind = self._n_classes(), self._kind()
        every, predicted = np.arange(len(score)), predicted_class(score, kind)
        right = millionths / MILLION
        link = None if self._online is None or kind == "binary" else link_of(self._online.learner)
        rest = np.ones((len(score), k)) if link is None else probabilities(score, link)
        rest[every, predicted] = 0.0
        total = rest.sum(axis=1, keepdims=True)
        equal = np.full_like(rest, 1.0 / (k - 1))
        equal[every, predicted] = 0.0
        rest = np.where(total > 0.0, rest / np.where(total > 0.0, total, 1.0), equal)
        most, odds = rest.max(axis=1), right / (1.0 - right)
        keep = np.where(most > odds, (odds - 1.0 / (k - 1)) / np.maximum(most - 1.0 / (k - 1), 1e-12), 1.0)[:, None]
        shares: Array = (keep * rest + (1.0 - keep) * equal) * (1.0 - right)[:, None]
        shares[every, predicted] = right
        return shares

    def _n_classes(self) -> int:
        return self._labels().n_classes

    def _known_labels(self) -> list[Any]:
        known: list[Any] = self.classes_.tolist()
        return known

    def _kind(self) -> str:
        """As `driftway.learners.learner.Learner.kind`."""
        return "multiclass" if self._multiclass else "binary"

    def _forget(self) -> None:
        super()._forget()
        self._known = None


def _sorted(labels: Iterable[Any]) -> list[Any]:
    """Return the distinct labels as Python objects in their order."""
    values, _ = distinct(label_array(labels if isinstance(labels, np.ndarray) else list(labels)))
    found: list[Any] = values.tolist()
    if len(found) < 2:
        raise ValueError("a classifier needs at least two classes; y has only 1 class: say which, as in classes=[0, 1]")
    return found


def _learns_many(learner: str) -> bool:
    """Whether a learner learns more than two classes."""
    try:
        Spec.parse(learner).min_features(3)
    except ParameterError:
        return False
    return True
