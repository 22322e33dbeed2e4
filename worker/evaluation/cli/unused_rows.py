"""Report on standard error how many rows of a stream could not be used."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from driftway.worker.errors import Failure

if TYPE_CHECKING:
    from driftway.worker.evaluation.rows import RowCounts


def print_losses(read: Iterable[tuple[str, RowCounts]]) -> None:
    """Print a sentence for each stream of which rows were rejected, or more than a fifth could not be used.

    For those of which no row could be used, `require_used` has it.
    """
    for name, counts in read:
        if counts.labelled and (counts.rejected or counts.lost_many):
            click.echo(f"driftway: {counts.sentence(name)}", err=True)


def print_large_loss(name: str, counts: RowCounts) -> None:
    """Print a sentence if more than a fifth of the rows of a stream could not be used."""
    if counts.lost_many:
        click.echo(f"driftway: {counts.sentence(name)}", err=True)


def unused(read: Iterable[tuple[str, RowCounts]]) -> list[tuple[str, Failure]]:
    """The streams of which no row could be used, by name, each with a sentence."""
    return [(name, Failure(counts.sentence(name))) for name, counts in read if not counts.labelled]


def require_used(read: Iterable[tuple[str, RowCounts]]) -> None:
    """Fail if no row of a stream could be used.

    Raises
    ------
    Failure
        The message has a sentence for each such stream.
    """
    if useless := unused(read):
        raise Failure("; ".join(str(failure) for _, failure in useless))
