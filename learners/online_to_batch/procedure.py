"""Base of every batch procedure: it runs in steps, can be saved and resumed, and produces a hypothesis."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from driftway.learners.contract import Learner, ParameterError, Parameters
from driftway.learners.engine.state import Bytes
from driftway.learners.learner import DIGEST_BYTES
from driftway.learners.online_to_batch.online import Online, online_for
from driftway.learners.online_to_batch.training_set import TrainingSet
from driftway.learners.online_to_batch.working_set import WorkingSet
from driftway.learners.spec import Spec

MAGIC = b"DWB1"


class TrainingProgress(NamedTuple):
    """Progress of a procedure."""

    passes: int
    """Completed passes over the remaining rows; slices of the stream for procedures that draw."""
    remaining: int
    """Rows left in the sample; draws left for procedures that draw."""
    mistakes: int
    """Mistakes so far, whether or not each removed a row or copy."""
    error: float | None
    """Least empirical error of a hypothesis so far, 0..1, or None if none has been counted yet."""
    what: str
    """Short description of the current step, like ``phi 3 of 100``."""


@dataclass(frozen=True)
class TrainingResult:
    """Result of a procedure.

    Attributes
    ----------
    learner : Learner
        A registered learner over d features, at the hypothesis; it takes standardised rows without the constant 1.
    empirical_error : float
        Share of all n rows that the hypothesis misclassifies.
    complete : bool
        False if the procedure was not run to its end; then no guarantee holds.
    report : dict
        Summary, ready for JSON: ``algorithm``, ``parameters``, ``learner`` (spec text), ``seed``, ``rows``,
        ``features``, ``passes``, ``mistakes``, ``errors`` and the procedure's own findings.
    """

    learner: Learner
    empirical_error: float
    complete: bool
    report: dict[str, Any]


class ResumablePart(Protocol):
    """An object whose state changes while a procedure runs."""

    KEPT: ClassVar[tuple[str, ...]]
    """Attributes that are saved: numbers, lists of numbers, or arrays of fixed size."""


class RowSupply(ResumablePart, Protocol):
    """Source of a procedure's rows: a shrinking sample, or a limited number of draws."""

    @property
    def remaining(self) -> int:
        """Number of rows or draws left."""


