"""--start: where a group that has committed nothing begins."""

from __future__ import annotations

import click

from driftway.worker.settings import EARLIEST, LATEST

LARGEST_OFFSET = 2**63 - 1
MOST_DIGITS = 100
"""Python refuses to read an int of more than 4300."""
START_PLACES = f"{EARLIEST}|{LATEST}|OFFSET"


def start_place(context: click.Context, option: click.Parameter, value: str) -> str | int:
    """Parse --start: ``earliest``, ``latest``, or an offset as an int.

    Raises
    ------
    BadParameter
        The value is none of these.
    """
    if value in (EARLIEST, LATEST):
        return value
    if value.isascii() and value.isdigit() and len(value) <= MOST_DIGITS and int(value) < LARGEST_OFFSET:
        return int(value)
    raise click.BadParameter(f"{value!r} is neither {EARLIEST}, {LATEST} nor an offset.", context, option)
