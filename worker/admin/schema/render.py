"""A proposal as TOML, as an object, and in words."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from driftway.worker.admin.schema.proposal import FieldChoice, Proposal
from driftway.worker.admin.schema.scan import EventStats
from driftway.worker.admin.schema.wording import percent

COLUMN = 34
"""Where comments begin, if there is room."""
MOST_SAID = 3
"""Fields and reasons in a sentence, before the others are only counted."""
MOST_TOLD = 20
"""Values of a field in the object."""
NO_LABEL = 'label: no field is called y, label, target or class; write label = "PATH" here, and take it out of feature'


def quoted(text: str) -> str:
    """A basic string of TOML."""
    escapes = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}

    def written(character: str) -> str:
        if character in escapes:
            return escapes[character]
        if character.isprintable():
            return character
        code = ord(character)
        return f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"

    return f'"{"".join(map(written, text))}"'


def as_toml(proposal: Proposal, rejected: Counter[str]) -> str:
    """The table ``[event]``, with what was seen in comments; it parses, whatever fields are called."""
    lines = ["[event]", *map(_comment, _counted(proposal.stats, rejected))]
    if envelope := proposal.stats.envelope:
        lines.append(f"envelope = {quoted(envelope)}")
    lines += [_comment(NO_LABEL)] if proposal.label is None else [_named("label", proposal.label, _asked(proposal))]
    lines += [_comment("id: nothing that is called so is different in every event")] if proposal.id is None else []
    lines += [] if proposal.id is None else [_named("id", proposal.id)]
    lines += [_comment("time: none that rises; a topic's own timestamps stand in")] if proposal.time is None else []
    lines += [] if proposal.time is None else [_named("time", proposal.time)]
    if proposal.policy is not None:
        lines.append(_with(f"missing = {quoted(proposal.policy)}", _lacking(proposal)))
    lines.append("feature = [")
    lines += [_with(f"  {quoted(str(feature))},", about) for feature, about in proposal.features.items()]
    lines.append("]")
    if proposal.left_out:
        told = [f"{quoted(str(path))} ({why})" for path, why in proposal.left_out.items()]
        lines.append(_comment(f"left out: {', '.join(told)}"))
    return "\n".join(lines) + "\n"


def as_object(proposal: Proposal, rejected: Counter[str]) -> dict[str, Any]:
    """The same for programs: the table, the options beside it, and what was seen per path."""
    survey, named = proposal.stats, {"label": proposal.label, "id": proposal.id, "time": proposal.time}
    event: dict[str, Any] = {"feature": [str(feature) for feature in proposal.features]}
    event |= {name: str(place.path) for name, place in named.items() if place is not None}
    event |= {"envelope": survey.envelope} if survey.envelope else {}
    event |= {"missing": proposal.policy} if proposal.policy is not None else {}
    return {
        "plain": False,
        "event": event,
        "options": dict(proposal.options),
        "events": counts(survey) | {"read": survey.events - rejected.total(), "rejected": dict(rejected)},
        "paths": _paths(proposal),
        "columns": len(proposal.schema().columns),
    }


def no_schema(survey: EventStats) -> str:
    """What to say of events of the plain form."""
    others = survey.events - survey.plain
    rest = f" {others:,} have another, and would be rejected." if others else ""
    return f"{survey.plain:,} events have the plain form, which needs no schema.{rest}"


def counts(survey: EventStats) -> dict[str, int]:
    """How many events were read, and what of."""
    return {"seen": survey.events, "no_json_object": survey.no_json, "no_row": survey.no_row, "plain": survey.plain}


def in_words(proposal: Proposal, rejected: Counter[str], name: str) -> list[str]:
    """Lines for people."""
    survey, columns = proposal.stats, len(proposal.schema().columns)
    said = f", and say {' '.join(flags)}" if (flags := _flags(proposal)) else ""
    return [
        f"{name}: {survey.events:,} events read, {len(survey.paths):,} fields seen; {len(proposal.features):,} of them "
        f"are features, which become {columns:,} columns; {len(proposal.left_out):,} left out.",
        *(f"{line[0].upper()}{line[1:]}." for line in _counted(survey, rejected)[1:]),
        *([] if proposal.label else ["No field is called y, label, target or class: say --label PATH."]),
        f"Put the table into the FILE of driftway --config FILE{said}.",
    ]


def _counted(survey: EventStats, rejected: Counter[str]) -> list[str]:
    read, lines = survey.events, []
    lines.append(f"{read:,} events read" + (f", {survey.no_json:,} of them no JSON object" if survey.no_json else ""))
    if survey.unseen:
        lines.append(f"{survey.unseen:,} values of more than {len(survey.paths):,} fields were not looked at")
    if rejected:
        told = [f"{count:,} {reason}" for reason, count in rejected.most_common(MOST_SAID)]
        more = sum(count for _, count in rejected.most_common()[MOST_SAID:])
        told += [f"{more:,} for other reasons"] if more else []
        lines.append(f"rejected by this schema: {rejected.total():,}: {'; '.join(told)}")
    return lines


def _asked(proposal: Proposal) -> str:
    """What to say beside the schema, so that labels mean what they should."""
    flags = " ".join(_flags(proposal))
    return f"; say {flags}" if flags else ""


def _flags(proposal: Proposal) -> list[str]:
    return [f"--{name} {shlex.quote(value)}" for name, value in proposal.options.items()]


def _lacking(proposal: Proposal) -> str:
    """Which features lack values, the most first."""
    most = sorted(proposal.missing.items(), key=lambda item: -item[1])
    rows = proposal.stats.rows
    told = [f"{percent(round(share * rows), rows)} of {path}" for path, share in most[:MOST_SAID]]
    return ", ".join(told) + (f" and {len(most) - MOST_SAID} more" if len(most) > MOST_SAID else "")


def _named(key: str, place: FieldChoice, more: str = "") -> str:
    return _with(f"{key} = {quoted(str(place.path))}", f"{place.about}{more}")


def _with(line: str, comment: str) -> str:
    """A line and its comment, aligned where there is room."""
    return f"{line:{COLUMN}} {_comment(comment)}" if comment else line


def _comment(text: str) -> str:
    return "# " + "".join(character if character.isprintable() else "?" for character in text)


def _paths(proposal: Proposal) -> dict[str, Any]:
    """Path -> what stood there, and what becomes of it."""
    survey, told = proposal.stats, {}
    features: Mapping[Any, str] = {feature.path: str(feature) for feature in proposal.features}
    for path, seen in {**survey.asked, **survey.paths}.items():
        numbers = {"low": seen.low, "high": seen.high} if seen.low <= seen.high else {}
        told[str(path)] = {
            "missing": survey.absent(seen),
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
    return told


def _most(values: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    return sorted(values, key=lambda item: (-item[1], item[0]))[:MOST_TOLD]
