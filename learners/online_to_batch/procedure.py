"""What every batch procedure keeps: it goes on in steps, can be put down and taken up, and gives a hypothesis."""

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
    """Where a procedure stands."""

    passes: int
    """Passes over the rows that are left, the present one not included; slices of the stream for those that draw."""
    remaining: int
    """Rows that are still in the sample; draws that are still to come for the procedures that draw."""
    mistakes: int
    """Mistakes so far, each a removal (of a copy) or not."""
    error: float | None
    """Least empirical error of a hypothesis found so far, 0..1, or None while none has been counted."""
    what: str
    """What is being done, in a few words, like ``phi 3 of 100``."""


@dataclass(frozen=True)
class TrainingResult:
    """What a procedure hands over.

    Attributes
    ----------
    learner : Learner
        Of the registry, over d features, standing at the hypothesis: it takes standardised rows without the 1.
    empirical_error : float
        Share of all n rows that the hypothesis mistakes.
    complete : bool
        False where the procedure was not run to its end: no guarantee holds then.
    report : dict
        What was done, ready for JSON: ``algorithm``, ``parameters``, ``learner`` (spec text), ``seed``, ``rows``,
        ``features``, ``passes``, ``mistakes``, ``errors`` and what the procedure adds.
    """

    learner: Learner
    empirical_error: float
    complete: bool
    report: dict[str, Any]


class ResumablePart(Protocol):
    """Something that moves while a procedure runs."""

    KEPT: ClassVar[tuple[str, ...]]
    """Attributes that a saved procedure holds: numbers, lists of numbers, or arrays of fixed size."""


class RowSupply(ResumablePart, Protocol):
    """Where a procedure's rows come from: a sample that shrinks, or draws that run out."""

    @property
    def remaining(self) -> int:
        """Rows or draws that are left."""


class Procedure:
    """Makes a hypothesis with small empirical error out of a problem and an online learner.

    The learner is used conservatively, as a black box: it is shown a row to be learned only if it predicted it wrong.
    Same problem, spec, parameters and seed: same result, bit for bit, interrupted or not.

    Parameters
    ----------
    problem : TrainingSet
        The rows.
    spec : Spec
        The online learner, of two classes; it gets the features and appends the 1 itself.
    seed : int
        Decides the order of visits, or the draws; 0 <= seed < 2^64.
    **parameters
        The procedure's own, see its `Params`.

    Raises
    ------
    ParameterError, UnknownLearner
        Unknown or invalid parameter, or a learner that the procedure cannot use.
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
        """Whether the procedure has come to its end; `advance` then does nothing."""
        self.passes = self.mistakes = 0
        self.errors: int | None = None
        """Rows that the best hypothesis so far mistakes, if that has been counted."""
        self.source: RowSupply
        self.parts: list[ResumablePart] = []
        """What moves beside source and learner."""
        self.begin()

    # What a procedure implements.

    def begin(self) -> None:
        """Make what moves, before the first step."""
        raise NotImplementedError

    def step(self) -> None:
        """Do about one pass of work, and set `done` at the end."""
        raise NotImplementedError

    @property
    def hypothesis(self) -> Bytes:
        """The learner state that would be handed over now. The default is the one that is being learned."""
        return self.online.memory

    @property
    def what(self) -> str:
        """What is being done, in a few words."""
        raise NotImplementedError

    def findings(self) -> dict[str, Any]:
        """What the report says beyond what all reports do."""
        return {}

    @property
    def complete(self) -> bool:
        """Whether the hypothesis is the one that the procedure promises."""
        return self.done

    def visit(self, sample: WorkingSet, most: int | None = None, revisit: bool = False) -> int:
        """One iteration of Algorithm I, counted: see `Online.visit`."""
        mistakes = self.online.visit(sample, sample.size if most is None else most, revisit)
        self.passes += 1
        self.mistakes += mistakes
        return mistakes

    # What callers use.

    def advance(self) -> None:
        """Go on by about one pass over the rows: short enough that stopping in between feels immediate."""
        if not self.done:
            self.step()

    @property
    def remaining(self) -> int:
        """Rows or draws that are left."""
        return self.source.remaining

    @property
    def progress(self) -> TrainingProgress:
        """Where the procedure stands."""
        error = None if self.errors is None else self.errors / self.problem.n
        return TrainingProgress(self.passes, self.remaining, self.mistakes, error, self.what)

    def result(self) -> TrainingResult:
        """The hypothesis and the report; before the end, of the best that there is. Changes nothing."""
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
        """Everything that a saved procedure must agree on."""
        return {
            "algorithm": self.name,
            "parameters": self.parameters.as_dict(),
            "learner": self.spec.text,
            "seed": self.seed,
            "problem": self.problem.digest,
        }

    def save(self) -> bytes:
        """The position as bytes, without the rows: magic, header length, header (JSON), arrays, digest."""
        values = [getattr(part, name) for part, name in self._kept()]
        arrays = [value for value in values if isinstance(value, np.ndarray)]
        numbers = [value for value in values if not isinstance(value, np.ndarray)]
        header = json.dumps([self.identity(), numbers]).encode()
        body = b"".join([MAGIC, len(header).to_bytes(4, "little"), header, *(a.tobytes() for a in arrays)])
        return body + hashlib.blake2b(body, digest_size=DIGEST_BYTES).digest()

    def load(self, blob: bytes) -> None:
        """Take up a saved position; what follows is the same, bit for bit, as without the interruption.

        Raises
        ------
        ValueError
            Damaged, or of another problem, algorithm, learner, parameters or seed. Nothing is changed.
        """
        body, start = blob[:-DIGEST_BYTES], len(MAGIC) + 4
        if blob[: len(MAGIC)] != MAGIC:
            raise ValueError(f"not a saved batch procedure of format {MAGIC.decode()}")
        if hashlib.blake2b(body, digest_size=DIGEST_BYTES).digest() != blob[len(body) :]:
            raise ValueError("the saved batch procedure is damaged: its checksum does not fit")
        end = start + int.from_bytes(body[len(MAGIC) : start], "little")
        theirs, numbers = json.loads(body[start:end])
        for key, value in self.identity().items():
            if theirs.get(key) != value:
                raise ValueError(f"the saved batch procedure has {key} {theirs.get(key)}, this one {value}")
        left = iter(numbers)
        for part, name in self._kept():
            now = getattr(part, name)
            if isinstance(now, np.ndarray):
                now[...] = np.frombuffer(body, now.dtype, now.size, end).reshape(now.shape)
                end += now.nbytes
            else:
                setattr(part, name, next(left))

    def _kept(self) -> Iterator[tuple[Any, str]]:
        """(owner, attribute) of everything that moves, always in the same order."""
        for name in ("done", "passes", "mistakes", "errors", *self.KEPT):
            yield self, name
        yield self.online, "memory"
        for part in (self.source, *self.parts):
            for name in part.KEPT:
                yield part, name
