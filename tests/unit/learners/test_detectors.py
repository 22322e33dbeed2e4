"""Drift detectors against their oracles, against River where the definition is the same, and their contract."""

from __future__ import annotations

import numpy as np
import pytest
from river import drift as river
from scipy import stats

from driftway.learners.drift.detector import DRIFT, QUIET, WARNING
from driftway.learners.drift.kswin import steps_apart
from driftway.learners.drift.registry import DETECTORS, UnknownDetector, create, find
from driftway.learners.engine.parameters import ParameterError
from tests.support.oracle import drift as oracle

WORDS = {"none": QUIET, "warning": WARNING, "drift": DRIFT}

VARIANTS = [
    ("ddm", oracle.DDM, {}),
    ("ddm", oracle.DDM, {"min_n": 10, "warn": 1.0, "drift": 2.0}),
    ("eddm", oracle.EDDM, {}),
    ("eddm", oracle.EDDM, {"warn": 0.9, "drift": 0.7, "min_errors": 5}),
    ("page_hinkley", oracle.PageHinkley, {"lam": 10.0}),
    ("page_hinkley", oracle.PageHinkley, {"lam": 5.0, "direction": "both", "alpha": 0.99, "min_n": 5}),
    ("page_hinkley", oracle.PageHinkley, {"lam": 8.0, "direction": "down"}),
    ("hddm_a", oracle.HDDMA, {}),
    ("hddm_a", oracle.HDDMA, {"drift_conf": 0.01, "warn_conf": 0.05, "two_sided": True}),
    ("hddm_w", oracle.HDDMW, {}),
    ("hddm_w", oracle.HDDMW, {"lam": 0.01, "two_sided": True, "drift_conf": 0.01, "warn_conf": 0.1}),
    ("adwin", oracle.ADWIN, {}),
    ("adwin", oracle.ADWIN, {"delta": 0.2, "clock": 1, "max_buckets": 2, "min_window": 3, "min_sub": 1}),
]


def mistakes(seed, *pieces):
    """Return errors of 0 and 1; pieces are (rows, share of mistakes)."""
    rng = np.random.default_rng(seed)
    return np.concatenate([(rng.random(n) < share).astype(float) for n, share in pieces])


def losses(seed, *pieces):
    """Return losses in [0, 1]; pieces are (rows, mean)."""
    rng = np.random.default_rng(seed)
    return np.concatenate([np.clip(rng.normal(share, 0.2, n), 0.0, 1.0) for n, share in pieces])


PIECES = (400, 0.2), (300, 0.5), (300, 0.05), (300, 0.3)
HARD = (400, 0.2), (300, 0.8), (300, 0.1), (300, 0.9)


@pytest.mark.parametrize(("name", "naive", "given"), [pytest.param(*v, id=f"{v[0]}-{v[2]}") for v in VARIANTS])
@pytest.mark.parametrize("made", [mistakes, losses])
def test_equals_the_oracle(name, naive, given, made):
    detector = create(name, **given)
    if detector.binary and made is losses:
        pytest.skip("counts mistakes")
    errors, other = made(3, *(PIECES if made is mistakes else HARD)), naive(**given)
    expected = [WORDS[other.update(error)] for error in errors.tolist()]
    assert detector.observe(errors).tolist() == expected
    assert DRIFT in expected, "the test would see nothing"


@pytest.mark.parametrize("name", DETECTORS)
def test_cutting_batches_and_unlabelled_rows_change_nothing(name):
    errors = mistakes(4, *PIECES)
    whole, cut = create(name), create(name)
    expected = whole.observe(errors)
    parts = [cut.observe(part) for part in np.split(errors, [1, 2, 77, 800])]
    assert np.concatenate(parts).tolist() == expected.tolist()
    assert cut.state.memory.tobytes() == whole.state.memory.tobytes()
    with_gaps = np.full(2 * len(errors), np.nan)
    with_gaps[1::2] = errors
    verdicts = create(name).observe(with_gaps)
    assert verdicts[1::2].tolist() == expected.tolist()
    assert (verdicts[::2] == QUIET).all()


@pytest.mark.parametrize("name", DETECTORS)
def test_a_copied_state_continues_equally_and_a_reset_is_a_new_detector(name):
    errors = mistakes(5, *PIECES)
    first, second = create(name), create(name)
    first.observe(errors[:450])
    second.state.memory[:] = first.state.memory
    assert second.observe(errors[450:]).tolist() == first.observe(errors[450:]).tolist()
    first.reset()
    assert first.state.memory.tobytes() == create(name).state.memory.tobytes()


@pytest.mark.parametrize("name", DETECTORS)
def test_a_change_is_detected_within_500_rows_with_few_false_alarms(name):
    """1,000 rows with 20 % mistakes, then 1,000 with 50 %, as in docs/algorithms/drift.md; medians of 100 seeds."""
    delays, early = [], []
    given = {"drift": 0.8} if name == "eddm" else {}  # the published levels give four early alarms
    for seed in range(100):
        alarms = np.flatnonzero(create(name, **given).observe(mistakes(seed, (1000, 0.2), (1000, 0.5))) == DRIFT)
        late = alarms[alarms >= 1000]
        delays.append(late[0] - 1000 if len(late) else 10_000)
        early.append(int((alarms < 1000).sum()))
    assert np.median(delays) < 500
    assert np.median(early) <= 1


