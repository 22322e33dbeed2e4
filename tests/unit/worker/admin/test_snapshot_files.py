"""`driftway snapshot` on files, and what it refuses before any broker is contacted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from driftway import cli
from driftway.worker.admin.cli.snapshot.tables import listed, print_list
from driftway.worker.admin.state_admin.description import INTERCEPT, describe
from driftway.worker.admin.state_admin.listing import HistoryMark, SnapshotList, StoredSnapshot
from driftway.worker.admin.state_admin.source import GroupPartition, settings_for
from driftway.worker.state import model_file
from driftway.worker.state.changelog.snapshot_pointer import Pointer
from driftway.worker.state.model import Model
from driftway.worker.wire.codec import encode_events
from driftway.worker.wire.events import Target
from tests.unit.worker.rows import drifting, model_settings, records

NAMES = ("a", "b", "c", "[d]")


def call(*arguments: str, **env: str) -> Result:
    return CliRunner(env=env).invoke(cli.main, ["snapshot", *arguments])


def sentence(*arguments: str, code: int, **env: str) -> str:
    found = call(*arguments, **env)
    assert found.exit_code == code, (found.output, found.exception)
    assert found.stdout == ""
    return found.stderr.splitlines()[-1]


def learned(*learners: str, n: int = 200, names: tuple[str, ...] | None = None, **rest: Any) -> Model:
    model = Model(model_settings(*learners, **rest), 3)
    X, y = drifting(n)
    model.advance(records(list(encode_events(X, y, 0, names))))
    return model


@pytest.fixture
def file(tmp_path: Path) -> str:
    model, path = learned("dfop:mu=0.01", "no_change", names=NAMES), str(tmp_path / "m.driftway")
    model_file.save(
        path,
        model_file.pack(
            model,
            model.save(),
            200,
            {"made_by": "a test", "rows": [0, 200], "report": {"errors": 3, "curve": [{"phi": 1}]}},
        ),
    )
    return path


def test_show_prints_everything_in_a_file(file: str) -> None:
    fields = json.loads(call("show", file, "--json").stdout)
    model = learned("dfop:mu=0.01", "no_change", names=NAMES)
    assert (fields["offset"], fields["partition"], fields["rows"], fields["file"]) == (200, 3, 200, file)
    assert fields["origin"] == {"made_by": "a test", "rows": [0, 200], "report": {"errors": 3, "curve": [{"phi": 1}]}}
    assert fields["digest"] == Path(file).read_bytes()[-16:].hex()
    assert fields["features"] == sorted(NAMES)
    champion, challenger = fields["learners"]
    assert champion["learner"] == "dfop:mu=0.01"
    assert champion["parameters"]["mu"] == 0.01
    state = model.learners[0].state
    assert champion["by_feature"]["weight"] == state["weight"].tolist()
    assert champion["by_feature"]["standardize.mean"] == state["standardize.mean"].tolist()
    assert champion["rows"] == [*sorted(NAMES), INTERCEPT]
    assert champion["arrays"]["P"]["values"] == state["P"].tolist()
    assert champion["counters"]["standardize.rows"] == state["standardize.rows"][0]
    assert champion["metrics"] == model.latest_points()["dfop:mu=0.01"]
    assert challenger["learner"] == "no_change"
    held = sum(len(learner[kind]) for learner in fields["learners"] for kind in ("counters", "by_feature", "arrays"))
    assert held == sum(len(list(one.state)) for one in model.learners), "every array once"


def test_show_prints_a_table_by_default(file: str) -> None:
    lines = call("show", file).stdout.splitlines()
    weight = learned("dfop:mu=0.01", "no_change", names=NAMES).learners[0].state["weight"]
    table = [line.split() for line in lines if line.split()[:1] in [[name] for name in (*NAMES, INTERCEPT)]]
    rows = {cells[0]: cells[-1] for cells in table}
    assert rows == {name: f"{w:.6g}" for name, w in zip([*sorted(NAMES), INTERCEPT], weight, strict=True)}
    text = "\n".join(lines)
    assert "origin: made_by = a test" in text
    assert "origin: report.errors = 3" in text
    assert "origin: report.curve: 1 point, with --json" in text
    assert "partition 3 at offset 200: 200 rows; classification, 2 classes" in text
    assert "P: 5 x 5 numbers" in text
    assert "mu = 0.01" in text


def test_show_works_before_the_first_good_event(tmp_path: Path) -> None:
    model, path = Model(model_settings("dfop:mu=0.01"), 0), str(tmp_path / "empty.driftway")
    model_file.save(path, model_file.pack(model, model.save(), 3))
    assert "no usable event yet, so there are no learners" in call("show", path).stdout
    assert json.loads(call("show", path, "--json").stdout)["learners"] == []


def test_weights_of_several_classes_are_shown_in_columns() -> None:
    model = Model(model_settings("mc_pa1", target=Target(n_classes=3, labels=("x", "y", "z"))), 0)
    X, _ = drifting(90)
    labels = ["xyz"[i % 3] for i in range(90)]
    model.advance(records([json.dumps({"x": x, "y": w}).encode() for x, w in zip(X.tolist(), labels, strict=True)]))
    (fields,) = describe(model, 90)["learners"]
    weight = next(v for n in model.learners[0].state if (v := model.learners[0].state[n]).shape == (3, 5))
    columns = {name: array for name, array in fields["by_feature"].items() if name.endswith("]")}
    assert [name[-5:] for name in columns] == ['["x"]', '["y"]', '["z"]']
    assert np.array(list(columns.values())).tolist() == weight.tolist()


def test_what_has_as_many_numbers_as_there_are_features_by_chance_is_not_by_feature() -> None:
    """The state of a forest's random numbers has four words, however many features there are."""
    (fields,) = describe(learned("auto", names=NAMES), 200)["learners"]
    assert "second.careful.trees.words" in fields["arrays"]
    assert {"standardize.mean", "standardize.recent_mean"} <= set(fields["by_feature"])
    others = {name for name in fields["by_feature"] if not name.startswith(("standardize.", "bulk.", "values."))}
    assert others == {f"second.{forest}.trees.gain" for forest in ("careful", "moderate", "eager")}


