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
    NETWORK,
    NOTHING,
    SQUASHED,
    VALUES,
    AblatedAuto,
    AblationRun,
    ablated_accuracy,
)
from driftway.workbench.paper_tables.auto.beside_peers import beside_peers
from driftway.workbench.paper_tables.auto.claims import bar_of, best_printed, claims, least_dfop
from driftway.workbench.paper_tables.auto.measure import (
    AUTO,
    POINTS_EVERY,
    AutoResults,
    StreamSelection,
    measure,
)
from driftway.workbench.paper_tables.auto.page import auto_page
from driftway.workbench.paper_tables.auto.peers import (
    PLAIN,
    RECENT,
    PeerFigure,
    compared,
    least_log_loss,
    write,
)
from driftway.workbench.paper_tables.auto.peers import read as read_peers
from driftway.workbench.paper_tables.auto.picture import draw
from driftway.workbench.paper_tables.auto.streams import (
    BESIDE_PEERS,
    OF_THE_PAPERS,
    ORDER_TELLS,
    PROBABILITY_STREAMS,
    STREAMS,
    opened,
    read,
)
from driftway.workbench.paper_tables.experiments.data_sets import DATA_SETS
from driftway.workbench.paper_tables.request import TableRequest
from driftway.worker.errors import UsageFailure
from driftway.worker.evaluation.protocols import Figure, Job
from tests.regenerate import auto_ablation

ROWS = 600
RIVALS, LIKELY = ("mc_pa", "ova:pa", "ova:dfop"), ("gaussian_nb", "ogd_logistic")


class SmallStream:
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


def open_small(name: str, **_: object) -> SmallStream:
    if name == "spam500":
        raise UsageFailure("no stream spam500")
    return SmallStream(name)


def asked(tmp_path) -> TableRequest:
    return TableRequest(open_small, tmp_path, processes=1)


@pytest.fixture(scope="module")
def measured(tmp_path_factory) -> Iterator[AutoResults]:
    selection = StreamSelection(
        ("2CDT", "Spam"), ("keystroke", "spam500"), ("sru1",), ("electricity",), ("keystroke",), ("wall_robot", "sru1")
    )
    with pytest.MonkeyPatch.context() as patch:  # each further learner would be another kernel to compile
        patch.setitem(STREAMS, "keystroke", STREAMS["keystroke"]._replace(rivals=RIVALS))
        patch.setitem(PROBABILITY_STREAMS, "electricity", LIKELY)
        patch.setattr(measuring, "LEARNERS", ("auto", "dfop", "no_change", "arow", "rls"))
        yield measure(asked(tmp_path_factory.mktemp("auto")), selection)


def test_learners_that_need_other_columns_are_left_out():
    names = [one.job.spec.name for one in measuring._of_targets("sru1", 5, {}) if isinstance(one.job, Job)]
    assert {"auto", "dfop"} <= set(names)
    assert "online_mf" not in names, "it reads a user and an item, and ended the command"


def test_lines_of_streams_are_whole():
    assert read("a | 3 | pa dfop\nsea | 2 | pa") == {
        "a": ("a", 3, ("pa", "dfop")),
        "sea": ("sea.csv.gz", 2, ("pa",)),
    }
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
    assert set(measured.whole["wall_robot"]) == {AUTO}


