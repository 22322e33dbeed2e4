"""Files of events offline: evaluation and training read them by a schema and fill missing values, as a worker does."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftway.learners.spec import Spec
from driftway.producers.streams import open_events
from driftway.worker.evaluation.rows import MissingValueFillers
from driftway.worker.kafka.client_config import PYTHON
from driftway.worker.settings import ModelSettings
from driftway.worker.state import model_file
from driftway.worker.state.model import Model
from driftway.worker.stream.warm_up import compile_kernels
from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.events import Records, Target
from driftway.worker.wire.schema.feature import MissingPolicy
from driftway.worker.wire.schema.schema import EventSchema
from tests.support.cli_runner import run

FEATURES = ("amount", "visits", "country:one-of=de|fr|*", "when:time=hour-circle")
TARGET = Target(labels=("no", "yes"))
ROWS, WRONG = 400, 17
"""Number of rows, and the row whose amount is not a number."""
ASKED = (
    *(word for text in FEATURES for word in ("--feature", text)), "--label", "bought", "--missing", "mean",
    "--missing-indicators",
)  # fmt: skip


@pytest.fixture
def shop(tmp_path: Path) -> str:
    chosen = random.Random(5)
    lines = ["when,country,amount,visits,bought"]
    for i in range(ROWS):
        amount, visits = chosen.gauss(50, 20), chosen.randrange(10)
        shown = "much" if i == WRONG else "" if chosen.random() < 0.2 else repr(amount)
        word = "yes" if amount + 5 * visits > 70 else "no"
        lines.append(
            f"2026-11-{1 + i // 24:02d}T{i % 24:02d}:00,{chosen.choice(['de', 'fr', 'us'])},{shown},{visits},{word}"
        )
    (tmp_path / "shop.csv").write_text("\n".join(lines) + "\n")
    return str(tmp_path / "shop.csv")


def evaluated(*words: object) -> list[dict[str, Any]]:
    done = run("evaluate", *words, "--json")
    assert done.exit_code == 0, done.output
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def sentence(*words: object) -> str:
    done = run(*words)
    assert done.exit_code == 2, done.output
    return done.stderr.strip().splitlines()[-1].removeprefix("driftway: ")


def settings(learner: str = "arow", **more: Any) -> ModelSettings:
    events = EventSchema.parse(FEATURES, label="bought", missing="mean", indicators=True)
    return ModelSettings((Spec.parse(learner),), TARGET, events=events, **more)


def of_a_worker(path: str, model: Model, rows: slice) -> list[float]:
    """Return the scores of a worker's partition, batch by batch."""
    values = [value for block in open_events(path).blocks() for value in block][rows]
    scores = []
    for start in range(0, len(values), 37):
        part = values[start : start + 37]
        n = len(part)
        batch = Records(0, np.arange(start, start + n), ListColumn(part), ListColumn([None] * n), np.zeros(n, np.int64))
        scores += [json.loads(value)["score"] for value in model.advance(batch).predictions.to_list()]
    return scores


def scored(path: str, out: Path, *words: object) -> list[dict[str, Any]]:
    evaluated(path, *words, "--scores", out)
    return [json.loads(line) for line in out.read_text().splitlines()]


def test_every_partition_imputes_and_learns_as_a_worker_does(shop: str, tmp_path: Path) -> None:
    found = scored(shop, tmp_path / "s", *ASKED, "--labels", "no,yes", "--learner", "arow", "--partitions", 3)
    assert [line["row"] for line in found] == [row for row in range(ROWS) if row != WRONG]
    for p in range(3):
        expected = of_a_worker(shop, Model(settings(), p), slice(p, None, 3))
        assert [line["score"] for line in found if line["row"] % 3 == p] == expected


@pytest.mark.usefixtures("forked_jobs")
def test_protocols_limits_and_jobs_apply_to_events(shop: str, tmp_path: Path) -> None:
    asked = shop, *ASKED, "--labels", "no,yes", "--learner", "arow", "--learner", "pa1"
    one, two = evaluated(*asked), evaluated(*asked, "--jobs", 2)
    for result in (*one, *two):
        result.pop("seconds")
    assert one == two
    assert [(result["rows"], result["rejected"]) for result in one] == [(ROWS - 1, 1)] * 2
    assert [result["rows"] for result in evaluated(*asked, "--skip", 100, "--limit", 50)] == [50, 50]
    (of_segments, _) = evaluated(*asked, "--protocol", "segments")
    first = evaluated(shop, *ASKED, "--labels", "no,yes", "--learner", "arow", "--skip", 8, "--limit", 320)[0]
    assert of_segments["accuracy_values"][0] == first["accuracy"], "each piece fills from scratch"
    header, *rows = Path(shop).read_text().splitlines()
    long, picture = tmp_path / "long.csv", tmp_path / "x.html"
    long.write_text("\n".join([header, *rows, *rows]) + "\n")
    assert run("evaluate", long, *asked[1:], "--curves", picture).exit_code == 0
    assert picture.exists()


