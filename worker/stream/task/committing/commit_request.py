"""What a commit makes visible."""

from __future__ import annotations

from dataclasses import dataclass, field

from driftway.worker.settings.option_values import CHAMPION_ONLY
from driftway.worker.state.changelog.emission import Emission
from driftway.worker.state.changelog.snapshot_pointer import Pointer
from driftway.worker.state.delayed_labels.merge_order import MergeOrder
from driftway.worker.state.input_read import NOTHING_KNOWN, InputRead
from driftway.worker.state.plans.model_plan import FIRST, PlanAdoption


@dataclass(frozen=True)
class CommitRequest:
    """What a commit makes visible, beside the outputs.

    Parameters
    ----------
    previous : int
        Offset of the previous commit.
    offset : int
        The next input offset to read.
    snapshot : bytes or None
        A snapshot of the state at `offset`, if one is due.
    pointer : Pointer or None
        The newest committed snapshot; kept if `snapshot` is None.
    order : MergeOrder or None
        Order in which events and labels were merged since that snapshot; None without a label topic.
    rounds : int or None
        Exchange rounds so far; None if nothing is shared.
    input_read : InputRead
        What the state has read of its input.
    clocks : dict
        How far stamps are apart; empty if labels are not delayed.
    set_aside_from : int
        See `driftway.worker.wire.decoder.Decoder.set_aside_from`.
    adoptions : tuple of PlanAdoption
        The plans adopted since the previous commit.
    plan : int
        Number of the plan at `offset`.
    emit : str
        Whose predictions were written up to `offset`.
    emissions : tuple of Emission
        Where that changed since the previous commit.
    """

    previous: int
    offset: int
    snapshot: bytes | None
    pointer: Pointer | None
    order: MergeOrder | None = None
    rounds: int | None = None
    input_read: InputRead = NOTHING_KNOWN
    clocks: dict[str, int] = field(default_factory=dict)
    set_aside_from: int = 0
    adoptions: tuple[PlanAdoption, ...] = ()
    plan: int = FIRST
    emit: str = CHAMPION_ONLY
    emissions: tuple[Emission, ...] = ()
