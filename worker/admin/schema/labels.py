"""Decide how labels are read, as classes or numbers, and which options say so."""

from __future__ import annotations

from driftway.worker.admin.schema.scan import EventStats, FieldStats
from driftway.worker.admin.schema.wording import percent, shares, spelled_once
from driftway.worker.wire.events import CLASSIFICATION, REGRESSION, Target
from driftway.worker.wire.json_tokens.text_values import as_number
from driftway.worker.wire.schema.paths import ENVELOPE, ROW

MAX_CLASSES = 12
"""Up to this many distinct whole numbers are classes; more are a regression."""
TRUTHS = "false", "true"
"""Names of the classes of labels that are truth values."""
OTHER = "OTHER"
"""Placeholder for the name of a class that was not seen."""
MAX_LABELS = 50
"""Up to this many distinct texts are classes; of more, the user has to choose."""


def target_of(found: EventStats, seen: FieldStats | None) -> tuple[str, Target, dict[str, str]]:
    """What was seen of the label, how it is read, and the options that say so."""
    if seen is None:
        return "", Target(), {}
    if not seen.scalars:
        beside = seen.path.source not in (ROW, ENVELOPE)
        return "beside the value: not looked at" if beside else "in no event that was read", Target(), {}
    words = list({as_number(word): word for word in spelled_once(seen.values)}.values())
    unlabelled = _unlabelled(found, seen)
    if seen.truths == seen.scalars:
        return shares(seen) + unlabelled, Target(labels=TRUTHS), {"labels": ",".join(TRUTHS)}
    if set(words) <= {"0", "1"}:
        return shares(seen) + unlabelled, Target(), {}
    numbers = seen.with_gaps()  # among classes, such a word may be one
    if numbers.numeric == numbers.scalars and (numbers.fractions or len(words) > MAX_CLASSES):
        about = f"number, {seen.low:.6g} to {seen.high:.6g}{_unlabelled(found, numbers)}"
        return about, Target(REGRESSION, 0), {"task": REGRESSION}
    if words == list(map(str, range(len(words)))):
        return shares(seen) + unlabelled, Target(CLASSIFICATION, len(words)), {"classes": str(len(words))}
    if len(words) == 1:
        only = f"{shares(seen)}{unlabelled}, no other yet"
        return only, Target(labels=(words[0], OTHER)), {"labels": f"{words[0]},{OTHER}"} if _plain(words) else {}
    target = Target(CLASSIFICATION, len(words), tuple(words))
    if len(words) > MAX_LABELS:
        return f"{len(words):,} different values: say which are classes{unlabelled}", target, {}
    if not _plain(words):
        return f"{shares(seen)}{unlabelled}: --labels cannot name one with a comma, or a space around it", target, {}
    return shares(seen) + unlabelled, target, {"labels": ",".join(target.labels)}


def _unlabelled(found: EventStats, seen: FieldStats) -> str:
    """How many rows have no label."""
    lacking = found.rows - seen.scalars
    return f", {percent(lacking, found.rows)} without" if lacking else ""


def _plain(words: list[str]) -> bool:
    """Whether ``--labels`` can name the words."""
    return not any("," in word or word != word.strip() for word in words)