def test_mapped_features_are_shown_without_names() -> None:
    model = learned("perceptron", maps=(model_settings("hashing:buckets=4").specs))
    (fields,) = describe(model, 200)["learners"]
    assert fields["by_feature"] == {}
    assert fields["arrays"]["weight"]["shape"] == [5]
    assert fields["arrays"]["standardize.mean"]["shape"] == [4]
    weight = model.learners[0].state["weight"]
    assert fields["arrays"]["weight"]["least"] == min(weight.tolist())
    assert fields["arrays"]["weight"]["largest"] == max(weight.tolist())
    assert fields["arrays"]["weight"]["mean"] == pytest.approx(sum(weight.tolist()) / 5)
    assert fields["arrays"]["weight"]["nonzero"] == sum(w != 0 for w in weight.tolist())


def test_many_features_are_shortened_only_in_the_table(tmp_path: Path) -> None:
    model, path = Model(model_settings("perceptron"), 0), str(tmp_path / "wide.driftway")
    rng = np.random.default_rng(2)
    model.advance(records(list(encode_events(rng.normal(size=(5, 60)), np.ones(5), 0))))
    model_file.save(path, model_file.pack(model, model.save(), 5))
    shown = call("show", path).stdout
    assert "... and 21 more features; --json has them all" in shown
    assert "x[39]" in shown
    assert "x[40]" not in shown
    assert len(json.loads(call("show", path, "--json").stdout)["learners"][0]["by_feature"]["weight"]) == 61


def test_files_that_are_not_snapshots_are_refused(file: str, tmp_path: Path) -> None:
    blob = Path(file).read_bytes()
    damaged, foreign = tmp_path / "damaged", tmp_path / "foreign"
    damaged.write_bytes(blob[:-1] + b"?")
    foreign.write_bytes(b"PK\x03\x04 and so on")
    target = ("--input", "E", "--group", "g", "--partition", "0", "--at", "0", "--bootstrap", "nowhere:1")
    for command in (("show",), ("import", *target)):
        assert "its checksum does not match" in sentence(*command, str(damaged), code=1)
        assert f"{foreign} is not a model file of Driftway" in sentence(*command, str(foreign), code=1)
        assert "cannot read nothing.driftway: No such file or directory" in sentence(
            *command, "nothing.driftway", code=2
        )


def test_either_a_file_or_a_partition_must_be_named(file: str) -> None:
    assert "--at does not go with a file" in sentence("show", file, "--at", "3", code=2)
    assert "--input does not go with a file" in sentence("show", file, "--input", "E", code=2)
    assert call("show", file, DRIFTWAY_INPUT="E", DRIFTWAY_GROUP="g").exit_code == 0, "only if it was asked for"
    assert "--input is missing: name FILE, or --input and --partition" in sentence("show", code=2)
    assert "--partition is missing" in sentence("show", "--input", "E", "--group", "g", code=2)


