"""What a check found: its status, one sentence, and the command that fixes it. Leaf module."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from driftway.worker.errors import Failure

OK, SKIPPED, WARNING, ERROR = STATUSES = "ok", "skipped", "warning", "error"
"""All is well · could not be checked · a worker runs, but not as it should · a worker stops, or never gets on."""
WARNED = 6
"""Exit code if there are warnings and no errors."""
SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Parameters
    ----------
    group : str
        Heading under which it is shown.
    check : str
        Name of the check.
    status : str
        One of `STATUSES`.
    sentence : str
        What was found.
    command : str
        The command that mends it; empty if there is none, or nothing to mend.
    exit_code : int
        With which a worker would stop; only of an error.
    """

    group: str
    check: str
    status: str
    sentence: str
    command: str = ""
    exit_code: int = 1


def failed(group: str, check: str, error: Failure, command: str = "") -> Finding:
    """Return the finding of a check that a worker makes in the same way, and at which it would stop."""
    return Finding(group, check, ERROR, str(error), command, error.exit_code)


def worst(findings: Iterable[Finding]) -> str:
    """Return the most serious status; `OK` if nothing is wrong, or could not be checked."""
    status = max((one.status for one in findings), key=STATUSES.index, default=OK)
    return OK if status == SKIPPED else status


def exit_code(findings: Iterable[Finding]) -> int:
    """Return the exit code: that of the first error, `WARNED` if there are warnings only, else 0."""
    found = list(findings)
    errors = [one.exit_code for one in found if one.status == ERROR]
    if errors:
        return errors[0]
    return WARNED if worst(found) == WARNING else 0


def in_words(findings: Iterable[Finding]) -> str:
    """Return the number of errors and warnings, and the first of the most serious ones."""
    found = list(findings)
    counts = [(status, sum(one.status == status for one in found)) for status in (ERROR, WARNING)]
    numbers = " and ".join(f"{n} {status}{'s'[: n != 1]}" for status, n in counts if n)
    first = next(one for one in found if one.status == worst(found))
    return f"{numbers}, the first {'error' if first.status == ERROR else 'one'}: {first.sentence}"


def as_object(findings: Iterable[Finding]) -> dict[str, Any]:
    """Return what `driftway check --json` prints."""
    found = list(findings)
    checks = [{key: value for key, value in asdict(one).items() if key != "exit_code"} for one in found]
    counts = {status: sum(one.status == status for one in found) for status in STATUSES}
    return {"version": SCHEMA_VERSION, "status": worst(found), "counts": counts, "checks": checks}
