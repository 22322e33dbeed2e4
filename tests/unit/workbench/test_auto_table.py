"""`--table auto`: claims are counted correctly, misses are listed, and `auto` without a family is otherwise `auto`."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest

from driftway.learners import Spec, create
from driftway.learners.registry import find
from driftway.producers.streams import open_stream
from driftway.producers.streams.stream import Block
from driftway.workbench.paper_tables.auto import measure as measuring
from driftway.workbench.paper_tables.auto.ablation import (
    FAMILIES,
    FORESTS,
    HISTORY,
    NOTHING,
    SQUASHED,
    AblatedAuto,
    AblationRun,
    ablated_accuracy,
)
from driftway.workbench.paper_tables.auto.claims import bar_of, best_printed, claims, least_dfop
from driftway.workbench.paper_tables.auto.measure import AUTO, AutoResults, StreamSelection, measure
from driftway.workbench.paper_tables.auto.page import auto_page
from driftway.workbench.paper_tables.auto.picture import draw
from driftway.workbench.paper_tables.auto.streams import (
    OF_THE_PAPERS,
    ORDER_TELLS,
    PROBABILITY_STREAMS,
    STREAMS,
    read,
)
from driftway.workbench.paper_tables.experiments.data_sets import DATA_SETS
from driftway.workbench.paper_tables.request import TableRequest
from driftway.worker.errors import UsageFailure
from driftway.worker.evaluation.protocols import Figure, Job
from tests.regenerate import auto_ablation

ROWS = 600
RIVALS, LIKELY = ("mc_pa", "ova:pa", "ova:dfop"), ("gaussian_nb", "ogd_logistic")


class Small:
    """A few rows with labels in turn, one feature that shows them and one that does not; likewise for targets."""

    rows, n_features = ROWS, 2

    def __init__(self, name: str) -> None:
        self.name = name
        rng = np.random.default_rng(5)
        known = STREAMS.get(name.removesuffix(".csv.gz"))
        self.y = np.arange(ROWS) % (2.0 if known is None else float(known.n_classes))
        self.X = np.column_stack([self.y + rng.normal(0.0, 0.6, ROWS), rng.normal(size=ROWS)])

    def blocks(self):
        for start in range(0, ROWS, 250):
            yield Block(self.X[start : start + 250], self.y[start : start + 250])


def open_small(name: str, **_: object) -> Small:
    if name == "spam500":
        raise UsageFailure("no stream spam500")
    return Small(name)


def asked(tmp_path) -> TableRequest:
    return TableRequest(open_small, tmp_path, processes=1)


@pytest.fixture(scope="module")
def measured(tmp_path_factory) -> Iterator[AutoResults]:
    asking = StreamSelection(("2CDT", "Spam"), ("keystroke", "spam500"), ("sru1",), ("electricity",), ("keystroke",))
    with pytest.MonkeyPatch.context() as patch:  # each further learner would be another kernel to compile
        patch.setitem(STREAMS, "keystroke", STREAMS["keystroke"]._replace(rivals=RIVALS))
        patch.setitem(PROBABILITY_STREAMS, "electricity", LIKELY)
        patch.setattr(measuring, "LEARNERS", ("auto", "dfop", "no_change", "arow", "rls"))
        yield measure(asked(tmp_path_factory.mktemp("auto")), asking)


def test_learners_that_need_other_columns_are_left_out():
    names = [one.job.spec.name for one in measuring._of_targets("sru1", 5, {}) if isinstance(one.job, Job)]
    assert {"auto", "dfop"} <= set(names)
    assert "online_mf" not in names, "it reads a user and an item, and ended the command"


def test_lines_of_streams_are_whole():
    assert read("a | 3 | 1.5 | pa dfop\nsea | 2 | - | pa") == {
        "a": ("a", 3, ("pa", "dfop"), 1.5),
        "sea": ("sea.csv.gz", 2, ("pa",), None),
    }
    assert sum(one.peer is not None for one in STREAMS.values()) == 16
    for one in STREAMS.values():
        assert any("dfop" in rival for rival in one.rivals), one
        kind = "binary" if one.n_classes == 2 else "multiclass"
        for rival in one.rivals:
            assert rival.startswith("ova:") or kind in find(rival).tasks, rival
    assert set(ORDER_TELLS) | set(PROBABILITY_STREAMS) <= set(STREAMS)
    assert set(OF_THE_PAPERS) <= set(DATA_SETS)


def test_the_bar_is_the_best_of_both_tables_less_its_deviation():
    column, printed = best_printed("MG-2C-2D")
    assert (column, printed.mean, printed.deviation) == ("SVM-win", 90.20, 0.07)
    assert bar_of(printed) == pytest.approx(90.13)
    assert best_printed("Electricity")[0] == "1NN-win"
    assert best_printed("2CDT")[1].mean == 96.36


def test_everything_that_is_there_is_measured_once(measured):
    assert set(measured.pieces) == {"2CDT"}
    assert measured.missing == ["Spam", "spam500"]
    assert set(measured.whole["keystroke"]) == {AUTO, *RIVALS}
    assert set(measured.whole["electricity"]) == {AUTO, *LIKELY}
    named = {"dfop:mu=0.3", "dfop:mu=0.3,intercept=false"}
    assert set(measured.whole["sru1"]) == {AUTO, "no_change", "rls", "dfop", *named}, "arow learns no targets"
    assert measured.rows["keystroke"] == ROWS


def test_figures_are_those_of_the_learner_alone(measured):
    stream = Small("keystroke")
    score = np.empty((ROWS, 4))
    Spec.parse("auto").create(2, 4, "classification", True).predict_then_update(stream.X, stream.y, score)
    assert measured.accuracy("keystroke", AUTO) == pytest.approx(100 * (score.argmax(axis=1) == stream.y).mean())
    assert measured.accuracy("keystroke", "no_change_accuracy") < 1.0, "labels go round"
    values = []
    stream = Small("2CDT")
    for k in range(10):
        piece = slice(k * ROWS // 50, k * ROWS // 50 + 4 * ROWS // 5)
        score = np.empty((4 * ROWS // 5, 1))
        learner = Spec.parse(f"auto:seed={1 + k}").create(2, 2, "classification", True)
        learner.predict_then_update(stream.X[piece].copy(), stream.y[piece], score)
        values.append(100 * ((score[:, 0] >= 0) == stream.y[piece]).mean())
    assert measured.pieces["2CDT"].values == pytest.approx(values)


def test_no_stream_at_all_is_a_sentence(tmp_path):
    with pytest.raises(UsageFailure, match="none of the streams of the table auto"):
        measure(asked(tmp_path), StreamSelection(("Spam",), ("spam500",), (), (), ()))


def test_a_page_has_all_parts_and_a_picture(measured, tmp_path):
    text = auto_page(measured, asked(tmp_path), "auto.png")
    titles = re.findall(r"^## (.*)$", text, flags=re.MULTILINE)
    assert [title.split()[0] for title in titles] == ["What", "Ten", "Whole", "Where", "Targets", "Probabilities"]
    assert "Not there: Spam, spam500." in text
    assert f"| keystroke | {ROWS} | {measured.accuracy('keystroke', 'no_change_accuracy'):.2f} |" in text
    assert f"{measured.ablated['keystroke']:.2f}" in text
    assert all(len(line) <= 120 for line in text.splitlines() if not line.startswith(("|", "-")))
    assert draw(measured, str(tmp_path / "auto.png"))
    assert (tmp_path / "auto.png").read_bytes().startswith(b"\x89PNG")
    assert not draw(AutoResults(), str(tmp_path / "none.png"))


def made_up(ours: float, best: float) -> AutoResults:
    results = AutoResults(pieces={"SEA": Figure.of([87.9, 88.0], ddof=1), "2CDT": Figure.of([96.0, 96.1], ddof=1)})
    plain = {"no_change_accuracy": 0.5, "majority_accuracy": 0.6, "log_loss": 0.1, "brier": 0.1}
    for name in ("electricity", "keystroke"):
        results.whole[name] = {AUTO: {"accuracy": ours, **plain}}
        results.whole[name] |= {rival: {"accuracy": best, **plain} for rival in STREAMS[name].rivals}
        results.compared.append(name)
        results.rows[name] = 1000
    errors = {AUTO: 0.5, "no_change": 0.6, "rls": 0.7, "dfop:mu=0.3": 0.4, "dfop:mu=0.3,intercept=false": 0.9}
    results.whole["sru1"] = {name: {"mse": value} for name, value in errors.items()}
    return results


def test_claims_count_what_holds_and_name_what_does_not(tmp_path):
    results = made_up(0.935, 0.94)
    found = {one.key: one for one in claims(results)}
    assert found["papers"].misses == {"2CDT": pytest.approx(96.05 - 96.36 + 0.09)}
    assert found["single"].misses == {name: pytest.approx(-0.2) for name in ("electricity", "keystroke")}
    assert found["peer"].misses == {"keystroke": pytest.approx(-0.5)}
    assert (found["peer"].of, found["peer"].spared) == (2, 2)
    assert found["one against all"].misses == {"keystroke": pytest.approx(-0.5)}
    assert not found["asked"].misses
    assert found["dfop"].misses == {"sru1": pytest.approx(-25.0)}
    assert set(found["peer's error"].misses) == {"sru1"}
    assert "no change" not in found
    assert least_dfop(results, "sru1") == 0.4
    assert results.least_error("sru1") == ("no_change", 0.6)
    text = auto_page(results, asked(tmp_path), None)
    assert "| 2 of 2 | 1 | **does not hold** | 2CDT (-0.22) |" in text
    assert "| 0 of 2 | 1 | holds | keystroke (-0.5) |" in text
    assert "| electricity | 1,000 | 50.00 | 60.00 | 93.50 | 94.00 | `aromma` | -0.50 | 92.27 | +1.23 |" in text
    assert "- 2CDT: **not explained**" in text
    again = {one.key: one for one in claims(made_up(0.94, 0.94))}
    assert not again["single"].misses
    assert again["one against all"].misses == {"keystroke": 0.0}, "equal is not above"


@pytest.mark.parametrize(("classes", "features"), [(2, 3), (4, 2), (2, 400)])
def test_auto_without_nothing_is_auto(classes, features):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, features))
    y = np.floor(classes * rng.random(300))
    scores = [np.empty((300, 1 if classes == 2 else classes)) for _ in range(2)]
    create("auto", features, classes).predict_then_update(X, y, scores[0])
    AblatedAuto(features, classes).predict_then_update(X, y, scores[1])
    assert np.array_equal(*scores)


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_left_out_is_not_heard(family):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(300, 2)), np.floor(2 * rng.random(300))
    learner = AblatedAuto(2, family=family)
    fresh = learner.state["mixing.weight"].copy()
    learner.predict_then_update(X, y, np.empty((300, 1)))
    moved = learner.state["mixing.weight"] != fresh
    E = len(moved) // 2
    names = [name for name in learner.experts() if not name.startswith("forest_")]
    first_letters = {"label history": "after_", "waves": "waves_"}
    if family == SQUASHED:
        assert moved[:E].all()
        assert not moved[E:].any()
    elif family == FORESTS:
        assert moved.all()
        assert names == list(learner.experts())
    else:
        still = [name for name, evidence, vote in zip(names, moved[:E], moved[E:], strict=True) if not evidence | vote]
        assert still
        assert all(name.startswith(first_letters.get(family, "")) for name in still)
        assert moved.sum() == 2 * (E - len(still))
        assert names.index(still[-1]) - names.index(still[0]) == len(still) - 1


def test_without_the_label_history_labels_that_go_round_are_learned_from_features():
    whole, without = (
        ablated_accuracy(open_small, AblationRun("keystroke", 4, family, None)) for family in (NOTHING, HISTORY)
    )
    assert whole > 95.0
    assert 40.0 < without < 85.0


def test_rows_apart_are_standardised_as_everywhere(monkeypatch):
    """Features far from 0 and in other units: ablations are compared with the `auto` of the page."""
    stream = Small("2CDT")
    mixed = np.random.default_rng(4).permutation(ROWS)
    stream.X, stream.y = stream.X[mixed] * [1000.0, 0.01] + [5000.0, -3.0], stream.y[mixed]
    learner, score = Spec.parse("auto").create(2, 2, "classification", True), np.empty((ROWS, 1))
    learner.predict_then_update(stream.X, stream.y, score)
    found = ablated_accuracy(lambda *_name, **_options: stream, AblationRun("far away", 2, NOTHING, None))
    assert found == pytest.approx(100 * ((score[:, 0] >= 0) == stream.y).mean())


def test_the_ablation_page_says_what_is_lost(monkeypatch):
    monkeypatch.setattr(auto_ablation, "open_stream", open_small)
    monkeypatch.setattr(auto_ablation, "SEEDS", (1, 2))
    found = auto_ablation.measure(("keystroke",), ROWS)
    text = auto_ablation.table(found)
    assert re.search(r"\| keystroke \| 9\d\.\d\d \| 0\.\d\d \| \*\*-\d\d\.\d\d\*\* \|", text)
    assert text.count("\n") == 5


def test_generators_are_opened_by_the_papers_names():
    assert {DATA_SETS[name].streams[0] for name in ("SEA", "hyperplane")} == {"sea", "hyperplane_staged"}
    assert open_stream("hyperplane_staged").rows == 90_000
