"""Which columns of a file are features, and advice for those that cannot be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from driftway.worker.errors import UsageFailure

MAX_NAMED = 9


def feature_columns(path: Path, columns: Sequence[str], label: str, drop: Sequence[str]) -> tuple[str, ...]:
    """All columns except the label and those in `drop`, in file order.

    Raises
    ------
    UsageFailure
        No column is left, `drop` has the label, or there is no such column.
    """
    if label in drop:
        raise UsageFailure(f"{path}: the label {label!r} cannot be left out: give --drop another column")
    left = kept_columns(path, columns, drop)
    features = tuple(column for column in left if column != label)
    if not features:
        raise UsageFailure(f"{path} has no column besides the label {label!r}")
    return features


def require_distinct(path: Path, names: Iterable[str], what: str = "columns", advice: str = "") -> None:
    """Raise `UsageFailure` if a file has two columns, or what else `what` says, of one name."""
    seen = set[str]()
    for name in names:
        if name in seen:
            raise UsageFailure(f"{path} has two {what} named {name!r}{advice}")
        seen.add(name)


def kept_columns(path: Path, columns: Sequence[str], drop: Sequence[str]) -> tuple[str, ...]:
    """All columns except those in `drop`, in file order.

    Raises
    ------
    UsageFailure
        No column is left, or there is no such column.
    """
    known = set(columns)
    for name in drop:
        if name not in known:
            raise UsageFailure(f"{path} has no column {name!r} for --drop; columns: {some_of(columns)}")
    dropped = set(drop)
    kept = tuple(column for column in columns if column not in dropped)
    if not kept:
        raise UsageFailure(f"{path} has no column left after --drop")
    return kept


def some_of(columns: Sequence[str]) -> str:
    """The first names and the last one, which often is the label's, for an error message."""
    return ", ".join(columns if len(columns) <= MAX_NAMED else [*columns[: MAX_NAMED - 1], "..", columns[-1]])


def not_numbers(path: Path) -> str:
    """The end of an error message about a column that cannot be a feature as it is."""
    return (
        f": leave it out with --drop, or define features from fields with --feature (driftway schema infer {path} "
        "proposes them; driftway replay sends such rows with --raw)"
    )