class Procedure:
    """Makes a hypothesis with small empirical error out of a problem and an online learner.

    The learner is used conservatively, as a black box: it learns a row only after predicting it wrong. The same
    problem, spec, parameters and seed give the same result, bit for bit, interrupted or not.

    Parameters
    ----------
    problem : TrainingSet
        The rows.
    spec : Spec
        The online learner, for two classes; it gets the features and appends the constant 1 itself.
    seed : int
        Seed of the order of visits, or of the draws; 0 <= seed < 2^64.
    **parameters
        The procedure's own parameters, see its `Params`.

    Raises
    ------
    ParameterError, UnknownLearner
        A parameter is unknown or invalid, or the procedure cannot use the learner.
    """

    name: ClassVar[str]
    Params: ClassVar[type[Parameters]]
    KEPT: ClassVar[tuple[str, ...]] = ()

    def __init__(self, problem: TrainingSet, spec: Spec, seed: int = 0, **parameters: Any) -> None:
        if not 0 <= seed < 2**64:
            raise ParameterError(f"seed must be a whole number of 64 bits, got {seed}")
        self.problem, self.spec, self.seed = problem, spec, seed
        self.parameters: Any = type(self).Params.build(parameters)
        self.online: Online = online_for(problem, spec)
        self.done = False
        """Whether the procedure has finished; `advance` then does nothing."""
        self.passes = self.mistakes = 0
        self.errors: int | None = None
        """Rows that the best hypothesis so far misclassifies, or None if not counted yet."""
        self.source: RowSupply
        self.parts: list[ResumablePart] = []
        """Objects to save in addition to the source and the learner."""
        self.begin()

    # Implemented by procedures.

    def begin(self) -> None:
        """Initialise the procedure's state before the first step."""
        raise NotImplementedError

    def step(self) -> None:
        """Do about one pass of work; set `done` after the last one."""
        raise NotImplementedError

    @property
    def hypothesis(self) -> Bytes:
        """The learner state that would be returned now; by default the current one."""
        return self.online.memory

    @property
    def what(self) -> str:
        """Short description of the current step."""
        raise NotImplementedError

    def findings(self) -> dict[str, Any]:
        """Entries of the report that are specific to the procedure."""
        return {}

    @property
    def complete(self) -> bool:
        """Whether the guarantee of the procedure holds for the hypothesis."""
        return self.done

    def visit(self, sample: WorkingSet, max_mistakes: int | None = None, revisit: bool = False) -> int:
        """Run one iteration of Algorithm I and count it; see `Online.visit`."""
        mistakes = self.online.visit(sample, sample.size if max_mistakes is None else max_mistakes, revisit)
        self.passes += 1
        self.mistakes += mistakes
        return mistakes

    # Used by callers.

    def advance(self) -> None:
        """Continue by about one pass over the rows, short enough to stop between calls without a noticeable delay."""
        if not self.done:
            self.step()

    @property
    def remaining(self) -> int:
        """Number of rows or draws left."""
        return self.source.remaining

    @property
    def progress(self) -> TrainingProgress:
        """Progress so far."""
        error = None if self.errors is None else self.errors / self.problem.n
        return TrainingProgress(self.passes, self.remaining, self.mistakes, error, self.what)

    def result(self) -> TrainingResult:
        """The hypothesis and the report; before the end, those of the best hypothesis so far. Changes nothing."""
        final = self.online.at(self.hypothesis)
        errors = final.errors()
        report = {
            "algorithm": self.name,
            "parameters": self.parameters.as_dict(),
            "learner": self.spec.text,
            "seed": self.seed,
            "rows": self.problem.n,
            "features": self.problem.n_features,
            "passes": self.passes,
            "mistakes": self.mistakes,
            "errors": errors,
            **self.findings(),
        }
        return TrainingResult(final.learner, errors / self.problem.n, self.complete, report)

    def identity(self) -> dict[str, Any]:
        """Everything that a saved procedure must have in common with this one."""
        return {
            "algorithm": self.name,
            "parameters": self.parameters.as_dict(),
            "learner": self.spec.text,
            "seed": self.seed,
            "problem": self.problem.digest,
        }

    def save(self) -> bytes:
        """Serialize the state without the rows: magic, header length, header (JSON), arrays, digest."""
        values = [getattr(part, name) for part, name in self._kept()]
        arrays = [value for value in values if isinstance(value, np.ndarray)]
        numbers = [value for value in values if not isinstance(value, np.ndarray)]
        header = json.dumps([self.identity(), numbers]).encode()
        body = b"".join([MAGIC, len(header).to_bytes(4, "little"), header, *(a.tobytes() for a in arrays)])
        return body + hashlib.blake2b(body, digest_size=DIGEST_BYTES).digest()

    def load(self, blob: bytes) -> None:
        """Restore a saved state; the results are then the same, bit for bit, as without the interruption.

        Raises
        ------
        ValueError
            The data is damaged or has another problem, algorithm, learner, parameters or seed. Nothing is changed.
        """
        body, start = blob[:-DIGEST_BYTES], len(MAGIC) + 4
        if blob[: len(MAGIC)] != MAGIC:
            raise ValueError(f"not a saved batch procedure of format {MAGIC.decode()}")
        if hashlib.blake2b(body, digest_size=DIGEST_BYTES).digest() != blob[len(body) :]:
            raise ValueError("the saved batch procedure is damaged: its checksum does not match")
        end = start + int.from_bytes(body[len(MAGIC) : start], "little")
        saved, numbers = json.loads(body[start:end])
        for key, value in self.identity().items():
            if saved.get(key) != value:
                raise ValueError(f"the saved batch procedure has {key} {saved.get(key)}, this one {value}")
        left = iter(numbers)
        for part, name in self._kept():
            now = getattr(part, name)
            if isinstance(now, np.ndarray):
                now[...] = np.frombuffer(body, now.dtype, now.size, end).reshape(now.shape)
                end += now.nbytes
            else:
                setattr(part, name, next(left))

    def _kept(self) -> Iterator[tuple[Any, str]]:
        """Yield (owner, attribute) of everything that is saved, always in the same order."""
        for name in ("done", "passes", "mistakes", "errors", *self.KEPT):
            yield self, name
        yield self.online, "memory"
        for part in (self.source, *self.parts):
            for name in part.KEPT:
                yield part, name
