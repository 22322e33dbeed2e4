"""Find fields with label leakage, such as the date of a chargeback: they are known only after the label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import log
from typing import Any

from driftway.worker.admin.schema.proposal import Proposal
from driftway.worker.admin.schema.scan import object_in
from driftway.worker.wire.events import REGRESSION, Reject
from driftway.worker.wire.schema.decoder import row_of
from driftway.worker.wire.schema.feature import TIME
from driftway.worker.wire.schema.paths import ABSENT, ROW, Path, look_up

MAX_VALUES = 50
"""Up to so many different values are distinguished; of more, whether there is one, and the sign of a number."""
BY_CHANCE = log(1e-6)
NOTHING: tuple[Any, ...] = ABSENT, None, "", [], {}


def leaking_fields(proposal: Proposal, values: Iterable[bytes | None]) -> list[Path]:
    """Fields of a proposal of which each value, or any value at all, belongs to one class in all events."""
    label, stats = proposal.label, proposal.stats
    if label is None or label.path.source != ROW or proposal.target.task == REGRESSION or proposal.later is not None:
        return []
    rows = list[tuple[Any, Any]]()
    for event in map(object_in, values):
        try:
            row = {} if event is None else row_of(event, stats.envelope)
        except Reject:
            continue
        word = look_up(row, label.path.steps)
        rows += [(row, word)] if _is_scalar(word) and word not in NOTHING else []
    shares = {word: count / len(rows) for word, count in Counter(word for _, word in rows).items()}
    few = {one.path: one.kind != TIME and len(stats.at(one.path).values) <= MAX_VALUES for one in proposal.features}
    return [path for path in few if path.source == ROW and _leaks(path, few[path], rows, shares)]


def _leaks(path: Path, by_value: bool, rows: Iterable[tuple[Any, Any]], shares: dict[Any, float]) -> bool:
    classes, counts, mixed = dict[Any, Any](), Counter[Any](), False
    for row, word in rows:
        value = look_up(row, path.steps)
        group = None if value in NOTHING else value if by_value and _is_scalar(value) else _sign(value)
        counts[group] += 1
        if classes.setdefault(group, word) != word:
            if group is not None:
                return False
            mixed = True
    with_value = {classes[group] for group in counts if group is not None}
    if len(with_value) == 1:
        (word,) = with_value
        if mixed and shares[word] > 0.5:  # most rows have this class anyway
            return False
        return (counts.total() - counts[None] - 1) * log(shares[word]) < BY_CHANCE
    return not mixed and sum((n - 1) * log(shares[classes[group]]) for group, n in counts.items()) < BY_CHANCE


def _sign(value: Any) -> Any:
    return (value > 0) - (value < 0) if isinstance(value, int | float) else "present"


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float)
