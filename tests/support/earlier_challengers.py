"""`python -m tests.support.earlier_challengers worker ...`: the command line from before challengers were tested."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from driftway.learners.learner import Learner
from tests.support.process import Driftway


class EarlierDriftway(Driftway):
    """`driftway` whose states and accuracy points have no test of a challenger."""

    module = "tests.support.earlier_challengers"


def main() -> None:
    """Remove what later versions added, and run the command line."""
    from driftway import cli
    from driftway.worker.state.monitoring.challengers import ChallengerTests

    begin = ChallengerTests.begin

    def begin_without(self: ChallengerTests, learners: Sequence[Learner]) -> None:
        begin(self, learners)
        self.processes = []

    ChallengerTests.begin = begin_without  # type: ignore[method-assign]
    cli.main(sys.argv[1:])


if __name__ == "__main__":
    main()
