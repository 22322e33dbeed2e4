"""Render a proposal as TOML, as a JSON object, and as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from driftway.worker.admin.schema.proposal import FieldChoice, Proposal
from driftway.worker.admin.schema.scan import EventStats
from driftway.worker.admin.schema.wording import percent
from driftway.worker.errors import plural, shown
from driftway.worker.wire.schema.paths import Path

COLUMN = 34
"""Column at which comments begin, if there is room."""
MAX_SAID = 3
"""Maximum number of fields or reasons named in a sentence; the others are only counted."""
MAX_SHOWN = 20
"""Maximum number of values per field in the JSON object."""
LATER = "There are also {labels:,} labels in separate messages: with label_wait = {wait} events wait for their labels."
UNLIKE = (
    "But a worker would set {unlike:,} of them aside: their {id} is text where that of the event is a number, or the "
    'reverse, and "7" and 7 are different ids. Make both producers write ids in the same way.'
)
LEAKING = (
    "Possible label leakage: each value of {names}, or its mere presence, belongs to one class in all events. Delete "
    "the lines under feature of fields that are known only after the label."
)
NO_LABEL = 'label: no field is called y, label, target or class; write label = "PATH" here, and take it out of feature'


def quoted(text: str) -> str:
    """Quote text as a TOML basic string."""
    escapes = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}

    def written(character: str) -> str:
        if character in escapes:
            return escapes[character]
        if character.isprintable():
            return character
        code = ord(character)
        return f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"

    return f'"{"".join(map(written, text))}"'


def as_toml(proposal: Proposal, rejected: Counter[str], reading: Mapping[str, str | int] | None = None) -> str:
    """The options and the table ``[event]``, with comments on what was seen; valid TOML, whatever the fields' names.

    `reading` are the options by which a file is read.
    """
    numbers = {name: int(value) if value.isdecimal() else value for name, value in proposal.options.items()}
    options = {**(reading or {}), **numbers}
    lines = [f"{name} = {value if isinstance(value, int) else quoted(value)}" for name, value in options.items()]
    lines += ["[event]", *map(_comment, _counted(proposal.stats, rejected))]
    if envelope := proposal.stats.envelope:
        lines.append(f"envelope = {quoted(envelope)}")
    lines += [_comment(NO_LABEL)] if proposal.label is None else [_named("label", proposal.label)]
    lines += [_comment("id: no field with such a name is different in every event")] if proposal.id is None else []
    lines += [] if proposal.id is None else [_named("id", proposal.id)]
    lines += (
        [_comment("time: no time that increases, so predictions have none, and ages count to the records' timestamps")]
        if proposal.time is None
        else []
    )
    lines += [] if proposal.time is None else [_named("time", proposal.time)]
    if proposal.policy is not None:
        lines.append(_with(f"missing = {quoted(proposal.policy)}", _lacking(proposal)))
    lines.append("feature = [")
    lines += [_with(f"  {quoted(str(feature))},", about) for feature, about in proposal.features.items()]
    lines.append("]")
    if proposal.left_out:
        left_out = [f"{quoted(str(path))} ({why})" for path, why in proposal.left_out.items()]
        lines.append(_comment(f"left out: {', '.join(left_out)}"))
    return "\n".join(lines) + "\n"


def as_object(proposal: Proposal, rejected: Counter[str]) -> dict[str, Any]:
    """The proposal as a JSON object: the table, the options to use with it, and what was seen per path."""
    stats, named = proposal.stats, {"label": proposal.label, "id": proposal.id, "time": proposal.time}
    event: dict[str, Any] = {"feature": [str(feature) for feature in proposal.features]}
    event |= {name: str(choice) for name, choice in named.items() if choice is not None}
    event |= {"envelope": stats.envelope} if stats.envelope else {}
    event |= {"missing": proposal.policy} if proposal.policy is not None else {}
    return {
        "plain": False,
        "event": event,
        "options": dict(proposal.options),
        "events": counts(stats) | {"read": stats.events - rejected.total(), "rejected": dict(rejected)},
        "paths": _paths(proposal),
        "columns": len(proposal.schema().columns),
    }


def no_schema(survey: EventStats) -> str:
    """Text for events of the plain form, which need no schema."""
    others = survey.events - survey.plain
    rest = f" {others:,} have another, and would be rejected." if others else ""
    return f"{plural(survey.plain, 'event has', 'events have')} the plain form, which needs no schema.{rest}"


def counts(survey: EventStats) -> dict[str, int]:
    """Counts of the events read: all, those without JSON object or row, and those of the plain form."""
    return {"seen": survey.events, "no_json_object": survey.no_json, "no_row": survey.no_row, "plain": survey.plain}


def in_words(proposal: Proposal, rejected: Counter[str], name: str, leaking: Sequence[Path] = ()) -> list[str]:
    """The proposal as lines of text; `leaking` are the fields with label leakage."""
    stats, columns, later = proposal.stats, len(proposal.schema().columns), proposal.later
    return [
        f"{name}: {plural(stats.events, 'event')} read, {plural(len(stats.paths), 'field')} seen; "
        f"{len(proposal.features):,} of them are features, which become {plural(columns, 'column')}; "
        f"{len(proposal.left_out):,} left out.",
        *(f"{line[0].upper()}{line[1:]}." for line in _counted(stats, rejected)[1:]),
        *([] if later is None else [LATER.format(labels=len(later.labels), wait=later.wait)]),
        *([] if later is None or not later.unlike else [UNLIKE.format(unlike=later.unlike, id=later.id)]),
        *([] if not leaking else [LEAKING.format(names=" and of ".join(map(str, leaking)))]),
        *([] if proposal.label else ["No field is called y, label, target or class: say --label PATH."]),
        "Put this into the FILE of driftway --config FILE.",
    ]


def _counted(survey: EventStats, rejected: Counter[str]) -> list[str]:
    read, lines = survey.events, []
    lines.append(
        f"{plural(read, 'event')} read" + (f", {survey.no_json:,} of them no JSON object" if survey.no_json else "")
    )
    if survey.unseen:
        lines.append(
            f"{plural(survey.unseen, 'value was not examined', 'values were not examined')}: there are more than "
            f"{len(survey.paths):,} fields"
        )
    if rejected:
        reasons = [f"{count:,} {reason}" for reason, count in rejected.most_common(MAX_SAID)]
        more = sum(count for _, count in rejected.most_common()[MAX_SAID:])
        reasons += [f"{more:,} for other reasons"] if more else []
        lines.append(f"rejected by this schema: {rejected.total():,}: {'; '.join(reasons)}")
    return lines


def _lacking(proposal: Proposal) -> str:
    """The features with missing values, the largest share first."""
    most = sorted(proposal.missing.items(), key=lambda item: -item[1])
    rows = proposal.stats.rows
    parts = [f"{percent(round(share * rows), rows)} of {path}" for path, share in most[:MAX_SAID]]
    return ", ".join(parts) + (f" and {len(most) - MAX_SAID} more" if len(most) > MAX_SAID else "")


def _named(key: str, choice: FieldChoice) -> str:
    return _with(f"{key} = {quoted(str(choice))}", choice.about)


def _with(line: str, comment: str) -> str:
    """A line with its comment, aligned if there is room."""
    return f"{line:{COLUMN}} {_comment(comment)}" if comment else line


def _comment(text: str) -> str:
    return f"# {shown(text)}"


def _paths(proposal: Proposal) -> dict[str, Any]:
    """Path -> what was seen there, and the feature it becomes or why it is left out."""
    stats, by_path = proposal.stats, {}
    features: Mapping[Any, str] = {feature.path: str(feature) for feature in proposal.features}
    for path, seen in {**stats.asked, **stats.paths}.items():
        numbers = {"low": seen.low, "high": seen.high} if seen.low <= seen.high else {}
        by_path[str(path)] = {
            "missing": stats.absent(seen),
            "empty": seen.empties,
            "number": seen.numbers,
            "boolean": seen.truths,
            "number_in_text": seen.numbers_in_text,
            "iso_time": seen.times,
            "text": seen.texts,
            "list": seen.lists,
            "object": seen.objects,
            "different": len(seen.values),
            "most": dict(_most(seen.values.items())),
            **numbers,
            "feature": features.get(path),
            "left_out": proposal.left_out.get(path),
        }
    return by_path


def _most(values: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    return sorted(values, key=lambda item: (-item[1], item[0]))[:MAX_SHOWN]