def test_an_unwritable_file_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    target = ("--input", "E", "--group", "g", "--partition", "0", "--bootstrap", "nowhere:1")
    lost = str(tmp_path / "no" / "x.driftway")
    assert f"there is no directory {tmp_path / 'no'}" in sentence("export", *target, "--out", lost, code=2)
    assert "it is a directory" in sentence("export", *target, "--out", str(tmp_path), code=2)


@pytest.mark.parametrize("command", ["explain --offset 3", "snapshot show --at 3", "snapshot export --at 3 --out x"])
@pytest.mark.parametrize(("options", "expected"), [
    (("--format", "avro"), "--format avro needs a schema registry: give --registry URL"),
    (("--registry-property", "timeout=5"), "--registry-property needs a schema registry: give --registry URL"),
    (("--format", "protobuf", "--registry", "h:1"), "registry 'h:1': write http://HOST:PORT or https://HOST:PORT"),
    (
        ("--format", "avro", "--registry", "http://h:1", "--registry-property", "timeout=soon"),
        "registry property timeout=soon: write a number",
    ),
])  # fmt: skip
def test_options_of_a_registry_are_checked_as_for_a_worker(
    command: str, options: tuple[str, ...], expected: str
) -> None:
    target = ("--input", "E", "--group", "g", "--partition", "0", "--bootstrap", "nowhere:1")
    found = CliRunner().invoke(cli.main, [*command.split(), *target, *options])
    assert (found.exit_code, found.stderr.splitlines()[-1]) == (2, f"driftway: {expected}")


def test_a_registry_that_the_workers_have_for_their_predictions_may_be_named() -> None:
    """Then reading JSON events goes on, here to the broker, which does not answer."""
    place = ("--input", "E", "--group", "g", "--partition", "0", "--bootstrap", "127.0.0.1:1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("driftway.worker.kafka.client_config.REACH_SECONDS", 0.2)
        patch.setattr("driftway.worker.kafka.client_config.require_broker.__defaults__", (0.2,))
        assert "no Kafka broker answered" in sentence("show", *place, "--registry", "http://h:1", code=5)


def test_an_unreachable_broker_is_reported_in_one_sentence() -> None:
    target = ("--input", "E", "--group", "g", "--bootstrap", "127.0.0.1:1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("driftway.worker.kafka.client_config.REACH_SECONDS", 0.2)
        patch.setattr("driftway.worker.kafka.client_config.require_broker.__defaults__", (0.2,))
        assert "no Kafka broker answered at 127.0.0.1:1" in sentence("list", *target, code=5)


def test_the_list_is_printed_as_a_table_or_json(capsys: pytest.CaptureFixture[str]) -> None:
    source = GroupPartition(settings_for("nowhere:1", "EVENTS", "g", {}), 2, 5, 99, 70, Pointer(12, 1, 60), 20)
    listing = SnapshotList(2, [
        StoredSnapshot(Pointer(8, 2, 40), 5000, 1_700_000_000_000, 39, ("arow", "pa1")),
        HistoryMark(10, 50, 1_700_000_060_000),
        StoredSnapshot(Pointer(11, 1, 55), 4000, 1_700_000_060_000, None, (), "it is damaged"),
        StoredSnapshot(Pointer(12, 1, 60), 4000, 1_700_000_061_000, 10, ("arow",)),
        HistoryMark(13, None, 1_700_000_062_000),
    ], 3)  # fmt: skip
    fields = listed(source, listing)
    assert (fields["committed"], fields["log"], fields["orphans"]) == (70, [5, 99], 3)
    assert [one["kind"] for one in fields["found"]] == ["snapshot", "history", "snapshot", "snapshot", "history"]
    assert [one.get("committed") for one in fields["found"]] == [False, None, False, True, None]
    print_list(source, listing)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == "EVENTS/2: committed up to offset 70, the log holds 5 to 99"
    assert lines[2:] == [
        "40 39 5,000 2023-11-14 22:13:20 arow, pa1",
        "2023-11-14 22:14:20 -- a new history began at offset 50 --",
        "55 - 4,000 2023-11-14 22:14:20 it is damaged",
        "60 10 4,000 2023-11-14 22:14:21 arow <- committed",
        "2023-11-14 22:14:22 -- a new history began with a state that was imported or kept --",
        "and 3 chunks of incomplete snapshots",
    ]
    print_list(source, SnapshotList(2))
    assert "no complete snapshot" in capsys.readouterr().out