def test_figures_are_those_of_the_learner_alone(measured):
    stream = SmallStream("keystroke")
    score = np.empty((ROWS, 4))
    Spec.parse("auto").create(2, 4, "classification", True).predict_then_update(stream.X, stream.y, score)
    assert measured.accuracy("keystroke", AUTO) == pytest.approx(100 * (score.argmax(axis=1) == stream.y).mean())
    assert measured.accuracy("keystroke", "no_change_accuracy") < 1.0, "labels go round"
    values = []
    stream = SmallStream("2CDT")
    for k in range(10):
        piece = slice(k * ROWS // 50, k * ROWS // 50 + 4 * ROWS // 5)
        score = np.empty((4 * ROWS // 5, 1))
        learner = Spec.parse(f"auto:seed={1 + k}").create(2, 2, "classification", True)
        learner.predict_then_update(stream.X[piece].copy(), stream.y[piece], score)
        values.append(100 * ((score[:, 0] >= 0) == stream.y[piece]).mean())
    assert measured.pieces["2CDT"].values == pytest.approx(values)


def test_no_stream_at_all_is_refused_in_one_sentence(tmp_path):
    with pytest.raises(UsageFailure, match="none of the streams of the table auto"):
        measure(asked(tmp_path), StreamSelection(("Spam",), ("spam500",), (), (), (), ()))


def test_a_page_has_all_parts_and_a_picture(measured, tmp_path):
    text = auto_page(measured, asked(tmp_path), "auto.png", PEERS)
    titles = re.findall(r"^## (.*)$", text, flags=re.MULTILINE)
    assert [title.split()[0] for title in titles] == [
        "Claims,",
        "Ten",
        "Whole",
        "Where",
        "Targets",
        "Probabilities",
        "Beside",
    ]
    assert "Not there: Spam, spam500." in text
    assert f"| keystroke | {ROWS} | {measured.accuracy('keystroke', 'no_change_accuracy'):.2f} |" in text
    assert f"{measured.ablated['keystroke']:.2f}" in text
    assert all(len(line) <= 120 for line in text.splitlines() if not line.startswith(("|", "-")))
    assert draw(measured, str(tmp_path / "auto.png"), PEERS)
    assert (tmp_path / "auto.png").read_bytes().startswith(b"\x89PNG")
    assert not draw(AutoResults(), str(tmp_path / "none.png"))


def test_peers_are_compared_over_the_same_rows():
    results = made_up(0.93, 0.9)
    results.first_rows["electricity"] = {500: {"accuracy": 0.8, "log_loss": 0.5}}
    figures = [
        peer("electricity", "A", 500, accuracy=80.2, log_loss=0.4),
        peer("electricity", "B", 1000, accuracy=92.5, log_loss=0.05),
        peer("electricity", "C", 700, accuracy=99.0),
        peer("sru1", "D", 1000, mse=0.51),
        peer("sru2", "D", 1000, mse=0.51),
    ]
    found = compared(results, figures, PLAIN)
    assert list(found) == ["electricity", "sru1"], "auto was not measured on sru2"
    assert [(one.figure.peer, one.margin) for one in found["electricity"]] == [
        ("A", pytest.approx(-0.2)),
        ("B", pytest.approx(0.5)),
    ]
    assert [one.outcome for one in found["electricity"]] == ["even", "ahead"]
    assert least_log_loss(found["electricity"]).figure.peer == "A", "0.1 better than auto there, B 0.05"
    assert found["sru1"][0].outcome == "even", "2 % of the error"
    text = beside_peers(results, figures)
    assert "| electricity | 500 of 1,000 | 80.00 | 80.20 | A | -0.20 | even | 0.5000 | 0.4000 | A | 2 |" in text
    assert "| sru1 | 1,000 | 0.5 | 0.51 | D | -2.0 % | even | 1 |" in text
    assert "0 ahead, 1 even, 0 behind" in text
    assert "| electricity | 93.15 | 93.00 | -0.15 |" in text, "before it had forests"


def test_auto_over_the_first_rows_is_auto_on_a_shorter_stream(monkeypatch, tmp_path):
    monkeypatch.setattr(measuring, "POINTS_EVERY", 200)
    results = measure(asked(tmp_path), StreamSelection((), (), (), (), (), ("wall_robot",)))
    stream, score = SmallStream("wall_robot"), np.empty((400, 4))
    Spec.parse("auto").create(2, 4, "classification", True).predict_then_update(stream.X[:400], stream.y[:400], score)
    right = (score.argmax(axis=1) == stream.y[:400]).mean()
    assert results.at("wall_robot", 400)["accuracy"] == pytest.approx(right)
    assert results.at("wall_robot", 300) is None
    assert results.at("wall_robot", ROWS) is results.whole["wall_robot"][AUTO]


def test_figures_of_peers_are_read_as_written(tmp_path):
    figures = [peer("sru1", "A", 10, mse=0.00012345), peer("keystroke", "B", 10, accuracy=91.25, log_loss=1.5)]
    write(figures, tmp_path / "peers.csv")
    assert read_peers(tmp_path / "peers.csv") == figures[::-1], "in the order of the streams"


def test_the_figures_that_are_kept_fit_the_streams():
    figures = read_peers()
    assert len({(one.stream, one.peer, one.given) for one in figures}) == len(figures) > 0
    for one in figures:
        assert 0 < one.rows <= one.length
        assert one.rows == one.length or one.rows % POINTS_EVERY == 0, "auto is measured there"
        assert (one.mse is None) == bool(BESIDE_PEERS[one.stream])
        assert one.given in (PLAIN, RECENT)


def test_batch_sets_with_one_class_after_the_other_are_shuffled(real_streams):
    first = next(iter(opened(open_stream, "magic04", data_dir=real_streams.data_dir("magic04")).blocks()))
    assert 0.6 < first.y.mean() < 0.7


def made_up(ours: float, best: float) -> AutoResults:
    results = AutoResults(pieces={"SEA": Figure.of([87.9, 88.0], ddof=1), "2CDT": Figure.of([96.0, 96.1], ddof=1)})
    plain = {"no_change_accuracy": 0.5, "majority_accuracy": 0.6, "log_loss": 0.1, "brier": 0.1}
    for name in ("electricity", "keystroke"):
        results.whole[name] = {AUTO: {"accuracy": ours, **plain}}
        results.whole[name] |= {rival: {"accuracy": best, **plain} for rival in STREAMS[name].rivals}
        results.compared.append(name)
        results.rows[name] = 1000
    results.rows["sru1"] = 1000
    errors = {AUTO: 0.5, "no_change": 0.6, "rls": 0.7, "dfop:mu=0.3": 0.4, "dfop:mu=0.3,intercept=false": 0.9}
    results.whole["sru1"] = {name: {"mse": value} for name, value in errors.items()}
    return results


def peer(stream, name, rows, length=1000, given=PLAIN, accuracy=None, log_loss=None, mse=None) -> PeerFigure:
    return PeerFigure(stream, name, given, rows, length, accuracy, log_loss, mse, "Library 1.0", "2026-01-01")


PEERS = [
    peer("keystroke", "A", ROWS, ROWS, accuracy=50.0, log_loss=0.9),
    peer("keystroke", "B", ROWS, ROWS, accuracy=99.9),
    peer("keystroke", "B", ROWS, ROWS, RECENT, accuracy=10.0, log_loss=9.0),
    peer("sru1", "A", ROWS, ROWS, mse=1e9),
]


def test_claims_count_what_holds_and_name_what_does_not(tmp_path):
    results = made_up(0.935, 0.94)
    peers = [
        peer("electricity", "A", 1000, accuracy=92.0),
        peer("electricity", "B", 1000, accuracy=93.7),
        peer("electricity", "C", 1000, given=RECENT, accuracy=99.0),
        peer("electricity", "D", 500, accuracy=99.0),
        peer("keystroke", "A", 1000, accuracy=94.0),
        peer("sru1", "A", 1000, mse=0.25),
    ]
    found = {one.key: one for one in claims(results, peers)}
    assert found["papers"].misses == {"2CDT": pytest.approx(96.05 - 96.36 + 0.09)}
    assert found["single"].misses == {name: pytest.approx(-0.2) for name in ("electricity", "keystroke")}
    assert found["peer"].misses == {"keystroke": pytest.approx(-0.2)}
    assert found["peer"].margins["electricity"] == pytest.approx(0.1), "the best one that is plain, over the same rows"
    assert (found["peer"].of, found["peer"].spared) == (2, 1)
    assert found["one against all"].misses == {"keystroke": pytest.approx(-0.5)}
    assert not found["asked"].misses
    assert found["dfop"].misses == {"sru1": pytest.approx(-25.0)}
    assert found["peer's error"].misses == {"sru1": pytest.approx(-97.0)}
    assert "no change" not in found
    assert least_dfop(results, "sru1") == 0.4
    assert results.least_error("sru1") == ("no_change", 0.6)
    text = auto_page(results, asked(tmp_path), None, peers)
    assert "| 2 of 2 | 1 | **does not hold** | 2CDT (-0.22) |" in text
    assert "| 1 of 2 | 1 | holds | keystroke (-0.2) |" in text
    assert "| electricity | 1,000 | 50.00 | 60.00 | 93.50 | 94.00 | `aromma` | -0.50 |" in text
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
    names = [name for name in learner.experts() if not name.startswith("forest_") and name not in ("network", "values")]
    first_letters = {"label history": "after_", "waves": "waves_"}
    if family == SQUASHED:
        assert moved[:E].all()
        assert not moved[E:].any()
    elif family == VALUES:
        assert moved.all()
        assert "values" not in learner.experts()
    elif family in (FORESTS, NETWORK):
        assert moved.all()
        weights = learner.state["second.mixing.weight"].reshape(2, 5)[:, 1:]
        assert weights.any(axis=0).tolist() == [family == NETWORK] * 3 + [family == FORESTS]
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


def test_rows_apart_are_standardised_as_everywhere():
    """Features far from 0 and in other units: ablations are compared with the `auto` of the page."""
    stream = SmallStream("2CDT")
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


def test_forests_that_never_sleep_are_used_throughout(monkeypatch):
    """On noise they gain nothing, so that `auto` soon pauses them."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(6000, 2)), np.floor(2 * rng.random(6000))
    asleep, awake = (auto_ablation.run_auto(X, y, 2, never) for never in (False, True))
    assert asleep.used < 0.8
    assert awake.used == 1.0
    score = np.empty((6000, 1))
    Spec.parse("auto").create(2, 2, "classification", True).predict_then_update(X, y, score)
    assert asleep.figure == pytest.approx(100 * ((score[:, 0] >= 0) == y).mean()), "as everywhere"
    monkeypatch.setattr(auto_ablation, "open_stream", open_small)
    assert re.search(
        r"\| keystroke \| 100% \| [\d.]+ \| [\d.]+ \| \+0.00 \|", auto_ablation.sleeping(("keystroke",), ROWS)
    )


def test_generators_are_opened_by_the_papers_names():
    assert {DATA_SETS[name].streams[0] for name in ("SEA", "hyperplane")} == {"sea", "hyperplane_staged"}
    assert open_stream("hyperplane_staged").rows == 90_000
