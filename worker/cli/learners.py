"""`driftway learners`: list and describe the learners."""

from __future__ import annotations

from typing import Any

import click

from driftway.worker.cli.console import NO_TEXTS


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--json", "as_json", is_flag=True, help="Print a list of objects on standard output.")
def learners(names: tuple[str, ...], as_json: bool) -> None:
    """List the learners, or describe some: tasks, parameters with their defaults and bounds, state, cost, source.

    ova:NAME learns any number of classes with binary learners, one class against the rest: ova:arow:q=1e-4. scaled:NAME
    scales each feature by a fixed mean and standard deviation, those of the rows that a model was trained on.
    on_drift:NAME restarts the learner when a drift detector raises an alarm:
    on_drift:arow:detector=adwin,action=shrink; detectors are ddm, eddm, page_hinkley, adwin, hddm_a, hddm_w, kswin,
    with parameters as in ddm/warn=2/drift=3; actions are reset, shrink (reset only the covariance) and background (a
    copy that was trained since the first warning takes over). Ensembles accept any learner: dwm:base=arow/q=1e-4.

    \b
    Examples:
      driftway learners
      driftway learners dfop arow
      driftway learners --json
    """
    from driftway.learners import LEARNERS, UnknownLearner
    from driftway.learners.registry import find
    from driftway.worker.errors import UsageFailure
    from driftway.worker.wire.codec import write_json

    try:
        rows = [describe(find(name)) for name in names or LEARNERS]
    except UnknownLearner as error:
        raise UsageFailure(str(error)) from None
    if as_json:
        click.echo(write_json(rows))
        return
    for row in rows:
        given = ", ".join(f"{p['name']}={p['default']}" for p in row["parameters"])
        click.echo(f"{row['name']:<18} {', '.join(row['tasks']):<32} {given}")
        if names:
            click.echo(f"\n{row['description']}\n")
            for p in row["parameters"]:
                click.echo(f"  {p['name']:<12} {p['values']}, default {p['default']}")
                click.echo(click.wrap_text(p["text"], 100, " " * 15, " " * 15))
            for task, text in row["score"].items():
                click.echo(f"\n  Score, {task}: {text}.")
            click.echo("\n  State, as a snapshot holds it; d includes the intercept, K is the number of classes:")
            for field in row["state"]:
                click.echo(f"  {field['name']:<12} {field['shape']:<12} {field['text']}")
            if row["shares"]:
                click.echo("\n  Partitions can share its model, with --share-models.")
            click.echo(f"\nCost: {row['cost']}\nSource: {row['source']}\n" if row["source"] else "")


def describe(found: Any) -> dict[str, Any]:
    """Return the entry of a learner's class for `--json`; description, cost and source are from its docstring."""
    import inspect
    import re

    rule = rule_of(found)
    docstring = inspect.cleandoc(found.__doc__ or NO_TEXTS)
    text, *parts = re.split(r"^(\w+)\n-+$", docstring, flags=re.MULTILINE)
    section = {title: " ".join(body.split()) for title, body in zip(parts[::2], parts[1::2], strict=True)}
    return {
        "name": found.name,
        "family": found.__module__.split(".")[2],
        "tasks": list(found.tasks),
        "parameters": found.Params.describe(),
        "state": remembered(rule),
        "shares": rule.sharing is not None,
        "score": score_of(found),
        "description": text.strip(),
        "cost": section.get("Cost", ""),
        "source": section.get("Source", ""),
    }


SCORES = {
    ("binary", "logistic"): "the log-odds of class 1, any number: 1 / (1 + exp(-score)) is its probability",
    ("binary", "probit"): "the probit of class 1's probability, any number: the normal distribution function of it",
    ("binary", "votes"): "the votes for class 1 minus those for class 0, from -1 to 1",
    ("binary", None): "a margin in the learner's own unit, any number: class 1 is predicted from 0 on",
    ("multiclass", "softmax"): "one per class, any numbers: exp(score), divided by their sum, is its probability",
    ("multiclass", "direct"): "one per class, its probability",
    ("multiclass", "votes"): "one per class, its share of the votes, from 0 to 1",
    ("multiclass", None): "one per class in the learner's own unit, any numbers: that of the largest is predicted",
    ("regression", None): "the predicted number",
}
"""Kind of learner, and how its scores map to probabilities -> what a score is. The probability in a prediction is
calibrated from labels, see docs/decisions/0055, and not just computed so."""


def score_of(found: Any) -> dict[str, str]:
    """Return what the scores of a learner's class are, and their range, for each of its tasks."""
    votes = "votes" if found.votes else None
    links = {"binary": found.link or votes, "multiclass": found.multiclass_link or votes, "regression": None}
    return {task: SCORES[task, links[task]] for task in found.tasks}


def rule_of(found: Any) -> Any:
    """Return the rule of a learner's class with default parameters."""
    from driftway.learners.spec import Spec

    task = "regression" if found.tasks[0] == "regression" else "classification"
    spec, classes = Spec(found.name), 3 if found.tasks[0] == "multiclass" else 2
    return spec.create(spec.min_features(classes, task), classes, task).rule()


def remembered(rule: Any) -> list[dict[str, str]]:
    """Return the arrays of a state: name, shape in letters (d: features and intercept), meaning."""
    from driftway.learners.engine.state_layout import field_specs

    kept = {name: one for name, one in field_specs(rule.memory).items() if one.in_state}
    return [{"name": name, "shape": f"{one.dtype}[{one.shape}]", "text": one.text} for name, one in kept.items()]
