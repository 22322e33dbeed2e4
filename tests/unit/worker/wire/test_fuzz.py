"""No silent loss of hostile input: any bytes become a prediction or a rejection, and disturb no other record."""

from __future__ import annotations

import json
import os
import random
import struct
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from driftway.worker.errors import Failure
from driftway.worker.settings import ModelSettings
from driftway.worker.state.model import Model
from driftway.worker.wire.codec import JSON, PACKED, encode_events, read_json
from driftway.worker.wire.events import MAX_FEATURES, Target
from driftway.worker.wire.packed import encode_events as encode_packed
from tests.support.examples import examples
from tests.unit.worker.rows import drifting, model_settings, records

D = 4
SETTINGS: dict[str, ModelSettings] = {
    JSON: model_settings("dfop:mu=0.01", n_features=D),
    "first event decides": model_settings("arow"),
    "text labels": model_settings("pa1", target=Target("classification", 2, ("DOWN", "UP"))),
    "regression": model_settings("rls", task="regression", n_features=D),
    PACKED: model_settings("dfop:mu=0.01", n_features=D, form=PACKED),
}
DEFAULT_RECORDS, MANY_RECORDS, BATCH = 2000, 100_000, 500

# Seeded mutations: the same loop for the default run and the long one.

NUMBERS = (
    b"1e400", b"-1e400", b"1e308", b"1" * 400, b"-0", b"0.1e-400", b"NaN", b"Infinity", b"-Infinity", b"01", b"1.",
    b".5", b"+1", b"0x10", b"1_000", b"9007199254740993", b"1e", b"1e+", b"--1", b"18446744073709551616", b"true",
    b"null",
)  # fmt: skip
TEXTS = (
    b'"\xff\xfe"', b'"\xed\xa0\x80"', b'"\\ud800"', b'"\\udc00\\ud800"', b'"\\u0000"', b'"\x00"', b'"\\x41"', b'"',
    b"'a'", b'"\xc0\x80"', b'"\xf4\x90\x80\x80"', b"\xef\xbb\xbf", b'"\\', b'"\\u12', b'"' + b"z" * 5000 + b'"',
)  # fmt: skip
STRUCTURES = (
    b"[" * 2000, b"{" * 2000, b'{"a":' * 1500 + b"1" + b"}" * 1500, b"[" * 300 + b"]" * 300, b",", b":", b"{}", b"[]",
    b'{"x":[1,2,3,4],"x":[1]}', b'"x":[9,9,9,9],', b'"y":0,', b'"id":[[[]]],', b'"t":1e30,', b'"t":-5,', b"/*c*/",
    b"\n",
)  # fmt: skip
PIECES = NUMBERS + TEXTS + STRUCTURES


