"""`driftway evaluate`: what its protocols print and write, and what it refuses before it starts."""

from __future__ import annotations

import base64
import csv
import json
import math
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from driftway.worker.cli.console import check_file
from driftway.worker.errors import Failure, UsageFailure
from driftway.worker.evaluation.cli import evaluation_curves
from driftway.worker.evaluation.cli.evaluation_curves import StreamCurves, draw_curves, points_every
from driftway.worker.evaluation.cli.evaluation_table import cell
from driftway.worker.evaluation.protocols import Outcome
from driftway.worker.evaluation.results import add_robustness, rows_of, write_csv, write_parquet
from tests.support.cli_runner import run

SEA, STAGGER = "sea:rows=1000", "stagger:rows=900"
LEARNERS = ("--learner", "ogd_logistic", "--learner", "pa1")


evaluate = partial(run, "evaluate")


def found(*arguments: str) -> list[dict[str, Any]]:
    done = evaluate(*arguments, "--json")
    assert done.exit_code == 0, done.output
    results: list[dict[str, Any]] = json.loads(done.stdout)
    return results


def timeless(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "seconds"} for row in results]


# JSON.


def test_segments_have_means_deviations_and_values() -> None:
    results = found(SEA, STAGGER, *LEARNERS, "--protocol", "segments")
    assert [(row["stream"], row["learner"]) for row in results] == [
        ("sea", "ogd_logistic"), ("sea", "pa1"), ("stagger", "ogd_logistic"), ("stagger", "pa1"),
    ]  # fmt: skip
    for row in results:
        assert row["protocol"] == "segments"
        assert row["parts"] == 10
        assert row["rows"] == (1000 if row["stream"] == "sea" else 900)
        values = row["accuracy_values"]
        assert len(values) == 10
        assert row["accuracy"] == pytest.approx(math.fsum(values) / 10)
        assert row["accuracy_sd"] ** 2 == pytest.approx(math.fsum((v - row["accuracy"]) ** 2 for v in values) / 10)
        assert ("log_loss" in row) == (row["learner"] == "ogd_logistic")
        assert {"kappa", "kappa_sd", "kappa_m", "kappa_temporal_values"} <= set(row)


def test_holdout_metrics_are_shown_beside_the_prequential_ones() -> None:
    (row,) = found(SEA, "--learner", "arow", "--protocol", "holdout", "--holdout-every", "300", "--holdout-rows", "50")
    (plain,) = found(SEA, "--learner", "arow")
    assert row["parts"] == len(row["holdout_accuracy_values"]) == 3
    assert all((50 * value).is_integer() for value in row["holdout_accuracy_values"])
    own = set(plain) - {"seconds", "protocol"}
    assert {name: row[name] for name in own} == {name: plain[name] for name in own}
    (noisy,) = found(SEA, "--learner", "arow", "--protocol", "holdout", "--holdout-every", "300", "--holdout-noisy")
    assert noisy["holdout_accuracy"] < row["holdout_accuracy"]


def test_prequential_has_more_keys_than_the_table() -> None:
    results = found(SEA, *LEARNERS)
    assert {"protocol", "kappa_m", "log_loss", "brier"} <= set(results[0])
    assert "log_loss" not in results[1]
    worse, better = sorted(row["accuracy"] for row in results)
    ratios = sorted(row["robustness_ratio"] for row in results)
    assert ratios == [1.0, better / worse]
    assert "robustness_ratio" not in found(SEA, "--learner", "pa1")[0]


@pytest.mark.usefixtures("forked_jobs")
def test_the_number_of_processes_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole command with one process and with two: the same results in the same order, and the same curves."""
    arguments = (SEA, STAGGER, *LEARNERS, "--curves", str(tmp_path / "c.svg"))
    drawn: list[Any] = []
    monkeypatch.setattr(evaluation_curves, "draw_curves", lambda *given: drawn.append(given) or [])
    one, two = (found(*arguments, "--jobs", jobs) for jobs in "12")
    assert timeless(one) == timeless(two)
    assert [len(stream.points) > 4 for stream in drawn[0][0]] == [True, True]
    assert drawn[0] == drawn[1]


# Rows.


def outcome(learner: str, *accuracies: float | None, stream: str = "s", protocol: str = "segments") -> Outcome:
    parts = tuple({"rows": 8, "rejected": 1, "labels": 7, "window": 7, "accuracy": a} for a in accuracies)
    return Outcome(stream, learner, protocol, 10, ((0, 8),) * len(parts), parts, 0.25)


def test_each_partition_has_one_row() -> None:
    rows = rows_of(outcome("a", 0.5, 0.75, protocol="prequential"))
    assert [(row["partition"], row["accuracy"], row["rows"]) for row in rows] == [(0, 0.5, 8), (1, 0.75, 8)]
    assert "partition" not in rows_of(outcome("a", 0.5, protocol="prequential"))[0]


def test_robustness_is_summed_over_streams() -> None:
    rows = [
        *rows_of(outcome("a", 0.6)), *rows_of(outcome("b", 0.9)),
        *rows_of(outcome("a", 0.8, stream="t")), *rows_of(outcome("b", 0.5, stream="t")),
    ]  # fmt: skip
    add_robustness(rows)
    assert [row["robustness_ratio"] for row in rows] == pytest.approx([1.0, 1.5, 1.6, 1.0])
    assert [row["robustness_total"] for row in rows] == pytest.approx([2.6, 2.5, 2.6, 2.5])
    rows = [*rows_of(outcome("a", 0.6, None)), *rows_of(outcome("b", 0.9))]
    add_robustness(rows)
    assert [(row["robustness_ratio"], row["robustness_total"]) for row in rows] == [(None, None)] * 2


def test_a_parquet_file_may_have_a_colon_in_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow takes a name such as `hashing:buckets=1e18` for the address of a file system."""
    pq = pytest.importorskip("pyarrow.parquet")
    monkeypatch.chdir(tmp_path)
    write_parquet([{"stream": "sea"}], "hashing:buckets=1e18")
    assert pq.read_table(str(tmp_path / "hashing:buckets=1e18")).num_rows == 1


