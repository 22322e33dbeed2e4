"""Which columns of a file are features, and what to do with those that cannot be."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from driftway.worker.errors import UsageFailure


def feature_columns(path: Path, columns: Sequence[str], label: str, drop: Sequence[str]) -> tuple[str, ...]:
    """All columns but the label and those that are left out, in their order.

    Raises
    ------
    UsageFailure
        Nothing is left, the label is left out, or there is no such column.
    """
    if label in drop:
        raise UsageFailure(f"{path}: the label {label!r} cannot be left out: --drop says another column")
    left = kept_columns(path, columns, drop)
    features = tuple(column for column in left if column != label)
    if not features:
        raise UsageFailure(f"{path} has no column beside the label {label!r}")
    return features


def kept_columns(path: Path, columns: Sequence[str], drop: Sequence[str]) -> tuple[str, ...]:
    """All columns but those that are left out, in their order.

    Raises
    ------
    UsageFailure
        Nothing is left, or there is no such column.
    """
    for name in drop:
        if name not in columns:
            raise UsageFailure(f"{path} has no column {name!r} for --drop; columns: {some_of(columns)}")
    kept = tuple(column for column in columns if column not in drop)
    if not kept:
        raise UsageFailure(f"{path} has no column left after --drop")
    return kept


def some_of(columns: Sequence[str]) -> str:
    """The first names, for a sentence."""
    return ", ".join(columns[:8]) + (", ..." if len(columns) > 8 else "")


def not_numbers(path: Path) -> str:
    """The end of a sentence on a column that is no feature as it stands."""
    return (
        f": leave it out with --drop, or say with --feature how fields become features (driftway schema infer {path} "
        "proposes it; driftway replay sends such rows with --raw)"
    )
