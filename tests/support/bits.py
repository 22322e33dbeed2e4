"""`python -m tests.support.bits OWN [OTHER]`: digests of what every learner and generator computes, as JSON.

Halfway, it writes a snapshot of each learner, and of complete models of a partition, into the folder OWN. With OTHER,
the folder of a run on another machine, the second half continues from that run's snapshots. Rows are generated without
the C library, with which they would differ between machines.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from pathlib import Path

import numpy as np

from driftway.learners.learner import Learner
from driftway.learners.metrics.probabilities import link_of, probabilities
from driftway.learners.preprocessing.maps import find as find_map
from driftway.learners.spec import Spec
from driftway.producers.streams import open_stream
from driftway.producers.streams.registry import GENERATORS
from driftway.worker.state import snapshot
from driftway.worker.state.model import Model
from driftway.worker.state.outputs import Outputs
from driftway.worker.wire.codec import encode_events
from driftway.worker.wire.events import Target
from tests.conformance.table import Case, cases
from tests.unit.worker.rows import model_settings, pieces, records

HALF = 120
D = 5
CLASSES = 4
STREAMS = (
    *((name, ()) for name in GENERATORS),
    *((f"friedman:drift={drift}", ()) for drift in ("gra", "gsg")),
    ("sea", ("gradual:at=300,width=200,to=sea:seed=2",)),
    ("sea", ("virtual:at=100,tilt=2",)),
)
ROWS = 600
MODELS = {
    "binary": ("d_odm", "arow", "gaussian_nb", "bayes_probit"),
    "multiclass": ("mc_arow", "mc_softmax", "gaussian_nb", "ova:pa1"),
    "regression": ("dfop", "arow_regressor", "ogd_square"),
}
"""Champion and challengers of a partition's models, by kind."""
MAPPED = ("fourier:D=20", "hashing:buckets=8", "polynomial:degree=2")


def digest(*arrays: np.ndarray | bytes) -> str:
    found = hashlib.blake2b(digest_size=12)
    for array in arrays:
        found.update(array if isinstance(array, bytes) else np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def rows(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Uniform features of different ranges; labels use comparisons and separate products only."""
    rng = np.random.default_rng(11)
    X = (rng.random((2 * HALF, D)) - 0.4) * np.array([1.0, 3.0, 0.5, 8.0, 2.0])
    value = X[:, 0] * 2.0 - X[:, 1] + X[:, 2]
    if kind == "regression":
        return X, value + rng.random(len(X))
    y = (value > 0.0).astype(float) + (2.0 * (X[:, 3] > 1.0) if kind == "multiclass" else 0.0)
    y[rng.random(len(X)) < 0.05] = math.nan
    return X, y


def learned(learner: Learner, case: Case, part: slice) -> str:
    """Digest of the scores of some rows, of their probabilities, and of the state after them."""
    X, y = case.formed(rows(case.kind))
    score = np.empty((HALF, learner.n_scores))
    learner.predict_then_update(np.ascontiguousarray(X[part]), np.ascontiguousarray(y[part]), score)
    link = link_of(learner)
    return digest(score, probabilities(score, link) if link else b"", learner.state.memory)


def both_halves(case: Case, name: str, own: Path, other: Path | None) -> list[str]:
    """Digests of both halves; the second one starts from a snapshot, the other run's if given."""
    learner = case.make(D, CLASSES)
    first = learned(learner, case, slice(0, HALF))
    file = f"{digest(name.encode())}.snapshot"
    (own / file).write_bytes(learner.snapshot())
    again = case.make(D, CLASSES)
    written = own if other is None or not (other / file).exists() else other  # the other run may not have a new learner
    again.restore((written / file).read_bytes())
    return [first, learned(again, case, slice(HALF, 2 * HALF))]


def learner_digests(own: Path, other: Path | None) -> dict[str, list[str]]:
    found = {}
    for case in cases():
        name = f"learner {case.label}"
        found[name] = both_halves(case, name, own, other)
    for text in MAPPED:
        found[f"map {text}"] = [digest(mapped(text))]
    return found


def model_digests(own: Path, other: Path | None) -> dict[str, list[str]]:
    """Digests of predictions, accuracy points and snapshots of models with maps, scaling and metrics."""
    found = {}
    for kind, texts in MODELS.items():
        for maps in ((), (Spec.parse("fourier:D=20"),)):
            target = Target("regression", 0) if kind == "regression" else Target(n_classes=2 if kind == "binary" else 4)
            settings = model_settings(*texts, target=target, maps=maps)
            model, again = Model(settings, 0), Model(settings, 0)
            values = list(encode_events(*rows(kind), first_id=0))
            first, second = pieces(records(values, partition=0), [HALF])
            before, blob = digest_of(model.advance(first)), snapshot.write(model, model.save(), HALF)
            file = f"{kind}-{len(maps)}.model-snapshot"
            (own / file).write_bytes(blob)
            snapshot.read(((other or own) / file).read_bytes(), again)
            after = digest_of(again.advance(second))
            at_end = snapshot.write(again, again.save(), 2 * HALF)
            found[f"model {file}"] = [before, digest(blob), after, digest(at_end)]
    return found


def digest_of(outputs: Outputs) -> str:
    """Digest of the predictions and accuracy points of a batch."""
    return digest(*outputs.predictions, *(value for _, value in outputs.points))


def mapped(text: str) -> np.ndarray:
    """The rows after a feature map."""
    X, _ = rows("binary")
    spec = Spec.parse(text)
    feature_map = find_map(spec.name)(D, **dict(spec.parameters))
    out = np.empty((len(X), feature_map.width))
    feature_map.apply(X, out)
    return out


def stream_digests() -> dict[str, list[str]]:
    found = {}
    for name, injected in STREAMS:
        stream = open_stream(name, rows=2 * ROWS, inject=injected)
        blocks = list(stream.blocks())
        found[f"stream {name} {' '.join(injected)}"] = [digest(*(block.X for block in blocks), *(b.y for b in blocks))]
    return found


def library_digests() -> dict[str, list[str]]:
    """Digests of library functions that this project no longer uses, to see whether the machines differ at all."""
    values = np.random.default_rng(3).random(200_000) * 40.0 - 20.0
    plain = values.tolist()
    functions = (math.exp, math.sin, math.cos, lambda x: math.pow(abs(x), 1.7), lambda x: math.log(abs(x)))
    return {"library": [digest(np.array([f(x) for x in plain])) for f in functions] + [digest(np.exp(values))]}


if __name__ == "__main__":
    own, other = Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None
    print(
        json.dumps(
            {**learner_digests(own, other), **model_digests(own, other), **stream_digests(), **library_digests()}
        )
    )