def flip(chance: random.Random, value: bytes) -> bytes:
    """Replace a few bytes by arbitrary ones."""
    changed = bytearray(value)
    for _ in range(chance.randint(1, 4)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def cut(chance: random.Random, value: bytes) -> bytes:
    return value[: chance.randrange(len(value))] if chance.random() < 0.5 else value[chance.randrange(len(value)) :]


def insert(chance: random.Random, value: bytes) -> bytes:
    place, end = sorted(chance.randrange(len(value) + 1) for _ in range(2))
    return value[:place] + chance.choice(PIECES) + value[place if chance.random() < 0.5 else end :]


def repeat(chance: random.Random, value: bytes) -> bytes:
    """Repeat a stretch: keys and features become double."""
    place, end = sorted(chance.randrange(len(value) + 1) for _ in range(2))
    return value[:end] + value[place:]


def arbitrary(chance: random.Random, value: bytes) -> bytes:
    return chance.randbytes(chance.randint(0, 2 * len(value)))


def numbers(chance: random.Random, value: bytes) -> bytes:
    """Return valid JSON with hostile values."""
    x = b",".join(chance.choice(NUMBERS) for _ in range(chance.choice((D, D, D, 1, 0, D + 1))))
    return b'{"x":[%b],"y":%b,"id":%b}' % (x, chance.choice(NUMBERS), chance.choice(TEXTS))


def heads(chance: random.Random, value: bytes) -> bytes:
    """Return a packed record whose head or values are wrong."""
    features = [chance.choice((0.0, -0.0, 1e308, np.inf, -np.inf, np.nan, 5e-324)) for _ in range(chance.randint(0, 6))]
    label = chance.choice((0.0, 1.0, 2.0, -1.0, np.nan, np.inf, 0.5))
    size = chance.choice((8, 8, 4, 0, 255))
    return struct.pack("<BBd", chance.choice((1, 1, 1, 0, 2, 123)), size, label) + np.array(features).tobytes()


MUTATIONS: tuple[Callable[[random.Random, bytes], bytes], ...] = (flip, cut, insert, repeat, arbitrary, numbers, heads)


def spoilt(chance: random.Random, value: bytes) -> bytes | None:
    """Return a near-valid record, or None."""
    if chance.random() < 0.02:
        return None
    for _ in range(chance.choice((1, 1, 2))):
        value = chance.choice(MUTATIONS)(chance, value or b"?")
    return value


@cache
def good_events(name: str, n: int = 4000) -> list[bytes]:
    X, y = drifting(n, D, regression=SETTINGS[name].target.task == "regression")
    if name == PACKED:
        return list(encode_packed(X, y))
    values = list(encode_events(X, y, 0))
    if name == "text labels":
        values = [v.replace(b'"y":0', b'"y":"DOWN"').replace(b'"y":1', b'"y":"UP"') for v in values]
    return values


def examine(name: str, values: list[bytes | None], batch: int = BATCH) -> tuple[int, int]:
    """Run `values`, which begin with a good event, and then only those that were predicted.

    Return the numbers of predictions and rejections; fail if a record is lost or a rejected one changed a score.
    """
    model, alone = Model(SETTINGS[name], 3), Model(SETTINGS[name], 3)
    predicted = rejected = 0
    for start in range(0, len(values), batch):
        part = records(values[start : start + batch], first=start)
        out = model.advance(part)
        bad = {rejection.offset for rejection in out.rejected if not rejection.set_aside}
        aside = {rejection.offset for rejection in out.rejected if rejection.set_aside}
        kept = [read_json(line)["offset"] for line in out.predictions]
        assert len(bad) + len(aside) == len(out.rejected)
        assert bad.isdisjoint(kept)
        assert bad.union(aside, kept) == set(part.offsets.tolist())
        assert kept == sorted(kept)
        for rejection in out.rejected:
            assert rejection.reason
            assert len(rejection.reason.encode()) < 1000  # it is sent as a header
            assert rejection.value == values[rejection.offset]
        predicted, rejected = predicted + len(kept), rejected + len(out.rejected)
        if kept:
            share = records([values[o] for o in kept])
            share.offsets, share.keys = np.array(kept), out.keys
            again = alone.advance(share)
            assert [rejection.offset for rejection in again.rejected] == sorted(aside.intersection(kept))
            assert again.predictions == out.predictions
    assert [p.tobytes() for p in model.save().parts] == [p.tobytes() for p in alone.save().parts]
    return predicted, rejected


def mixture(chance: random.Random, name: str, n: int) -> list[bytes | None]:
    """Return a good event, followed by good and damaged ones at random."""
    good = good_events(name)
    picks = [good[chance.randrange(len(good))] for _ in range(n)]
    return [value if i == 0 or chance.random() < 0.4 else spoilt(chance, value) for i, value in enumerate(picks)]


@pytest.mark.parametrize("name", SETTINGS)
def test_mutated_events_are_predicted_or_rejected_and_affect_no_other(name: str) -> None:
    predicted, rejected = examine(name, mixture(random.Random(11), name, DEFAULT_RECORDS))
    assert predicted > DEFAULT_RECORDS // 4
    assert rejected > DEFAULT_RECORDS // 4


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_a_hundred_thousand_mutated_events_are_predicted_or_rejected(name: str) -> None:
    seed = int(os.environ.get("DRIFTWAY_FUZZ_SEED") or random.SystemRandom().randrange(2**32))
    print(f"DRIFTWAY_FUZZ_SEED={seed}")
    rng = random.Random(seed)
    for _ in range(MANY_RECORDS // 20_000):
        examine(name, mixture(rng, name, 20_000))


leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.integers(-(2**70), 2**70)
trees = st.recursive(leaves, lambda s: st.lists(s, max_size=5) | st.dictionaries(st.text(max_size=3), s, max_size=4))
event_like = st.fixed_dictionaries(
    {}, optional={"x": st.lists(st.floats(), min_size=D, max_size=D) | trees, "y": trees, "id": trees, "t": trees}
)
as_json = st.builds(lambda tree: json.dumps(tree).encode(), trees | event_like)
hostile = st.lists(st.none() | st.binary(max_size=200) | as_json, min_size=1, max_size=40)
quick = examples(60, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("name", SETTINGS)
@quick
@given(odd=hostile, batch=st.integers(1, 60))
def test_arbitrary_bytes_among_good_events_affect_no_other(name: str, odd: list[bytes | None], batch: int) -> None:
    good = good_events(name)
    values: list[bytes | None] = [good[0]]
    for i, value in enumerate(odd):
        values += [value, good[i + 1]]
    examine(name, values, batch)


@pytest.mark.parametrize("form", [JSON, PACKED])
@quick
@given(odd=hostile)
def test_arbitrary_bytes_may_come_first(form: str, odd: list[bytes | None]) -> None:
    out = Model(model_settings("pa1", form=form), 3).advance(records(odd))
    outcomes = {read_json(line)["offset"] for line in out.predictions} | {one.offset for one in out.rejected}
    assert outcomes == set(range(len(odd)))


# A first event fixes the shape, and with it how much memory the learner takes.


def wide(form: str, d: int) -> bytes:
    X = np.zeros((1, d))
    return (encode_packed(X, np.zeros(1)) if form == PACKED else encode_events(X, np.zeros(1), 0))[0]


@pytest.mark.parametrize("form", [JSON, PACKED])
def test_a_first_event_of_a_million_features_is_rejected_and_fixes_nothing(form: str) -> None:
    model = Model(model_settings("dfop", form=form), 3)
    out = model.advance(records([wide(form, 10**6), wide(form, MAX_FEATURES + 1), wide(form, 4), wide(form, 4)]))
    assert [bad.reason for bad in out.rejected] == [
        f"x has {d} features, more than {MAX_FEATURES}" for d in (10**6, MAX_FEATURES + 1)
    ]
    assert len(out.predictions) == 2
    assert model.schema is not None
    assert model.schema.n_features == 4


def test_a_first_event_of_a_hundred_thousand_names_is_rejected() -> None:
    event = json.dumps({"x": {f"n{i}": 1 for i in range(10**5)}}).encode()
    (bad,) = Model(model_settings("dfop"), 3).advance(records([event])).rejected
    assert bad.reason == f"x has 100000 features, more than {MAX_FEATURES}"


@pytest.mark.parametrize("form", [JSON, PACKED])
def test_the_largest_allowed_first_event_is_accepted(form: str) -> None:
    out = Model(model_settings("pa1", form=form), 3).advance(records([wide(form, MAX_FEATURES)]))
    assert len(out.predictions) == 1


def test_the_option_raises_the_limit_of_features() -> None:
    d = MAX_FEATURES + 1
    out = Model(model_settings("pa1", n_features=d), 3).advance(records([wide(JSON, d)]))
    assert len(out.predictions) == 1


@pytest.mark.parametrize("d", [10**7, 10**10, 10**18])
def test_a_state_too_large_to_allocate_is_reported_in_one_sentence(d: int) -> None:
    with pytest.raises(Failure, match=rf"^the state of dfop over {d:,} features cannot be allocated: .+") as caught:
        Model(model_settings("dfop", n_features=d), 3)
    assert caught.value.exit_code == 1
    assert "\n" not in str(caught.value)
