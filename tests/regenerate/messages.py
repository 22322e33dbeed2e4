"""`python -m tests.regenerate.messages`: docs/reference/messages.md, every field of the messages that are JSON.

Fields and types are those of asyncapi.json; a field without a meaning is an error, and so is a meaning without a field.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from driftway.worker.wire.registered.fields import MEANINGS as OF_PREDICTIONS
from tests.regenerate.asyncapi import headers_schema, schemas

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "messages.md"
COMMAND = "python -m tests.regenerate.messages"

HEAD = f"""# Fields of messages

This page lists the fields of all JSON messages, and the headers of rejections. [Topics and messages](topics.md) says
when each message is written, and describes packed and registered predictions. Fields and types are those of
[asyncapi.json](asyncapi.json), the description for programs. `{COMMAND}` generates this page from the code.

A field with `?` is not in every message. Accuracy points of mixtures such as `auto` also have `experts`: the weight of
each. New fields may come with any version.
"""
TEST = "of the [test of a challenger](topics.md#the-test-of-a-challenger)"
COMMON = {
    "partition": "partition of the input",
    "learner": "the learner, with its parameters",
    "group": "the consumer group",
    "model_digest": "short digest of everything that decides what the learner does",
    "plan": "number of the group's plan of models, from 2 on",
    "t": "time of the event in ms since 1970",
}
OF_POINTS = {
    **COMMON,
    "offset": "offset of the last row that the point includes",
    "labels": "labels seen so far",
    "window": "labels in the rolling window, up to `--metric-window`",
    "accuracy": "share of right predictions, over all labels",
    "kappa": "Cohen's kappa over all labels: 0 for guesses by class frequency, 1 for no mistakes",
    "kappa_temporal": "the same, but 0 for always predicting the previous label",
    "no_change_accuracy": "accuracy of always predicting the previous label",
    "majority_accuracy": "accuracy of always predicting the most frequent class so far",
    "mse": "mean squared error, over all labels",
    "mae": "mean absolute error, over all labels",
    "r2": "1 for no error, 0 for the mean of the targets so far",
    "calibrated_log_loss": "log loss of `probability`, over all labels",
    "calibrated_brier": "mean squared error of `probability`, over all labels",
    "calibration_error": "expected calibration error (ECE): mean difference between `probability` and the share of "
    "right predictions",
    "reliability": "bins `[bin, rows, right, sum]` of `probability`",
    "coverage": "share of the labels inside the interval or set, with `--coverage`",
    "worst_window_coverage": "coverage of the full window in which it was furthest from the requested level",
    "width": "mean width of the bounded intervals",
    "endless": "number of unbounded intervals",
    "set_size": "mean number of classes in a set",
    "empty_sets": "share of empty sets",
    "sets_of_one": "share of sets with one class",
    "drift": "number of alarms of each detector since the previous point; null without a detector",
    "better_p": f'p-value of "never better than the champion", {TEST}',
    "better_since": "offset at which it was first 0.05 or less",
    "better_log_e": "logarithm of the current e-value",
    "rows": "rows predicted so far; this and the next four with `--label-wait`",
    "waiting": "rows that wait for their label",
    "never_labelled": "rows that stopped waiting before their label arrived",
    "delay_rows": "median and 95th percentile of the number of rows between a row and its label",
    "delay_ms": "the same in ms",
}
PREFIXES = {
    "window_": "the same in the window",
    "fading_": "the same, with older rows counting less",
    "worse_": 'the same for "worse"',
}
"""Beginning of a field -> what it says of the field without it, or with `better_` instead of `worse_`."""
SECTIONS: dict[str, tuple[str, tuple[str, ...], Mapping[str, str]]] = {
    "Predictions": ("predictions`, `challengers", ("prediction",), OF_PREDICTIONS),
    "Accuracy points of classes": ("accuracy", ("accuracyOfClasses",), OF_POINTS),
    "Accuracy points of numbers": ("accuracy", ("accuracyOfNumbers",), OF_POINTS),
    "Drift alarms": (
        "alarms",
        ("alarm",),
        {
            **COMMON,
            "detector": "the detector, with its parameters",
            "offset": "offset of the event at which it reported the drift",
            "id": "id of that event",
        },
    ),
    "Exchanges of models": (
        "shares",
        ("share",),
        {
            **COMMON,
            "consumed": "for each other partition, the offset in this topic up to which its records are included",
            "offset": "input offset after which the exchange took place",
            "partitions": "number of partitions that take part",
            "received": "for each learner, the result: weights, information, rows of other partitions; null: nothing",
            "sent": "for each learner, what the partition sent to the others",
            "round": "number of the exchange",
            "rows": "labelled rows of the partition so far",
        },
    ),
    "Plans of models": (
        "models",
        ("plan",),
        {
            "plan": "number of the plan",
            "models": "the models, the champion first: `learner`; `from`: the model that it continues; `file`: its "
            "state; `start`: `warm` or `frozen`; `relearned`: it relearns the log first; `anew`: it starts with an "
            "empty state",
            "at": "for each partition, the first offset at which the plan may be applied",
            "relearn_from": "for each partition, the offset from which models are relearned",
            "made_at": "when the plan was made, in ms since 1970",
            "change": "what was changed, in words",
            "detectors": "drift detectors",
            "window": "rows of the rolling window",
            "accuracy_every": "rows between two accuracy points",
            "coverage": "coverage of intervals and sets; null: none",
            "features": "the features",
        },
    ),
    "Headers of rejections": (
        "rejected",
        ("headers",),
        {
            "reason": "why the event or label cannot be used",
            "topic": "topic that the event or label came from",
            "partition": "its partition in that topic",
            "offset": "its offset in that topic",
            "timestamp": "its timestamp in that topic, in ms since 1970",
            "headers": "number of its own headers, which follow under the prefix `event.`",
            "input-offset": "for a label from a separate label topic: offset of the event before which it was merged",
            "set-aside": "`label`: the label was set aside, and its event is predicted",
            "truncated": "`true`: the value or key was too large for the topic, and only its beginning is here",
            "length": "size of the whole value in bytes, if it was truncated",
            "sha256": "SHA-256 digest of the whole value",
            "key-length": "size of the whole key in bytes, if it was truncated",
            "key-sha256": "SHA-256 digest of the whole key",
            **{
                f"__streams.errors.{name}": f"with `--rejected-headers kafka-streams`: {text}"
                for name, text in {
                    "message": "the reason",
                    "exception": "`driftway.RejectedEvent: ` and the reason",
                    "stacktrace": "the reason; there is no stack trace",
                    "topic": "as `topic`",
                    "partition": "as `partition`",
                    "offset": "as `offset`",
                }.items()
            },
        },
    ),
}  # fmt: skip
"""Title -> topics, schemas, and field -> its meaning."""


def meaning(field: str, known: Mapping[str, str]) -> str:
    """Return what a field means.

    Raises
    ------
    KeyError
        Nobody has said it.
    """
    for prefix, text in PREFIXES.items():
        if field not in known and field.startswith(prefix):
            rest = field.removeprefix(prefix)
            whole = f"better_{rest}" if prefix == "worse_" else "accuracy" if rest == "accuracy" else rest
            return f"as `{whole}`: {text}" if whole in known else known[field]
    return known[field]


def types(form: Mapping[str, Any]) -> str:
    """Return the JSON types of a field."""
    parts = [form, *form.get("oneOf", ())]
    found = [name for part in parts for name in _listed(part.get("type", ()))]
    return ", ".join(dict.fromkeys(sorted(found, key="null".__eq__))) or "any"


def _listed(given: str | Iterable[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def rows(forms: Iterable[Mapping[str, Any]], known: Mapping[str, str]) -> Iterable[str]:
    """Yield a row for each field of a message of one of these forms."""
    kinds = list(forms)
    fields: dict[str, list[str]] = {}
    for form in kinds:
        for name, one in form["properties"].items():
            fields.setdefault(name, []).append(types(one))
    for name, found in fields.items():
        always = all(name in form.get("required", ()) for form in kinds)
        shown = ", ".join(dict.fromkeys(", ".join(found).split(", ")))
        yield f"| `{name}`{'' if always else ' ?'} | {shown} | {meaning(name, known)} |"


def page() -> str:
    """Return the page.

    Raises
    ------
    KeyError
        A field has no meaning.
    """
    made = {**schemas(), "headers": headers_schema()}
    parts = [HEAD]
    for title, (topics, names, known) in SECTIONS.items():
        forms = [form for name in names for form in made[name].get("anyOf", [made[name]])]
        parts += [f"## {title}", "", f"Topics `{topics}`." if "," in topics else f"Topic `{topics}`.", ""]
        parts += ["| Field | Type | Meaning |", "|---|---|---|", *rows(forms, known), ""]
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
