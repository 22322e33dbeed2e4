"""A worker with a fault in its promotions: `python -m tests.support.faulty_promotions FAULT worker ...`.

| fault | what happens |
|---|---|
| ``decided`` | SIGKILL to itself once it has decided, before it writes the plan |
| ``produced`` | SIGKILL to itself once the plan is in the log, before its transaction is committed |
| ``committed`` | SIGKILL to itself once the plan is committed, before it learns of it |
| ``everybody`` | it decides whatever its partitions are, and writes at the next full second, as all others do |
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence
from typing import Any

from driftway.worker.state.plans.model_plan import ModelPlan
from driftway.worker.state.plans.plan_topic import PlanWriter
from driftway.worker.stream.background import promoter
from tests.support.process import Driftway

DECIDED, PRODUCED, COMMITTED, EVERYBODY = "decided", "produced", "committed", "everybody"


class FaultyPromotions(Driftway):
    """`driftway` with a fault in its promotions; ``FaultyPromotions(PRODUCED, "worker", ...)``."""

    module = "tests.support.faulty_promotions"


def die() -> None:
    """End this process at once."""
    os.kill(os.getpid(), signal.SIGKILL)


class Interrupted:
    """A producer that dies before or after it commits."""

    def __init__(self, producer: Any, after: bool) -> None:
        self._producer, self._after = producer, after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._producer, name)

    def commit_transaction(self, *given: Any) -> None:
        """Commit, and die before or after it."""
        if not self._after:
            self._producer.flush(30)
            die()
        self._producer.commit_transaction(*given)
        die()


def main() -> None:
    """Run the command line with the fault."""
    from driftway import cli

    fault, arguments = sys.argv[1], sys.argv[2:]
    write, write_after = PlanWriter.write, promoter.write_after

    def write_and_die(self: PlanWriter, plans: Sequence[ModelPlan]) -> None:
        self._producer = Interrupted(self._producer, fault == COMMITTED)  # type: ignore[assignment]
        write(self, plans)

    def write_with_the_others(*given: Any) -> None:
        time.sleep(-time.time() % 1.0)  # no condition to wait for: all workers write at the same moment
        write_after(*given)

    if fault == DECIDED:
        promoter.write_after = lambda *_: die()  # type: ignore[attr-defined]
    elif fault == EVERYBODY:
        promoter.Promoter._decides = property(lambda self: not self._over.is_set())  # type: ignore[assignment]
        promoter.write_after = write_with_the_others  # type: ignore[attr-defined]
    else:
        PlanWriter.write = write_and_die  # type: ignore[method-assign]
    cli.main(arguments)


if __name__ == "__main__":
    main()
