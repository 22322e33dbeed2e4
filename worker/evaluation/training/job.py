"""From rows to a model file: collect rows, start or resume the procedure, and build the file and its report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from driftway import __version__
from driftway.learners.engine.parameters import ParameterError
from driftway.learners.engine.state import Array
from driftway.learners.learner import Learner
from driftway.learners.metrics.prequential import predicted_class
from driftway.learners.online_to_batch.procedure import Procedure, TrainingResult
from driftway.learners.online_to_batch.registry import find
from driftway.learners.online_to_batch.training_set import TrainingSet, collect
from driftway.learners.preprocessing.fixed_scaler import FixedScaler
from driftway.learners.registry import UnknownLearner
from driftway.learners.spec import Spec
from driftway.worker.errors import Failure, UsageFailure, plural
from driftway.worker.evaluation.training.rows import RowSource, require_rows
from driftway.worker.state.model_file import trained


def read(source: RowSource, progress: Callable[[int], None] | None = None) -> TrainingSet:
    """Read all rows of a source into memory, once, and standardise them over the whole set.

    Raises
    ------
    Failure
        No row is usable, a feature is too large to be squared, or the rows do not fit into memory.
    UsageFailure, Unreachable
        As raised by the source.
    """
    try:
        return collect(_counted(source, progress))
    except ValueError as error:
        require_rows(source)
        raise Failure(f"{source.name}: {error}") from None
    except MemoryError:
        raise Failure(f"{source.name} does not fit into memory after {plural(source.counts.labelled, 'row')}") from None


def _counted(source: RowSource, progress: Callable[[int], None] | None) -> Iterator[tuple[Array, Array]]:
    for X, y in source.blocks():
        if len(y):
            yield X, y
        if progress is not None:
            progress(len(y))


def begin(problem: TrainingSet, algorithm: Spec, learner: Spec, seed: int, saved: bytes | None = None) -> Procedure:
    """Create the procedure at its start, or restore it from `saved`.

    Raises
    ------
    UsageFailure
        A parameter does not fit these rows.
    Failure
        `saved` belongs to other rows: the file or the log has changed.
    """
    try:
        procedure = find(algorithm.name)(problem, learner, seed, **dict(algorithm.parameters))
    except (ParameterError, UnknownLearner) as error:
        raise UsageFailure(f"{algorithm.text} with {learner.text}: {error}") from None
    if saved is not None:
        try:
            procedure.load(saved)
        except ValueError as error:
            raise Failure(f"cannot resume: {error}") from None
    return procedure


def deployable(result: TrainingResult, problem: TrainingSet) -> Learner:
    """The final hypothesis, preceded by the scaling of its training rows, so that it takes raw features.

    Parameters
    ----------
    result : TrainingResult
        Result of a procedure over `problem`.
    problem : TrainingSet
        Provides the mean and deviation for scaling.
    """
    return FixedScaler.around(result.learner, problem.mean, problem.deviation)


def require_testable(source: RowSource, n_features: int) -> None:
    """Read the held-out rows once, to fail on bad ones before hours of work.

    Raises
    ------
    Failure
        No row is usable, or the number of features differs from the model's.
    """
    for X, _ in source.blocks():
        if X.shape[1] != n_features:
            raise Failure(f"{source.name} has {plural(X.shape[1], 'feature')}, the training rows have {n_features}")
    require_rows(source)


def held_out(learner: Learner, source: RowSource) -> dict[str, Any]:
    """A model's error rate on the rows of a source, their number, and their origin."""
    wrong = 0
    for X, y in source.blocks():
        score = np.empty((len(X), learner.n_scores))
        learner.predict(X, score)
        wrong += int((predicted_class(score, learner.kind) != y).sum())
    rows = source.counts.labelled
    return {"error": wrong / rows, "rows": rows, "source": source.origin()}


def origin(source: RowSource, result: TrainingResult, test: dict[str, Any] | None) -> dict[str, Any]:
    """The origin of the model; nothing in it depends on when, or in how many runs, it was made."""
    counts, report = source.counts, result.report
    known = ("algorithm", "parameters", "learner", "seed", "rows")
    made_from = {
        "made_by": f"driftway {__version__}",
        **{name: report[name] for name in known},
        "source": source.origin(),
        "unlabelled": counts.unlabelled,
        "rejected": counts.rejected,
        "empirical_error": result.empirical_error,
        "complete": result.complete,
        "report": {name: value for name, value in report.items() if name not in known},
    }
    return made_from if test is None else {**made_from, "test": test}


def model_file(source: RowSource, learner: Learner, origin: dict[str, Any]) -> bytes:
    """The bytes of the model file."""
    return trained(learner, source.names, source.target, origin, source.reading, source.filling)


def summary(
    out: str, source: RowSource, result: TrainingResult, digest: str, test: dict[str, Any] | None
) -> dict[str, Any]:
    """The object that `--json` prints, without the seconds."""
    counts, report = source.counts, result.report
    return {
        "out": out,
        "digest": digest,
        "source": source.origin(),
        "algorithm": report["algorithm"],
        "learner": report["learner"],
        "rows": counts.labelled,
        "features": report["features"],
        "labelled": counts.labelled,
        "unlabelled": counts.unlabelled,
        "rejected": counts.rejected,
        "missing": counts.missing,
        "first_rejected": counts.first_rejected,
        "passes": report["passes"],
        "mistakes": report["mistakes"],
        "empirical_error": result.empirical_error,
        "complete": result.complete,
        "test_error": None if test is None else test["error"],
        "test_rows": None if test is None else test["rows"],
        "report": report,
    }


def sentences(found: dict[str, Any]) -> list[str]:
    """The summary as lines of text."""
    lines = [
        f"wrote {found['out']}: {found['algorithm']} with {found['learner']} on {plural(found['rows'], 'row')} of "
        f"{plural(found['features'], 'feature')}",
        f"empirical error {100.0 * found['empirical_error']:.2f} %, {plural(found['passes'], 'pass')}, "
        f"{plural(found['mistakes'], 'mistake')}, {found['seconds']:.1f} s",
    ]
    if not found["complete"]:
        lines.append("the algorithm was told to stop early: its guarantee does not hold")
    if found["test_error"] is not None:
        lines.append(f"test error {100.0 * found['test_error']:.2f} % on {plural(found['test_rows'], 'row')}")
    if found["unlabelled"]:
        lines.append(f"left out {plural(found['unlabelled'], 'row')} without label")
    if found["rejected"]:
        lines.append(f"left out {plural(found['rejected'], 'unusable row')}; the first, {found['first_rejected']}")
    return lines
