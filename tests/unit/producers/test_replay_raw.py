"""Rows sent unchanged: values, keys, malformed messages among them, and options that do not go with them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from driftway.cli import main
from driftway.producers.messages import field_text, raw_encoder
from driftway.producers.poison import raw_kinds
from driftway.producers.streams import open_events
from driftway.worker.errors import UsageFailure
from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.decoder import Decoder
from driftway.worker.wire.events import Records, Target
from driftway.worker.wire.schema.paths import Path as Way
from driftway.worker.wire.schema.schema import EventSchema

CSV = "id,shop,amount,y\n" + "".join(f"{i},{'ab'[i % 2]},{i / 4},{i % 2}\n" for i in range(10))


@pytest.fixture
def path(tmp_path: Path) -> str:
    (tmp_path / "shop.csv").write_text(CSV)
    return str(tmp_path / "shop.csv")


def replay(path: str, *options: str) -> Result:
    return CliRunner().invoke(main, ["replay", path, "--dry-run", "-", "--quiet", *options])


def sentence(path: str, *options: str) -> str:
    done = replay(path, *options)
    assert done.exit_code == 2, done.output
    return done.output.strip().splitlines()[-1].removeprefix("driftway: ")


def test_rows_are_objects_of_their_columns(path: str) -> None:
    lines = replay(path, "--raw").output.splitlines()
    assert lines[0] == '{"id":0,"shop":"a","amount":0.0,"y":0}'
    assert [json.loads(line)["amount"] for line in lines] == [i / 4 for i in range(10)]
    assert replay(path, "--raw", "--drop", "shop", "--drop", "id").output.splitlines()[1] == '{"amount":0.25,"y":1}'


def test_skip_limit_and_loop_select_rows(path: str) -> None:
    lines = replay(path, "--raw", "--loop", "3", "--skip", "8", "--limit", "6").output.splitlines()
    assert [json.loads(line)["id"] for line in lines] == [8, 9, 0, 1, 2, 3]


def test_json_lines_are_always_sent_unchanged(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(b'{"a" : 1}\nno JSON\n\n{"b":2}\n')
    assert replay(str(tmp_path / "x.jsonl"), "--rate", "1000").output.splitlines() == [
        '{"a" : 1}',
        "no JSON",
        '{"b":2}',
    ]


def test_keys_are_the_values_of_fields(path: str) -> None:
    encode = raw_encoder(open_events(path), "shop")
    (block,) = open_events(path).blocks()
    assert encode(block)[1] == [b"a", b"b"] * 5
    values = {
        b'{"a":{"b":"x"}}': b"x",
        b'{"a":{"b":3}}': b"3",
        b'{"a":{"b":3.0}}': b"3",
        b'{"a":{"b":0.25}}': b"0.25",
        b'{"a":{"b":true}}': b"true",
        b'{"a":{"b":null}}': b"null",
        b'{"a":{"b":[1]}}': b"[1]",
        b'{"a":1}': b"null",
        b"no JSON": b"null",
        b"": b"null",
    }
    assert {value: field_text(value, Way.parse("a.b")) for value in values} == values
    for key in ("absent", "@key"):
        with pytest.raises(UsageFailure, match=f"has no field {key} for --key"):
            raw_encoder(open_events(path), key)


def test_malformed_messages_are_rejected_by_every_schema(path: str) -> None:
    lenient = EventSchema.parse(["amount"], missing="0")
    for good in (b'{"amount":1}', b'"amount":1}', b"]", b""):
        bad = ListColumn([kind(good) for kind in raw_kinds()])
        records = Records(0, np.arange(len(bad)), bad, ListColumn([None] * len(bad)), np.zeros(len(bad), np.int64))
        assert len(Decoder(Target(), events=lenient).decode(records)) == 0
    done = replay(path, "--raw", "--poison", "0.5", "--seed", "3")
    assert done.exit_code == 0
    assert len(done.stdout_bytes.splitlines()) > 10


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--format", "packed"], "--format packed is for rows of numbers; --raw sends rows as JSON"),
        *(
            (given, f"{given[0]} changes rows, but --raw sends them as they are: remove it")
            for given in (
                ["--inject", "label_noise:share=0.1"],
                ["--missing-labels", "0.5"],
                ["--time-column", "amount"],
                ["--shuffle"],
                ["--named"],
                ["--concept-headers"],
            )
        ),
    ],
)
def test_options_that_would_change_rows_are_refused(path: str, options: list[str], said: str) -> None:
    assert sentence(path, "--raw", *options) == said


def test_labels_are_written_as_the_classes_that_they_name(tmp_path: Path) -> None:
    table = tmp_path / "regions.csv"
    table.write_text("sold,region\n1,EU\n0,NA\n1,\n")
    done = replay(str(table), "--raw", "--label", "region", "--labels", "EU,NA")
    assert [json.loads(line)["region"] for line in done.output.splitlines()] == ["EU", "NA", None]
    table.write_text("sold,paid\n1,TRUE\n0,no\n1,1.0\n")
    done = replay(str(table), "--raw", "--label", "paid", "--labels", "false,true")
    assert [json.loads(line)["paid"] for line in done.output.splitlines()] == ["true", "false", "1.0"]
    lines = tmp_path / "regions.jsonl"
    lines.write_text('{"region":"EU"}\n')
    said = "--labels is for files with columns; JSON lines are sent as they are: give it to the worker"
    assert sentence(str(lines), "--labels", "EU,NA") == said
    said = "--shuffle changes rows, but JSON lines are sent as they are: remove it"
    assert sentence(str(lines), "--shuffle") == said


def test_raw_rows_of_a_generator_are_refused() -> None:
    assert sentence("sea", "--raw") == "sea is a generator, whose rows are numbers: only files have rows with fields"


def test_the_refusal_of_a_text_column_names_drop_and_raw(path: str) -> None:
    message = sentence(path)
    assert "leave it out with --drop" in message
    assert "driftway replay sends such rows with --raw" in message
    assert json.loads(replay(path, "--drop", "shop").output.splitlines()[3]) == {"id": 3, "x": [3.0, 0.75], "y": 1}
