"""The accuracy points at the end of a segment, one for each learner."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from driftway.learners.learner import Learner
from driftway.worker.state.delayed_labels.pending_rows import Segment
from driftway.worker.wire.codec import encode_point, key_of
from driftway.worker.wire.events import Batch

SHARE_DIGITS = 4
"""Decimal places of an expert's share in an accuracy point."""


class Figures(NamedTuple):
    """What a learner's point says of it."""

    of: tuple[str, dict[str, Any]]
    """The learner's name, and its current rolling metrics."""
    experts: dict[str, Any]
    """The weights of its experts, if it is a mixture."""
    bins: dict[str, Any]
    """The bins of its probabilities, if it has any."""
    digest: str
    """See `driftway.worker.settings.ModelSettings.digests`."""


def rounded_shares(learner: Learner) -> dict[str, float]:
    """The weights of a mixture's experts as in an accuracy point."""
    return {name: round(share, SHARE_DIGITS) for name, share in learner.experts().items()}


def accuracy_points(
    figures: Iterable[Figures],
    batch: Batch,
    piece: Segment,
    drift: dict[str, int] | None,
    identity_fields: Callable[[str], dict[str, Any]],
) -> Iterator[tuple[bytes, bytes]]:
    """Yield keys and values of the points at the end of a segment of a batch.

    Parameters
    ----------
    figures : iterable of Figures
        The champion's first.
    batch, piece
        The batch, and the segment of it.
    drift : dict or None
        As `driftway.worker.wire.codec.encode_point` has it; only the champion's point has it.
    identity_fields : callable
        Digest of a learner -> the fields that say of which group, model and plan a point is.
    """
    offset, t = int(batch.offsets[piece.end - 1]), int(batch.t[piece.end - 1])
    for (name, metrics), experts, bins, digest in figures:
        point = {**metrics, **(piece.delays or {}), **experts, **bins}
        value = encode_point(point, batch.partition, offset, name, t, identity_fields(digest), drift)
        yield key_of(name, batch.partition), value
        drift = None
