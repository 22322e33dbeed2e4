"""Model files as models of MLflow; skipped where MLflow is not installed, as it is large."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import driftway as dw
from driftway.worker.state import model_file
from driftway.worker.state.model import Model
from driftway.worker.wire.schema.schema import EventSchema
from tests.unit.worker.rows import model_settings, records

pytestmark = pytest.mark.filterwarnings("default")  # its own warnings are not ours to mend

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "use-the-library.md"


@pytest.fixture
def mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """MLflow, with a tracking store of the test's own in its folder."""
    found = pytest.importorskip("mlflow", reason="MLflow is not installed: pip install 'driftway[mlflow]'")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    found.set_tracking_uri((tmp_path / "runs").as_uri())
    return found


@pytest.fixture
def table() -> tuple[Any, Any]:
    import pandas

    rows = list(dw.stream("agrawal", rows=600))
    return pandas.DataFrame([x for x, _ in rows]), np.array([y for _, y in rows])


def test_a_saved_model_predicts_the_same_and_continues_learning(
    mlflow: Any, tmp_path: Path, table: tuple[Any, Any]
) -> None:
    from driftway.mlflow import load_model, save_model

    X, y = table
    model = dw.Classifier("arow").fit(X[:400], y[:400])
    save_model(model, tmp_path / "saved")
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "saved"))
    shuffled = X[400:][list(reversed(X.columns))]
    assert (loaded.predict(shuffled) == model.predict(X[400:])).all()
    save_model(model, tmp_path / "sure", predict_fn="predict_proba")
    assert (mlflow.pyfunc.load_model(str(tmp_path / "sure")).predict(X) == model.predict_proba(X)).all()
    again = load_model(tmp_path / "saved")
    assert (again.predict_then_update(X[400:], y[400:]) == model.predict_then_update(X[400:], y[400:])).all()
    needs = (tmp_path / "saved" / "requirements.txt").read_text().split()
    assert needs == [f"driftway=={dw.__version__}", f"mlflow=={mlflow.__version__}"]


def test_a_model_of_a_run_is_a_file_for_a_worker(mlflow: Any, table: tuple[Any, Any]) -> None:
    from driftway.mlflow import fetch, load_model, log_model

    X, y = table
    model = dw.Classifier("arow").fit(X, y)
    model.save("own.driftway")
    with mlflow.start_run():
        info = log_model("own.driftway", "loans")
    assert fetch(info.model_uri).read_bytes() == Path("own.driftway").read_bytes()
    assert (load_model(info.model_uri).predict(X) == model.predict(X)).all()


def test_a_model_that_reads_events_takes_rows_as_events(mlflow: Any, tmp_path: Path) -> None:
    import pandas

    from driftway.mlflow import load_model, save_model

    schema = EventSchema.parse(("amount", "colour:one-of=red|blue"), label="fraud", missing="mean")
    made = Model(model_settings("arow", events=schema), 0)
    colours = "red", "blue"
    made.advance(
        records([f'{{"amount": {i % 7}, "colour": "{colours[i % 2]}", "fraud": {i % 2}}}'.encode() for i in range(200)])
    )
    model_file.save(tmp_path / "a.driftway", model_file.pack(made, made.save(), 200, {"made_by": "a test"}))
    save_model(tmp_path / "a.driftway", tmp_path / "saved")
    events = [{"amount": 2.5, "colour": "blue"}, {"amount": 3.5, "colour": "red"}, {"colour": "red"}]
    wanted = [load_model(tmp_path / "saved").predict_one(event) for event in events]
    assert wanted == [1, 0, 0]
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "saved"))
    assert list(loaded.predict(pandas.DataFrame(events))) == wanted


@pytest.mark.usefixtures("mlflow")
def test_the_example_on_the_page_works(table: tuple[Any, Any]) -> None:
    (block,) = re.findall(r"(?ms)^```py\n(.*?)^```$", PAGE.read_text(encoding="utf-8"))
    X, y = table
    names = {"model": dw.Classifier("arow").fit(X, y), "X": X}
    exec(compile(block, PAGE.name, "exec"), names)
    assert (names["predicted"] == names["model"].predict(X)).all()
