"""--max-rejected: trips at the same event however records are cut, and never before the share is exceeded."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from driftway import cli
from driftway.worker.errors import UsageFailure, shown
from driftway.worker.state.model import Model
from driftway.worker.wire.events import Records
from driftway.worker.wire.rejections import RejectionLimit, TooManyRejected
from tests.support.examples import examples
from tests.unit.worker.rows import events, model_settings, pieces, records

GOOD = events(400)
D4 = {"n_features": 4}


def mixed(bad: set[int], n: int = 400) -> list[bytes | None]:
    return [b"bad %d" % i if i in bad else GOOD[i] for i in range(n)]


def first_excess(text: str, parts: list[Records]) -> str | None:
    """Return the sentence of the first batch that trips."""
    model = Model(model_settings(max_rejected=RejectionLimit.parse(text), **D4), 3)
    return next((str(out.excess) for out in map(model.advance, parts) if out.excess is not None), None)


@pytest.mark.parametrize(
    ("text", "allowed", "window"),
    [("0.1", 100, 1000), ("0.29/100", 29, 100), ("0", 0, 1000), (" 0.5 / 7 ", 3, 7), ("1e-3/5000", 5, 5000)],
)
def test_limit_is_read_exactly(text: str, allowed: int, window: int) -> None:
    limit = RejectionLimit.parse(text)
    assert (limit.max_rejected, limit.window) == (allowed, window)


@pytest.mark.parametrize("text", ["", "x", "nan", "inf", "1", "-0.1", "0.1/0", "0.1/x", "0.1/1/2", "0.1/", "1/0/5"])
def test_an_impossible_limit_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(UsageFailure, match=r"^--max-rejected "):
        RejectionLimit.parse(text)


def test_the_sentence_names_partition_share_and_latest_reason() -> None:
    sentence = first_excess("0.1/50", [records(mixed({*range(100, 120, 2)}))])
    assert sentence == (
        "partition 3: 6 of its last 50 events were rejected, more than --max-rejected 0.1/50 allows; the latest, at "
        "offset 110: not JSON"
    )


def test_exactly_the_allowed_share_of_rejections_passes() -> None:
    assert first_excess("0.1/50", [records(mixed(set(range(0, 400, 10))))]) is None


def test_without_the_option_nothing_trips() -> None:
    assert Model(model_settings(), 3).advance(records([b"?"] * 5000)).excess is None


@examples(60)
@given(
    bad=st.sets(st.integers(0, 399), max_size=80),
    cuts=st.lists(st.integers(0, 399), max_size=8),
    allowed=st.integers(0, 12),
)
def test_the_limit_trips_at_the_same_event_however_records_are_cut(
    bad: set[int], cuts: list[int], allowed: int
) -> None:
    window, text = 40, f"{allowed / 40}/40"
    whole = records(mixed(bad))
    sentence = first_excess(text, pieces(whole, cuts))
    assert sentence == first_excess(text, [whole])
    where = next((i for i in range(400) if sum(j in bad for j in range(max(0, i - window + 1), i + 1)) > allowed), None)
    assert (sentence is None) == (where is None)
    if sentence is not None:
        assert f"at offset {where}:" in sentence


def test_an_aborted_batch_is_not_counted_twice() -> None:
    model = Model(model_settings(max_rejected=RejectionLimit.parse("0.5/10"), **D4), 3)
    model.advance(records(GOOD[:10]))
    saved = model.save()
    for _ in range(5):
        assert model.advance(records([b"?"] * 5, first=10)).excess is None
        model.load(saved)
    assert isinstance(model.advance(records([b"?"] * 6, first=10)).excess, TooManyRejected)


def test_rows_relearned_by_a_restore_are_not_counted() -> None:
    model = Model(model_settings(max_rejected=RejectionLimit.parse("0/10")), 3)
    assert model.advance(records([b"?"] * 50), emit=False).excess is None


def test_control_characters_of_a_reason_are_not_shown() -> None:
    assert shown("x has unknown \x1b[2J\n\u202e") == "x has unknown ?[2J??"


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--max-rejected", "2"), 2, "driftway: --max-rejected 2: the share must be >= 0 and < 1"),
        (
            ("--features", "10000000", "--learner", "dfop"),
            1,
            "driftway: the state of dfop over 10,000,000 features cannot be allocated: ",
        ),
    ],
)
def test_the_command_line_refuses_wrong_limits_in_one_sentence(options: tuple[str, ...], code: int, words: str) -> None:
    done = CliRunner().invoke(cli.main, ["worker", "--input", "E", "--group", "g", *options])
    assert done.exit_code == code
    assert done.stderr.startswith(words)
    assert len(done.stderr.splitlines()) == 1