@pytest.mark.parametrize("name", [name for name in DETECTORS if not find(name).binary])
@pytest.mark.parametrize("wild", [np.inf, -np.inf, 1e308, -1e308])
def test_an_extreme_loss_leaves_a_finite_state(name, wild):
    detector = create(name)
    errors = losses(1, (300, 0.3))
    errors[[7, 8, 150]] = wild
    detector.observe(errors)
    assert all(np.isfinite(detector.state[field]).all() for field in detector.state if field != "generator")
    late = detector.observe(losses(2, (2000, 0.3), (2000, 0.9)))
    assert (late[2000:] == DRIFT).any()


# Comparison with River.

BESIDE = [
    ("hddm_a", {}, river.binary.HDDMA),
    ("page_hinkley", {"lam": 10.0}, lambda: river.PageHinkley(threshold=10.0, mode="up")),
    ("page_hinkley", {"lam": 10.0, "direction": "both"}, lambda: river.PageHinkley(threshold=10.0, mode="both")),
    ("adwin", {}, river.ADWIN),
    ("adwin", {"delta": 0.05, "clock": 8}, lambda: river.ADWIN(delta=0.05, clock=8)),
]


@pytest.mark.parametrize(("name", "given", "theirs"), [pytest.param(*b, id=f"{b[0]}-{b[1]}") for b in BESIDE])
@pytest.mark.parametrize("seed", range(5))
def test_drifts_are_detected_at_the_same_rows_as_by_river(name, given, theirs, seed):
    """River's ADWIN drops its whole window after a drift; the paper's does not, so ours is reset here.

    Not compared, because River's definitions differ: DDM tracks a minimum from row 31 on, also without any error; EDDM
    uses the sample variance; HDDM_W weighs the first row differently; KSWIN draws other rows.
    """
    errors, other, ours = mistakes(seed, *PIECES, (500, 0.6)), theirs(), create(name, **given)
    found, expected = [], []
    for i, error in enumerate(errors.tolist()):
        other.update(int(error) if name == "hddm_a" else error)
        if other.drift_detected:
            expected.append(i)
        if ours.observe(errors[i : i + 1])[0] == DRIFT:
            found.append(i)
            if name == "adwin":
                ours.reset()
    assert found == expected
    assert found


@pytest.mark.parametrize(("n", "alpha"), [(30, 0.005), (10, 0.05), (50, 1e-4), (3, 0.001)])
def test_the_distance_of_kswin_is_that_of_the_exact_test(n, alpha):
    k = steps_apart(n, alpha)
    a = np.arange(n, dtype=float)
    if k > n:
        assert stats.ks_2samp(a, a + n, method="exact").pvalue > alpha
    else:
        assert stats.ks_2samp(a, a + k, method="exact").pvalue <= alpha
        assert k == 1 or stats.ks_2samp(a, a + k - 1, method="exact").pvalue > alpha or (k - 1) / n <= 0.1


def test_kswin_detects_a_change_of_distribution_with_the_same_mean():
    rng = np.random.default_rng(2)
    errors = np.concatenate([rng.normal(1.0, 0.1, 500), rng.normal(1.0, 2.0, 500)])
    verdicts = create("kswin", alpha=1e-4).observe(errors)
    assert not (verdicts[:500] == DRIFT).any()
    assert (verdicts[500:560] == DRIFT).any()


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("ddm", {"warn": 3.0, "drift": 2.0}, "drift must be >= warn"),
        ("eddm", {"warn": 0.8, "drift": 0.9}, "drift must be <= warn"),
        ("hddm_w", {"warn_conf": 1e-4}, "warn_conf must be >= drift_conf"),
        ("kswin", {"stat": 151}, "stat must be <= window / 2"),
        ("adwin", {"delta": 1.0}, "delta must be < 1"),
        ("adwin", {"dleta": 0.1}, "no parameter 'dleta'"),
    ],
)
def test_parameters_are_refused_with_their_bound(name, given, says):
    with pytest.raises(ParameterError, match=says):
        create(name, **given)


def test_an_unknown_name_is_refused_with_the_nearest_one():
    with pytest.raises(UnknownDetector, match="did you mean 'adwin'"):
        create("adwinn")


@pytest.mark.parametrize("name", DETECTORS)
def test_names_agree_and_documentation_is_complete(name):
    found = find(name)
    assert (found.name, found.__module__.rpartition(".")[2]) == (name, name)
    assert "Cost\n" in found.__doc__
    assert "Source\n" in found.__doc__
    assert all(one["text"].endswith(".") for one in found.Params.describe())


def test_adwin_refuses_a_state_without_room_for_the_next_row():
    detector = create("adwin", max_buckets=3)
    buckets = detector.state["buckets"]
    buckets[:] = 3
    detector.check_state(detector.state.memory)
    buckets[-1] = 4
    with pytest.raises(ValueError, match=r"buckets in the state is 4, not within 0\.\.3"):
        detector.check_state(detector.state.memory)