def test_a_rejected_event_is_reported(shop: str) -> None:
    done = run("evaluate", shop, *ASKED, "--labels", "no,yes", "--learner", "arow")
    assert f"{ROWS - 1} of the {ROWS} rows of {shop} could be used: 1 rejected; the first, row {WRONG}: " in done.stderr
    assert "amount is not a number" in done.stderr


def test_missing_numbers_of_a_plain_stream_are_rejected_or_imputed(tmp_path: Path) -> None:
    dirt = "--inject", "missing:share=0.2"
    words = "sea:rows=1000", *dirt, "--learner", "arow"
    (rejecting,), (filling,) = evaluated(*words), evaluated(*words, "--missing", "last", "--missing-indicators")
    assert (rejecting["rejected"] > 0, filling["rejected"], filling["rows"]) == (True, 0, 1000)
    path = tmp_path / "x.csv"
    path.write_text("a,y\n1,0\n,1\ninf,1\n3,0\n")
    assert evaluated(path, "--missing", "0", "--learner", "arow")[0]["rows"] == 4, "on a topic infinity is null"


def test_ratings_by_users_with_text_ids_equal_those_with_numbers(tmp_path: Path) -> None:
    """Clusters do not depend on which number a user has, as long as the numbers are distinct, as they are here."""
    chosen, path = random.Random(6), tmp_path / "ratings.jsonl"
    rows = [(chosen.randrange(12), chosen.randrange(8), chosen.gauss(3, 1)) for _ in range(300)]
    events = [{"user": f"user {u}", "item": i, "rating": r} for u, i, r in rows]
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    asked = "--task", "regression", "--feature", "user:index=5000", "--feature", "item", "--label", "rating"
    found = scored(str(path), tmp_path / "s", *asked, "--learner", "online_mf:mode=cocluster,G=1,max_users=5000")
    learner = Spec.parse("online_mf:mode=cocluster,G=1").create(2, task="regression")
    score = np.empty((len(rows), 1))
    learner.predict_then_update(np.array([row[:2] for row in rows], float), np.array([row[2] for row in rows]), score)
    assert [line["score"] for line in found] == score[:, 0].tolist()


def test_drop_leaves_out_columns(shop: str) -> None:
    message = sentence("evaluate", shop, "--label", "bought", "--labels", "no,yes")
    assert f"driftway schema infer {shop} proposes them" in message
    assert "--feature" in message
    words = shop, "--label", "bought", "--labels", "no,yes", "--drop", "when", "--drop", "country", "--drop", "amount"
    assert evaluated(*words, "--learner", "arow")[0]["rows"] == ROWS


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sea", "--feature", "a"], "sea is a generator, whose rows are numbers: only files have rows with fields"),
        (["SHOP", "--feature", "@key"], "SHOP holds nothing but the events: @key exists in topics only"),
        (
            ["SHOP", "--feature", "when:time=age"],
            "row 0 of SHOP has no time at t, which the age of when needs: say where it is with --time PATH",
        ),
        (
            ["SHOP", "--feature", "amount", "--inject", "label_noise:share=0.1"],
            "--inject is for numeric columns: leave it or --feature out",
        ),
        (
            ["SHOP", "--feature", "amount", "--drop", "when"],
            "--drop is for numeric columns: leave it or --feature out",
        ),
        (
            ["SHOP", "--id", "a"],
            "--id is a path in events of your own format: name their features with --feature",
        ),
        (
            ["sea:rows=3000", "--protocol", "holdout", "--missing", "mean"],
            "holdout tests use complete rows: leave --missing out",
        ),
    ],
)
def test_conflicting_options_are_refused(shop: str, words: list[str], said: str) -> None:
    assert sentence("evaluate", *(shop if word == "SHOP" else word for word in words)) == said.replace("SHOP", shop)


def test_a_warm_start_continues_schema_missing_policy_and_imputation(shop: str, tmp_path: Path) -> None:
    out = tmp_path / "shop.driftway"
    done = run("train", shop, *ASKED, "--labels", "no,yes", "--limit", 200, "--test-skip", 200, "--out", out)
    assert done.exit_code == 0, done.output
    assert f"row {WRONG}: amount is not a number" in done.stderr
    file = model_file.load(out)
    known = file.settings()
    assert (known.events, known.missing) == (settings().events, MissingPolicy())
    warm = file.warm_start()
    before = Model(settings(), 0)
    of_a_worker(shop, before, slice(0, 200))
    assert before.imputer is not None
    assert warm.filling == before.imputer.state.memory.tobytes()
    found = scored(shop, tmp_path / "s", "--warm-start", out, "--skip", 200)
    began = ModelSettings(known.specs, TARGET, standardize=known.standardize, events=known.events, warm=warm)
    assert [line["score"] for line in found] == of_a_worker(shop, Model(began, 0), slice(200, None))
    compile_kernels(began, PYTHON)  # as a worker starts: with scratch events, whose missing values are 0
    assert scored(shop, tmp_path / "s", "--warm-start", out, "--skip", 200, *ASKED, "--labels", "no,yes") == found
    for words, message in (
        (["--missing", "last"], "--missing contradicts model file FILE: asked for last, the file has mean"),
        (["--label", "y"], "--label contradicts model file FILE: asked for y, the file has bought"),
        (["--id", "number"], "--id contradicts model file FILE: asked for number, the file has id"),
        (
            ["--envelope", "connect"],
            "--envelope contradicts model file FILE: asked for connect, the file has no envelope",
        ),
        (
            ["--feature", "amount"],
            f"--feature contradicts model file FILE: asked for amount, the file has {', '.join(FEATURES)}",
        ),
    ):
        assert sentence("evaluate", shop, "--warm-start", out, *words) == message.replace("FILE", str(out))


