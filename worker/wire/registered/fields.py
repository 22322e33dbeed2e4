"""What the fields of a prediction mean, for all schemas that describe it."""

MEANINGS = {
    "kind": "kind of the model",
    "id": "id of the event",
    "partition": "partition of the event in the input",
    "offset": "offset of the event in the input",
    "prediction": "the class, as on the wire, or the number",
    "score": "a margin with two classes, one number for each class with more; in regression the prediction",
    "probability": "how probable it was, before the label, that the class predicted is right",
    "low": "low end of the interval around the prediction, with --coverage",
    "high": "its high end",
    "set": "the classes that the label is one of, with --coverage",
    "y": "the label, if it came with the event",
    "learner": "the model",
    "plan": "number of the plan that the model belongs to",
    "t": "time of the event in ms since 1970",
}
"""Field -> its meaning."""
