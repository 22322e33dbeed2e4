"""`python -m tests.bench.batch`: time Algorithm III on a9a against the same procedure in plain numpy.

Both run to the end on one core, over the same rows in the same order; the plain one computes `w @ x` for every row.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from driftway.learners.online_to_batch.algorithm_iii import AlgorithmIII
from driftway.learners.online_to_batch.training_set import TrainingSet, collect
from driftway.learners.spec import Spec
from driftway.producers.streams import open_stream
from driftway.worker.errors import UsageFailure

STREAM, ROWS = "a9a", 48_842
SEED = 0


def plainly(problem: TrainingSet, order: list[int], schedule: list[int]) -> tuple[int, int, int]:
    """Run the procedure; return the errors of the best hypothesis, the mistakes, and the rows visited."""
    rows, positive = problem.rows, (problem.y == 1.0).tolist()
    best, mistakes, visits = int(np.count_nonzero((problem.y == 1.0) != np.ones(problem.n, bool))), 0, 0
    for Z in schedule:
        remaining, clean = order, False
        while not clean:
            w, removed, clean = np.zeros(rows.shape[1]), 0, False
            while removed <= Z and not clean:
                kept, before = [], removed
                for place, i in enumerate(remaining):
                    x = rows[i]
                    visits += 1
                    if (w @ x >= 0.0) == positive[i]:
                        kept.append(i)
                        continue
                    w += x if positive[i] else -x
                    removed += 1
                    if removed > Z:
                        kept += remaining[place + 1 :]
                        break
                remaining, clean = kept, removed == before
            mistakes += removed
        best = min(best, int(np.count_nonzero((rows @ w >= 0.0) != (problem.y == 1.0))))
    return best, mistakes, visits


def compiled(problem: TrainingSet) -> AlgorithmIII:
    procedure = AlgorithmIII(problem, Spec.parse("perceptron:ties=correct"), SEED)
    while not procedure.done:
        procedure.advance()
    return procedure


def main() -> None:
    try:
        problem = collect(open_stream(STREAM, rows=ROWS).blocks())
    except UsageFailure as failure:
        sys.exit(f"{failure}: DRIFTWAY_DATA names the folder of {STREAM}.csv.gz")
    compiled(collect([(np.eye(8), np.arange(8.0) % 2)]))  # compile first
    started = time.process_time()
    quick = compiled(problem)
    seconds = time.process_time() - started
    started = time.process_time()
    errors, mistakes, visits = plainly(problem, quick.sample.order.tolist(), quick.schedule)
    plain_time = time.process_time() - started
    print(f"{STREAM}: {problem.n:,} rows of {problem.n_features} features, Algorithm III, linear, one core")
    print(f"compiled     {seconds:8.2f} s  {quick.mistakes:,} mistakes, {quick.errors:,} errors left")
    print(f"plain numpy  {plain_time:8.2f} s  {mistakes:,} mistakes, {errors:,} errors left, {visits:,} rows visited")
    print(f"{plain_time / seconds:.1f} times as fast")


if __name__ == "__main__":
    main()
