"""Headers as a column: selected with their rows, passed on by name, and ignored unless passing is requested."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftway.worker.errors import UsageFailure
from driftway.worker.kafka.topics import Topics
from driftway.worker.settings import ModelSettings
from driftway.worker.state import snapshot
from driftway.worker.state.model import Model
from driftway.worker.state.outputs import Outputs, joined
from driftway.worker.stream.task.restoring.output_repair import MissingOutputs
from driftway.worker.stream.task.restoring.restore_result import RestoreResult
from driftway.worker.wire.headers import Header, Headers, LazyHeaders, joined_headers, passed_headers, picked_headers
from driftway.worker.wire.rejections import answered_offset, headers_of, lost_part, own_headers
from tests.support.examples import examples
from tests.unit.worker.rows import events, model_settings, pieces, records
from tests.unit.worker.stream.recording_checkpoint import new_task

NAMES = "a", "b", "offset", ""
OWN = st.lists(st.tuples(st.sampled_from(NAMES), st.one_of(st.none(), st.binary(max_size=3))), max_size=4)
BAD = {0: b"?", 7: None, 40: b'{"x":[1]}', 59: b"{}"}
VALUES = [BAD.get(i, good) for i, good in enumerate(events(60))]
ALL, SOME = model_settings(pass_headers=("*",)), model_settings(pass_headers=("b", "offset"))


def headed(i: int) -> list[Header]:
    """Return headers that identify record `i`: a repeated name, a null and an empty value; every third has none."""
    return [("a", b"%d" % i), ("b", None), ("a", b""), ("offset", b"junk")] if i % 3 else []


HEADERS: Headers = [tuple(headed(i)) for i in range(60)]
WHOLE = records(VALUES, headers=HEADERS)
GOOD = [i for i in range(60) if i not in BAD]


def predicted(outputs: list[Outputs | None]) -> dict[int, tuple[Header, ...]]:
    """Return input offset -> headers of its prediction."""
    found = {}
    for one in outputs:
        if one is None or not one.rows:
            continue
        assert one.headers is not None
        for value, own in zip(one.predictions, one.headers, strict=True):
            found[json.loads(value or b"")["offset"]] = tuple(own)
    return found


@examples(100)
@given(st.lists(OWN, max_size=6), st.sets(st.sampled_from(NAMES)))
def test_headers_of_the_given_names_are_passed_in_order(headers: list[list[Header]], names: set[str]) -> None:
    found = passed_headers(headers, names)
    assert found == [tuple(one for one in own if one[0] in names) for own in headers]
    assert passed_headers(headers, ["*"]) == headers
    assert passed_headers(None, names) is None


@pytest.mark.parametrize("model", [ALL, SOME], ids=["all", "some"])
@settings(max_examples=10)
@given(cuts=st.lists(st.integers(0, 60), max_size=8))
def test_each_prediction_has_the_headers_of_its_event_however_records_are_cut(
    model: ModelSettings, cuts: list[int]
) -> None:
    made = Model(model, 3)
    found = predicted([made.advance(part) for part in pieces(WHOLE, cuts)])
    passed = passed_headers(HEADERS, model.pass_headers) or ()
    assert found == {i: tuple(passed[i]) for i in GOOD}


def test_joined_outputs_keep_their_headers() -> None:
    parts = [Model(ALL, 3).advance(part) for part in (WHOLE.before(1), WHOLE.before(20).after(1), WHOLE.after(20))]
    assert predicted([joined(*parts)]) == {i: HEADERS[i] for i in GOOD}
    assert joined(*(replace(part, headers=None) for part in parts)).headers is None


def test_headers_are_not_read_without_the_option() -> None:
    asked, plain = Model(ALL, 3), Model(model_settings(), 3)
    assert plain.advance(WHOLE).headers is None
    assert asked.advance(records(VALUES)).headers is None
    assert not model_settings().reads_headers
    assert SOME.reads_headers


def test_headers_are_not_part_of_the_state() -> None:
    before, after = Model(ALL, 3), Model(model_settings(), 3)
    before.advance(WHOLE)
    assert before.identity() == Model(SOME, 3).identity() | {"states": before.identity()["states"]}
    snapshot.read(snapshot.write(before, before.save(), 60), after)
    assert before.digests == after.digests


@pytest.mark.parametrize("names", [("",), ("a", "a"), ("*", "a"), ("a", "")])
def test_invalid_names_of_headers_are_refused(names: tuple[str, ...]) -> None:
    with pytest.raises(UsageFailure, match="pass-headers"):
        model_settings(pass_headers=names)


@pytest.mark.parametrize("since", [0, 21])
def test_outputs_completed_by_a_restore_have_their_headers(since: int) -> None:
    """Also if the setting has changed since: the new one applies from the restore on."""
    there = {(offset, None) for offset in range(since + 2, since + 7)}
    repair = MissingOutputs(since, 40, {Topics("EVENTS", "g").predictions: there})
    first = Model(model_settings(), 3)
    if since:
        first.advance(WHOLE.before(since), emit=False)
    model = Model(SOME, 3)
    model.load(first.save())
    task, checkpoint = new_task()
    task.reset()
    task.restore_from(RestoreResult(model, since, since, None, missing_outputs=repair))
    for start in range(since, 60, 7):
        task.advance(WHOLE.before(min(60, start + 7)).after(start))
    wanted = passed_headers(HEADERS, SOME.pass_headers) or ()
    assert predicted(checkpoint.pending) == {i: tuple(wanted[i]) for i in GOOD if i >= since and (i, None) not in there}


def lazily(read: list[int]) -> LazyHeaders:
    """Return the headers of all rows; `read` gets the numbers of those that are asked for."""

    def one(i: int) -> Sequence[Header]:
        read.append(i)
        return HEADERS[i]

    return LazyHeaders.of(one, 60)


@pytest.mark.parametrize("model", [ALL, model_settings()], ids=["asked", "not-asked"])
@settings(max_examples=10)
@given(cuts=st.lists(st.integers(0, 60), max_size=8))
def test_a_rejection_has_the_headers_of_its_event_however_records_are_cut(
    model: ModelSettings, cuts: list[int]
) -> None:
    """Read on access, only those of the rejected records are read."""
    read: list[int] = []
    for whole in (WHOLE, replace(WHOLE, headers=lazily(read))):
        made = Model(model_settings() if whole is not WHOLE else model, 3)
        rejected = [bad for part in pieces(whole, cuts) for bad in made.advance(part).rejected]
        assert {bad.offset: bad.headers for bad in rejected} == {i: HEADERS[i] for i in BAD}
        for bad in rejected:
            kept = headers_of(bad, "IN", 3)
            assert own_headers(kept) == HEADERS[bad.offset]
            assert answered_offset(dict(kept)) == (bad.offset, None), "an event's own header `offset` is not ours"
    assert sorted(read) == sorted(BAD)


@examples(100)
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60), st.integers(0, 2)), min_size=1, max_size=6))
def test_joined_columns_read_on_access_and_release_polls_without_records(slices: list[tuple[int, int, int]]) -> None:
    parts: list[tuple[Headers | None, int]] = []
    expected: list[Sequence[Header]] = []
    for start, end, kind in slices:
        own = HEADERS[start:end]
        parts.append(((lazily([])[start:end], own, None)[kind], len(own)))
        expected += [()] * len(own) if kind == 2 else own
    found = joined_headers(parts)
    assert list(found or [()] * len(expected)) == expected
    if isinstance(found, LazyHeaders):
        assert len(found._readers) <= max(1, sum(n > 0 for _, n in parts))
        pick = np.arange(len(expected))[::-2]
        picked = picked_headers(found, pick)
        assert picked is not None
        assert list(picked) == [expected[i] for i in pick]


@pytest.mark.parametrize(
    ("headers", "whole"),
    [
        ((("reason", b"r"),), True),
        ((("reason", b"r"), ("headers", b"0")), True),
        ((("headers", b"1"), ("event.a", None)), True),
        ((("headers", b"2"), ("event.a", None)), False),
        ((("headers", b"0"), ("event.", b"")), False),
        ((("headers", b"many"),), False),
        ((("headers", None),), False),
    ],
)
def test_a_rejection_says_whether_it_is_complete(headers: tuple[Header, ...], whole: bool) -> None:
    assert (lost_part(headers) == "") is whole