def test_csv_and_parquet_contain_the_same_as_json(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    text, binary = tmp_path / "r.csv", tmp_path / "r.parquet"
    results = found(SEA, STAGGER, *LEARNERS, "--protocol", "segments", "--csv", str(text), "--parquet", str(binary))
    with open(text, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    table = pq.read_table(binary)
    assert list(rows[0])[:5] == table.column_names[:5] == ["protocol", "stream", "learner", "rows", "rejected"]
    for result, row, same in zip(results, rows, table.to_pylist(), strict=True):
        assert {name: value for name, value in same.items() if value is not None} == result
        for name, value in row.items():
            if name not in result:
                assert value == ""
            elif isinstance(result[name], list):
                assert [float(part) for part in value.split(";")] == result[name]
            elif isinstance(result[name], str):
                assert value == result[name]
            else:
                assert float(value) == result[name]


def test_values_that_are_missing_stay_missing(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    rows = rows_of(outcome("a", 0.1 + 0.2, None))
    write_csv(rows, str(tmp_path / "r.csv"))
    write_parquet(rows, str(tmp_path / "r.parquet"))
    header, line = (tmp_path / "r.csv").read_text().splitlines()
    values = dict(zip(header.split(","), line.split(","), strict=True))
    assert (values["accuracy"], values["accuracy_values"]) == ("", "0.30000000000000004;")
    (same,) = pq.read_table(tmp_path / "r.parquet").to_pylist()
    assert same["accuracy"] is None
    assert same["accuracy_values"] == [0.1 + 0.2, None]


def test_a_files_name_is_never_taken_for_an_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    monkeypatch.chdir(tmp_path)
    write_parquet(rows_of(outcome("a", 0.5)), "a:one-of=")
    assert pq.read_table(tmp_path / "a:one-of=").num_rows == 1


def test_unwritable_files_are_refused_early(tmp_path: Path) -> None:
    with pytest.raises(UsageFailure, match="no directory"):
        check_file(str(tmp_path / "no" / "r.csv"))
    with pytest.raises(UsageFailure, match="it is a directory"):
        check_file(str(tmp_path))
    with pytest.raises(Failure, match=r"pip install 'driftway\[files\]'"):
        check_file(str(tmp_path / "r.parquet"), needs="no_such_package", extra="files")
    check_file(str(tmp_path / "r.csv"))
    with pytest.raises(Failure, match="cannot write"):
        write_csv([], str(tmp_path))


# Tables.


def test_tables_of_parts_show_means_and_deviations() -> None:
    text = evaluate(SEA, STAGGER, *LEARNERS, "--protocol", "segments").stdout
    for words in ("segments", "accuracy", "kappa-M", "log-loss", "Brier", "robustness", "±", "robustness over all"):
        assert words in text
    text = evaluate(SEA, "--learner", "pa1", "--protocol", "holdout", "--holdout-every", "500").stdout
    assert "tests" in text
    assert "holdout" in text
    assert "robustness" not in text


def test_the_columns_of_the_prequential_table_are_fixed() -> None:
    header, *_ = evaluate(SEA, *LEARNERS).stdout.splitlines()
    assert header.split() == [
        "stream", "learner", "rows", "accuracy", "window", "kappa", "kappa-temporal", "no-change", "majority",
        "rows/s",
    ]  # fmt: skip


def test_cells_show_percentages_and_deviations() -> None:
    assert cell("accuracy", 0.87654, 0.00123) == "87.65 ± 0.12 %"
    assert cell("accuracy", 0.87654) == "87.65 %"
    assert cell("kappa", 0.123456, 0.0321) == "0.1235 ± 0.032"
    assert cell("kappa", None) == "-"


# Curves.


def points(learner: str, *values: float) -> list[dict[str, Any]]:
    return [
        {"learner": learner, "partition": 0, "offset": 100 * i - 1, "labels": 100 * i, "window": 100,
         "window_accuracy": value, "no_change_accuracy": 0.5, "majority_accuracy": 0.6}
        for i, value in enumerate(values, 1)
    ]  # fmt: skip


def test_curves_are_pictures_with_drift_marks(tmp_path: Path) -> None:
    drawing = StreamCurves("sea", points("arow", 0.7, 0.8, 0.9), (150,))
    png, svg, page = (tmp_path / f"c.{suffix}" for suffix in ("png", "svg", "html"))
    for path in (png, svg, page):
        assert draw_curves([drawing], str(path)) == [str(path)]
    assert png.read_bytes().startswith(b"\x89PNG")
    text = svg.read_text()
    assert all(f"<!-- {word} -->" in text for word in ("concept drift", "150", "arow", "Rolling accuracy on sea"))
    (inside,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', page.read_text())
    assert "<!-- concept drift -->" in base64.b64decode(inside).decode()
    assert 'alt="sea"' in page.read_text()


def test_each_stream_has_a_picture_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation_curves, "draw", lambda _curves, _picture, file: Path(file).touch())
    drawings = [StreamCurves(name, points("arow", 0.7, 0.8)) for name in ("a/sea", "<b>&")]
    files = draw_curves(drawings, str(tmp_path / "c.svg"))
    assert [Path(file).name for file in files] == ["c-sea.svg", "c-_b_.svg"]
    assert all(Path(file).exists() for file in files)
    draw_curves(drawings, str(tmp_path / "c.html"))
    text = (tmp_path / "c.html").read_text()
    assert text.count("<figure>") == 2
    assert "<b>" not in text
    alike = draw_curves([drawings[0]] * 2, str(tmp_path / "c.svg"))
    assert [Path(file).name for file in alike] == ["c-1-sea.svg", "c-2-sea.svg"]


def test_the_command_draws_any_metric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one is a picture; to be quick, the others are only the texts of theirs."""
    path = tmp_path / "c.svg"
    assert evaluate(SEA, *LEARNERS, "--curves", str(path), "--curve-metric", "kappa_m").exit_code == 0
    assert "Kappa-M so far on sea" in path.read_text()

    def texts_of(figure: Figure, file: str, **_: object) -> None:
        Path(file).write_text("\n".join(text.get_text() for text in figure.findobj(Text)))

    monkeypatch.setattr(Figure, "savefig", texts_of)
    assert evaluate(SEA, *LEARNERS, "--curves", str(path), "--curve-metric", "window_kappa_m").exit_code == 0
    assert "Rolling kappa-M on sea" in path.read_text()
    done = evaluate(SEA, "--protocol", "holdout", "--holdout-every", "200", "--curves", str(path))
    assert done.exit_code == 0, done.output
    assert "holdout_accuracy on sea" in path.read_text()
    done = evaluate(SEA, "--curves", str(path), "--curve-metric", "colour")
    assert done.exit_code == 2
    assert "points have no colour; they have window_accuracy" in done.stderr


def test_a_curve_has_about_400_points() -> None:
    assert (points_every(None), points_every(10), points_every(50_000)) == (500, 1, 125)


# Refusals.


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--protocol", "segments", "--scores", "s"), "--scores belongs to --protocol prequential, not segments"),
        (("--protocol", "holdout", "--regret"), "--regret belongs to --protocol prequential, not holdout"),
        (("--jobs", "2", "--scores", "s"), "--scores needs all learners in one process"),
        (("--protocol", "holdout", "--partitions", "2"), "--partitions belongs to --protocol prequential"),
        (("--protocol", "segments", "--curves", "c.svg"), "--curves draws one run over the whole stream"),
        (("--curve-metric", "kappa"), "--curve-metric needs --curves FILE"),
        (("--csv", "no/such/r.csv"), "there is no directory no/such"),
        (("--parquet", "no/such/r.parquet"), "there is no directory no/such"),
        (("--curves", "c.pdf"), "must end in .png, .svg or .html"),
        (("--limit", "49", "--protocol", "segments"), "at least 50 rows, this one has 49"),
        (("--limit", "99", "--protocol", "holdout"), "ends before the first holdout test"),
        (("--jobs", "0"), "'--jobs'"),
        (("--holdout-every", "0"), "'--holdout-every'"),
    ],
)
def test_conflicting_options_are_refused_in_one_sentence(arguments: tuple[str, ...], words: str) -> None:
    done = evaluate(SEA, *arguments)
    assert done.exit_code == 2
    assert words in done.stderr
    assert "Traceback" not in done.output


def test_the_holdout_protocol_is_refused_for_files(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,y\n" + "1,0\n2,1\n" * 600)
    done = evaluate(str(path), "--protocol", "holdout")
    assert done.exit_code == 2
    assert "rows.csv has no holdout rows: only generators can draw" in done.stderr
