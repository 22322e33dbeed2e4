"""What classifier and regressor share: parameters, features, learning, and the interfaces of River and scikit-learn."""

from __future__ import annotations

import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from driftway.learners.learner import REGRESSION
from driftway.learners.spec import Spec
from driftway.library.classes import label_array
from driftway.library.columns import Array, Columns
from driftway.library.online import OnlineLearner


class NotFitted(ValueError, AttributeError):
    """The model has not seen a row yet, so it does not know its features."""


class Estimator(ABC):
    """An online learner that finds out its features from the first row.

    Parameters
    ----------
    learner : str
        As on the command line: ``NAME`` or ``NAME:parameter=value,...``.
    standardize : bool
        Whether features are standardised online, as in a worker.
    """

    task: ClassVar[str]
    parameters: ClassVar[tuple[str, ...]] = "learner", "standardize"
    _columns: Columns | None = None
    _online: OnlineLearner | None = None
    _begun_with: tuple[str, bool] | None = None
    """`learner` and `standardize` of `_online`, which `set_params` does not change."""

    def __init__(self, learner: str = "auto", *, standardize: bool = True) -> None:
        self.learner, self.standardize = learner, standardize
        _register_with_river(type(self))

    # River

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn a row.

        Parameters
        ----------
        x : dict or sequence
            Features by name, in any order, or by position.
        y : object
            Its label.

        Raises
        ------
        ValueError
            A feature or the label cannot be used; the model is unchanged.
        """
        columns = self._columns or Columns.of_row(x)
        row, target = columns.row(x), self._target(y)
        self._ready(columns).learn(row, target)

    @abstractmethod
    def predict_one(self, x: Any) -> Any:
        """Predict a row's label, without learning from it. Errors as of `learn_one`."""

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn the rows of a data frame of pandas in their order, with the bits of `learn_one`.

        Errors as of `predict_many`.
        """
        columns = self._columns_of_frame(X)
        if len(X):
            self._learn_batch(X, y, columns)

    def predict_many(self, X: Any) -> Any:
        """Predict the rows of a data frame of pandas, as `predict_one` does: a Series with its index.

        Raises
        ------
        ValueError
            As of `partial_fit`; or X is no data frame of pandas.
        """
        score, _ = self._predict_frame(X)
        return sys.modules["pandas"].Series(self._predictions(score), index=X.index)

    def clone(self, new_params: Mapping[str, Any] | None = None, include_attributes: bool = False) -> Self:
        """Create an untrained model of the same parameters, of which `new_params` replace some."""
        made = type(self)(**{**self.get_params(), **(new_params or {})})
        if include_attributes:
            made.__setstate__(self.__getstate__())
        return made

    # scikit-learn

    def fit(self, X: Any, y: Any) -> Self:
        """Forget everything, then learn rows in their order, once. Parameters and errors as of `partial_fit`."""
        self._forget()
        return self.partial_fit(X, y)

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn rows in their order.

        Parameters
        ----------
        X : table
            n rows of d features: an array, a list of lists, or a data frame, whose columns may come in any order.
        y : sequence
            Their n labels.

        Raises
        ------
        ValueError
            A feature or a label cannot be used; the model is unchanged.
        """
        self._learn_batch(X, y)
        return self

    def predict_then_update(self, X: Any, y: Any) -> NDArray[Any]:
        """Predict each row, then learn it before the next one; return the predictions, for prequential evaluation.

        Parameters and errors as of `partial_fit`.
        """
        score, _ = self._learn_batch(X, y)
        return self._predictions(score)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the labels of rows, without learning from them.

        Raises
        ------
        NotFitted
            No row has been learned yet.
        ValueError
            As of `partial_fit`.
        """
        score, _ = self._predict_batch(X)
        return self._predictions(score)

    @abstractmethod
    def score(self, X: Any, y: Any) -> float:
        """Return how good the predictions of rows are, without learning from them: 1 is best."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's parameters."""
        return {name: getattr(self, name) for name in self.parameters}

    def set_params(self, **params: Any) -> Self:
        """Change parameters of the constructor; they hold from the next `fit` on, or before the first row.

        Raises
        ------
        ValueError
            There is no such parameter.
        """
        for name, value in params.items():
            if name not in self.parameters:
                raise ValueError(f"there is no parameter {name!r}; parameters are {', '.join(self.parameters)}")
            setattr(self, name, value)
        return self

    # What it knows.

    @property
    def n_features_in_(self) -> int:
        """Number of features; an AttributeError before the first row."""
        return self._seen().n_features

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the features in the order of the learner's columns; an AttributeError if they have none."""
        names = self._seen().names
        if names is None:
            raise AttributeError("the features have no names")
        return np.array(names, np.object_)

    def experts(self) -> dict[str, float]:
        """Expert -> weight, for a learner that mixes experts, such as ``auto``; empty for others."""
        return {} if self._online is None else self._online.learner.experts()

    def __repr__(self) -> str:
        given = [repr(self.learner)]
        given += [f"{name}={value!r}" for name, value in self.get_params().items() if value != self._default(name)]
        known = "" if self._columns is None else f" of {self._columns.n_features} features"
        return f"{type(self).__name__}({', '.join(given)}){known}"

    def __getstate__(self) -> dict[str, Any]:
        known = None if self._columns is None else self._columns.state()
        state = None if self._online is None else self._online.state()
        return {**self.get_params(), "_names": known, "_state": state, "_begun_with": self._begun_with}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        for name in self.parameters:
            setattr(self, name, state[name])
        self._columns = self._online = None
        self._begun_with = state.get("_begun_with")
        if state["_names"] is not None:
            self._columns = Columns(*state["_names"])
        if state["_state"] is not None and self._columns is not None:
            self._ready(self._columns).set_state(state["_state"])

    def __sklearn_is_fitted__(self) -> bool:
        return self._columns is not None

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=True))

    # River asks for these.

    _supervised: ClassVar[bool] = True
    _tags: ClassVar[frozenset[str]] = frozenset()
    _mutable_attributes: ClassVar[frozenset[str]] = frozenset()
    _is_stochastic: ClassVar[bool] = False  # random numbers come from seeds among the parameters

    def _get_params(self) -> dict[str, Any]:
        return self.get_params()

    @property
    def _raw_memory_usage(self) -> int:
        return 0 if self._online is None else sum(map(len, self._online.state()))

    # What the two kinds differ in.

    @abstractmethod
    def _target(self, y: Any) -> float:
        """Return a label as learners take it."""

    @abstractmethod
    def _targets(self, y: NDArray[Any]) -> Array:
        """Return labels as learners take them, f8[n]."""

    @abstractmethod
    def _predictions(self, score: Array) -> NDArray[Any]:
        """Return scores as labels."""

    @abstractmethod
    def _n_classes(self) -> int:
        """K; 0 in regression."""

    @abstractmethod
    def _known_labels(self) -> list[Any]:
        """Return the classes known so far, in the order of their indices; none in regression."""

    # Model files.

    def learned(self) -> tuple[Columns, OnlineLearner]:
        """Return its features and its learner; errors as of `predict`."""
        columns = self._seen()
        return columns, self._ready(columns)

    @property
    def begun_with(self) -> tuple[str, bool]:
        """`learner` and `standardize` as they were at the first row, or as they are before it."""
        return self._begun_with or (self.learner, self.standardize)

    def begin_with(self, columns: Columns, online: OnlineLearner) -> None:
        """Continue with these features and this learner."""
        self._columns, self._online, self._begun_with = columns, online, self.begun_with

    def save(self, path: str | Path) -> None:
        """Write a model file, from which a worker starts with ``--warm-start``.

        Raises
        ------
        UsageFailure
            The file cannot be written.
        ValueError
            Nothing has been learned yet, a class or a name of a feature cannot be stored, or the model reads events:
            such a file is exported from a worker.
        """
        from driftway.library.save import save

        columns, online = self.learned()
        save(path, columns, online, self.begun_with, self._known_labels())

    # Both.

    def _ready(self, columns: Columns) -> OnlineLearner:
        """Return the learner, made for these features if it does not exist yet."""
        if self._online is not None:
            return self._online
        text, standardize = self.begun_with
        learner = Spec.parse(text).create(columns.n_features, self._n_classes(), self.task, standardize)
        online = OnlineLearner(learner)
        self.begin_with(columns, online)
        return online

    def _learn_batch(self, X: Any, y: Any, columns: Columns | None = None) -> tuple[Array, NDArray[np.int64]]:
        """Predict and learn a table's rows; as `OnlineLearner.learn_batch`. `columns` are its own if not given."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        columns = columns or self._columns or Columns.of_table(X)
        rows = columns.table(X)
        labels = self._labels_of(y, len(rows))
        if not len(rows):
            raise ValueError(f"Found array with 0 sample(s) (shape={rows.shape}) while a minimum of 1 is required.")
        targets = self._targets(labels)
        return self._ready(columns).learn_batch(rows, targets)

    @staticmethod
    def _labels_of(y: Any, n: int) -> NDArray[Any]:
        """Return the labels of n rows, [n]; errors as of `partial_fit`."""
        labels = label_array(y)
        if labels.ndim == 2 and labels.shape[1] == 1:
            kind = _sklearn_exception("DataConversionWarning", UserWarning)
            warnings.warn("A column-vector y was passed when a 1d array was expected", kind, stacklevel=4)
            labels = labels[:, 0]
        if labels.shape != (n,):
            raise ValueError(f"y has a bad input shape {labels.shape}: X has {n} rows, each with one label")
        return labels

    def _predict_batch(self, X: Any) -> tuple[Array, NDArray[np.int64]]:
        """As `OnlineLearner.predict_batch`, of a table's rows."""
        columns = self._seen()
        return self._ready(columns).predict_batch(columns.table(X))

    def _predict_frame(self, X: Any) -> tuple[Array, NDArray[np.int64]]:
        """As `_predict_batch`, of a data frame of pandas, also before the first label."""
        columns = self._columns_of_frame(X)
        return self._ready(columns).predict_batch(columns.table(X))

    def _columns_of_frame(self, X: Any) -> Columns:
        """Return the columns of the model, or those that the first row of a data frame of pandas has as a dict."""
        pandas = sys.modules.get("pandas")
        if pandas is None or not isinstance(X, pandas.DataFrame):
            raise ValueError(f"X is {type(X).__name__}, not a data frame of pandas: predict takes other tables")
        return self._columns or Columns.of_row(dict.fromkeys(X.columns))

    def _seen(self) -> Columns:
        if self._columns is None:
            raise _sklearn_exception("NotFittedError", NotFitted)(
                f"This {type(self).__name__} has not learned any row yet: call fit or learn_one first"
            )
        return self._columns

    def _forget(self) -> None:
        self._columns = self._online = self._begun_with = None

    def _default(self, name: str) -> Any:
        return {"learner": self.learner, "standardize": True}.get(name)


def _sklearn_exception(name: str, own: Any) -> Any:
    """Return an exception of scikit-learn if that is loaded, else our own."""
    return getattr(sys.modules.get("sklearn.exceptions"), name, own)


def _register_with_river(kind: type[Estimator]) -> None:
    """Declare the class as one of River's, whose functions ask for the class of a model, if River is loaded."""
    base = sys.modules.get("river.base")
    if base is not None:
        (base.MiniBatchRegressor if kind.task == REGRESSION else base.MiniBatchClassifier).register(kind)
