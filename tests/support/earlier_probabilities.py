"""`python -m tests.support.earlier_probabilities worker ...`: the command line before predictions had probabilities."""

from __future__ import annotations

import sys

from tests.support.process import Driftway


class EarlierDriftway(Driftway):
    """`driftway` whose predictions, states and accuracy points have no probabilities."""

    module = "tests.support.earlier_probabilities"


def main() -> None:
    """Remove what later versions added, and run the command line."""
    from driftway import cli
    from driftway.worker.state.monitoring.confidence import NO_FORM, ModelConfidence

    begin = ModelConfidence.__init__

    def begin_without(self: ModelConfidence, task: str) -> None:
        begin(self, task)
        self.form = NO_FORM

    ModelConfidence.__init__ = begin_without  # type: ignore[method-assign]
    cli.main(sys.argv[1:])


if __name__ == "__main__":
    main()
