"""Model files in MLflow: save, log and load them as models of its flavour `python_function`. Needs the extra `mlflow`.

>>> import driftway.mlflow
>>> with mlflow.start_run():
...     info = driftway.mlflow.log_model(model, name="fraud")
>>> mlflow.pyfunc.load_model(info.model_uri).predict(table)
>>> driftway.mlflow.load_model(info.model_uri).learn_one({"amount": 12.5}, True)

What is stored is a model file, as `driftway worker --warm-start` and `driftway.load` read it.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from driftway import __version__
from driftway.library.classifier import Classifier
from driftway.library.estimator import Estimator
from driftway.library.event_columns import EventColumns
from driftway.library.load import load
from driftway.library.regressor import Regressor

FILE = "model.driftway"
"""Name of the model file within a model of MLflow, in its folder `data`."""
PREDICT = "predict"
PREDICT_FN = "predict_fn"
"""Name in the `model_config` of what MLflow's `predict` calls: `predict`, or `predict_proba`."""


def save_model(model: Estimator | str | Path, path: str | Path, predict_fn: str = PREDICT, **more: Any) -> None:
    """Save a model in a folder, as `mlflow.pyfunc.save_model`.

    Parameters
    ----------
    model : Estimator or path
        A model of the library, or a model file, as of `driftway train` or `driftway snapshot export`.
    path : str or Path
        A folder that does not exist yet.
    predict_fn : str
        What MLflow's `predict` is to call: ``predict`` or ``predict_proba``.
    **more
        As in `mlflow.pyfunc.save_model`.
    """
    import mlflow.pyfunc

    with _model_file(model) as file:
        mlflow.pyfunc.save_model(path, data_path=str(file), **_given(predict_fn, more))


def log_model(model: Estimator | str | Path, name: str, predict_fn: str = PREDICT, **more: Any) -> Any:
    """Log a model to the active run, as `mlflow.pyfunc.log_model`; return its description, with the `model_uri`.

    Parameters
    ----------
    model, predict_fn
        As in `save_model`.
    name : str
        The model's name.
    **more
        As in `mlflow.pyfunc.log_model`: `registered_model_name` registers it, too.
    """
    import mlflow.pyfunc

    with _model_file(model) as file:
        return mlflow.pyfunc.log_model(name=name, data_path=str(file), **_given(predict_fn, more))


def load_model(model_uri: str | Path) -> Classifier | Regressor:
    """Load a model as the library's, to predict and to learn on; `model_uri` as in `mlflow.pyfunc.load_model`."""
    return load(fetch(model_uri))


def fetch(model_uri: str | Path) -> Path:
    """Return the path of a model's file, downloaded if it is not on this machine: what ``--warm-start`` takes."""
    import mlflow.artifacts

    return Path(mlflow.artifacts.download_artifacts(artifact_uri=str(model_uri))) / "data" / FILE


class Predictor:
    """What MLflow calls.

    Parameters
    ----------
    model : Classifier or Regressor
        Of the model file.
    predict_fn : str
        Name of the method that predicts.
    """

    def __init__(self, model: Classifier | Regressor, predict_fn: str) -> None:
        self._model = model
        self._predict = getattr(model, predict_fn)
        self._reads_events = isinstance(model.learned()[0], EventColumns)

    def predict(self, data: Any, params: Mapping[str, Any] | None = None) -> Any:
        """Return the predictions of a data frame's rows, or of an array's; `params` has nothing to say."""
        if self._reads_events and hasattr(data, "to_dict"):
            data = data.to_dict("records")  # each row is an event; what is missing in it becomes null
        return self._predict(data)


def _load_pyfunc(path: str, model_config: Mapping[str, Any] | None = None) -> Predictor:
    """Load a model for MLflow, which calls this by its name."""
    return Predictor(load(path), (model_config or {}).get(PREDICT_FN, PREDICT))


def _given(predict_fn: str, more: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of MLflow's functions."""
    import mlflow

    # Without a list MLflow would load the model in a process of its own to see what it imports.
    needs = {"pip_requirements": [f"driftway=={__version__}", f"mlflow=={mlflow.__version__}"]}
    return {"loader_module": __name__, "model_config": {PREDICT_FN: predict_fn}, **needs, **more}


@contextmanager
def _model_file(model: Estimator | str | Path) -> Iterator[Path]:
    """Write a model's file, or copy it, under the name that it has in MLflow."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / FILE
        if isinstance(model, Estimator):
            model.save(file)
        else:
            shutil.copyfile(model, file)
        yield file
