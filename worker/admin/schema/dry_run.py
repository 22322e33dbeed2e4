"""Decode the sampled events again, as a worker with the proposed schema would."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from driftway.worker.admin.schema.proposal import Proposal
from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.decoder import Decoder
from driftway.worker.wire.events import Records
from driftway.worker.wire.headers import Headers


def rejections(proposal: Proposal, values: Sequence[bytes | None], headers: Headers | None = None) -> Counter[str]:
    """Count rejected events by reason; labels that would be set aside are none.

    Keys and timestamps of the records are ignored.

    Raises
    ------
    UsageFailure
        The proposal has no feature.
    """
    records = Records.of_values(ListColumn(values), headers=headers)
    batch = Decoder(proposal.target, events=proposal.schema(), late=proposal.later is not None).decode(records)
    return Counter(one.reason for one in batch.rejected if not one.set_aside)
