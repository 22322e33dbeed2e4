"""What a commit makes visible."""

from __future__ import annotations

from dataclasses import dataclass

from driftway.worker.state.changelog.commit_record import CommitRecord
from driftway.worker.state.changelog.emission import Emission
from driftway.worker.state.plans.model_plan import PlanAdoption


@dataclass(frozen=True)
class CommitRequest:
    """What a commit makes visible, beside the outputs.

    Parameters
    ----------
    record : CommitRecord
        What the commit says about itself, with the snapshot and the merge order of the time before it.
        `Checkpoint.commit` adds where its outputs are, and its own snapshot.
    snapshot : bytes or None
        A snapshot of the state at the record's offset, if one is due.
    adoptions : tuple of PlanAdoption
        The plans adopted since the previous commit.
    emissions : tuple of Emission
        Where it changed since then whose predictions are written.
    """

    record: CommitRecord
    snapshot: bytes | None = None
    adoptions: tuple[PlanAdoption, ...] = ()
    emissions: tuple[Emission, ...] = ()