def test_training_on_numbers_imputes_missing_ones(tmp_path: Path) -> None:
    chosen = random.Random(3)
    lines = [f"{'' if i % 5 == 2 else chosen.gauss(0, 1)},{chosen.gauss(0, 1)},{i % 2}" for i in range(100)]
    path, out = tmp_path / "x.csv", tmp_path / "x.driftway"
    path.write_text("b,a,y\n" + "\n".join(lines) + "\n")
    words = "train", path, "--missing", "last", "--missing-indicators", "--named", "--out", out
    assert run(*words).exit_code == 0
    file = model_file.load(out)
    known = file.settings()
    assert (known.missing, known.indicators, known.events) == (MissingPolicy("last"), True, None)
    assert file.saved.schema is not None
    assert file.saved.schema.names == ("a", "b")
    assert file.model().champion.n_features == 4
    assert evaluated(path, "--warm-start", out)[0]["rejected"] == 0
    message = sentence("evaluate", path, "--warm-start", out, "--feature", "a")
    assert message == f'--feature contradicts model file {out}: asked for a, the file has events as {{"x": ..}}'


def test_statistics_of_imputation_of_two_partitions_are_merged() -> None:
    X = np.random.default_rng(4).normal(size=(60, 3))
    X[X < -0.5] = np.nan
    X[:20, 2] = np.nan
    missing = np.full((1, 3), np.nan)
    for word in ("mean", "last"):
        read = ModelSettings((Spec("arow"),), missing=MissingPolicy(word))
        ours, theirs, whole, begun = (MissingValueFillers(read, 3) for _ in range(4))
        ours.fill(X[:20])
        theirs.fill(X[20:])
        whole.fill(X)
        ours.merge(theirs)
        begun.begin(ours.state)
        assert np.allclose(begun.fill(missing), whole.fill(missing), rtol=1e-12)
    assert begun.fill(missing)[0].tolist() == [X[~np.isnan(X[:, j]), j][-1] for j in range(3)]


def test_training_refuses_conflicting_options(shop: str, tmp_path: Path) -> None:
    out = tmp_path / "m.driftway"
    for option, value in (("--drop", ["when"]), ("--named", [])):
        message = sentence("train", shop, "--feature", "amount", option, *value, "--out", out)
        assert message == f"{option} is for numeric columns: leave it or --feature out"


def test_the_table_event_of_a_config_file_defines_the_schema(shop: str, tmp_path: Path) -> None:
    features = json.dumps(FEATURES)
    config = tmp_path / "c.toml"
    config.write_text(
        f'[event]\nfeature = {features}\nlabel = "bought"\nmissing = "mean"\nmissing-indicators = true\n'
        '[evaluate]\nlabels = "no,yes"\n'
    )

    def figures(*words: object) -> dict[str, Any]:
        done = run(*words, "--learner", "arow", "--json")
        assert done.exit_code == 0, done.output
        return {key: value for key, value in json.loads(done.stdout)[0].items() if key != "seconds"}

    expected = figures("evaluate", shop, *ASKED, "--labels", "no,yes")
    assert figures("--config", config, "evaluate", shop) == expected
    other = figures("--config", config, "evaluate", shop, "--missing", "last")
    assert other["rows"] == expected["rows"]
    assert other["log_loss" if "log_loss" in other else "hinge_loss"] != expected.get(
        "log_loss", expected.get("hinge_loss")
    )
    assert run("--config", config, "replay", shop, "--raw", "--dry-run", tmp_path / "x", "--quiet").exit_code == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[event]\nfeatures = ["a"]\n', "no option 'features' of [event]; did you mean 'feature'?"),
        ("[event]\nlearner = 1\n", "no option 'learner' of [event]"),
        ("[event.more]\na = 1\n", "[event] takes keys, not tables such as 'more'"),
        ("event = 1\n", "no option 'event' of any command"),
    ],
)
def test_a_wrong_table_event_is_refused_in_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "c.toml").write_text(text)
    assert sentence("--config", tmp_path / "c.toml", "learners").startswith(f"config {tmp_path / 'c.toml'}: {said}")
