"""Injections of every kind: the same bits however they are cut, and the truth they tell about themselves."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from producers.streams import GENERATORS, Stream, open_stream
from producers.streams.injection.kind import END
from producers.streams.injection.registry import KINDS
from producers.streams.stream import FirstRows
from producers.streams.truth import WithConcepts, headers_of, part_concepts
from tests.unit.producers.injected import Held, numbered, put, read

ONE_EACH = {
    "sudden": "sudden:at=700,to=sea:rows=1500,noise=0",
    "gradual": "gradual:at=900,width=300,to=sea:rows=1500",
    "incremental": "incremental:from=500,until=1100,to=sea:rows=1500",
    "recurring": "recurring:period=300,to=sea:rows=1000",
    "label_noise": "label_noise:share=0.2,from=100,until=1900",
    "label_flip": "label_flip:at=600,until=1300",
    "missing": "missing:share=0.1,columns=x1/x3",
    "imbalance": "imbalance:class=1,share=0.2,from=300",
    "virtual": "virtual:at=800,tilt=2,columns=x2,until=1500",
}
MORE = {
    "displaced": ("virtual:at=800,shift=3,scale=0.5",),
    "chain": (*ONE_EACH.values(),),
    "chain_back": (*reversed(ONE_EACH.values()),),
}
CASES = {**{name: (text,) for name, text in ONE_EACH.items()}, **MORE}
RANDOM = ("gradual", "label_noise", "missing", "imbalance", "virtual", "chain")


def made(case: str, seed: int = 1) -> Stream:
    return open_stream("sea:rows=2000", seed=seed, inject=CASES[case])


def bits(stream: Stream, size: int = 8192) -> list[bytes]:
    return [part.tobytes() for part in read(stream, size)]


def test_every_kind_has_a_case() -> None:
    assert list(ONE_EACH) == list(KINDS)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_block_size_changes_no_bit(case: str, size: int) -> None:
    assert bits(made(case), size) == bits(made(case))


@pytest.mark.parametrize("case", CASES)
def test_blocks_are_the_traced_blocks_and_reading_twice_gives_the_same(case: str) -> None:
    stream = made(case)
    first = bits(stream)
    plain = list(stream.blocks(500))
    assert np.concatenate([block.X for block in plain]).tobytes() == first[0]
    assert np.concatenate([block.y for block in plain]).tobytes() == first[1]
    assert bits(stream) == first


@pytest.mark.parametrize("case", RANDOM)
def test_the_injections_own_seed_changes_it(case: str) -> None:
    base, (*rest, last) = "sea:rows=2000", CASES[case]
    name, _, options = last.partition(":")
    texts = [[*rest, f"{name}:seed={seed},{options}"] for seed in (1, 2)]
    one, other = (bits(open_stream(base, inject=text)) for text in texts)
    assert one == bits(made(case))  # the stream's seed is the default
    assert one != other


@pytest.mark.parametrize("case", CASES)
def test_the_rows_that_were_are_left_alone(case: str) -> None:
    X, y, _ = read(open_stream("sea:rows=2000"))
    held = Held(X, y)  # read-only: writing into a block would raise
    seconds = [open_stream("sea:rows=1500", seed=seed) for seed in range(9)]
    read(put(held, *CASES[case], seconds=seconds), 333)


@pytest.mark.parametrize("case", CASES)
def test_declared_rows_and_concepts_are_what_is_read(case: str) -> None:
    stream = made(case)
    _, y, concept = read(stream)
    assert stream.rows in (None, len(y))
    assert stream.injections == CASES[case]
    assert concept.min() >= 0
    assert concept.max() < len(stream.concepts)
    assert len({*stream.concepts}) == len(stream.concepts) or case.startswith("chain")
    assert all(change.start <= change.at <= change.end for change in stream.changes)
    assert all(low.at <= high.at < len(y) for low, high in pairwise(stream.changes))
    assert stream.root.rows == 2000


@pytest.mark.parametrize("case", [case for case in CASES if case != "gradual" and not case.startswith("chain")])
def test_concepts_change_at_the_drift_points_and_nowhere_else(case: str) -> None:
    stream = made(case)
    concept = read(stream)[2]
    assert (np.flatnonzero(np.diff(concept)) + 1).tolist() == list(stream.drift_points)


def test_changes_of_the_streams_come_to_stand_where_their_rows_do() -> None:
    """Through a mixture too: a stage begins where the first of its rows is seen."""
    stream = made("gradual")
    concept = read(stream)[2]
    for change in (change for change in stream.changes if change.kind == "stage"):
        new = concept[change.at]
        assert (concept != new)[: change.at].all()


def test_places_hold_where_another_injection_leaves_rows_out() -> None:
    stream = put(numbered(30_000, drift_points=[400, 20_000]), "label_flip:at=9000", "imbalance:share=0.1")
    x, _, concept = (part if part.ndim == 1 else part[:, 0] for part in read(stream))
    kinds = [(change.kind, x[change.at]) for change in stream.changes]
    assert [kind for kind, _ in kinds] == ["stage", "label_flip", "stage"]  # the walk to the last takes three blocks
    for (_, number), edge in zip(kinds, (400, 9000, 20_000), strict=True):
        assert edge < number < edge + 20  # the first kept row of the new concept; rows are numbered from 1
    assert (np.flatnonzero(np.diff(concept)) + 1).tolist() == list(stream.drift_points)


@pytest.mark.parametrize("name", GENERATORS)
def test_without_injection_a_stream_is_untouched_and_its_concept_is_its_stage(name: str) -> None:
    bare, empty = open_stream(name, rows=3000, seed=3), open_stream(name, rows=3000, seed=3, inject=())
    assert type(empty) is type(bare)
    assert empty.name == bare.name
    pairs = zip(bare.blocks(), empty.traced(), strict=True)
    start = 0
    for block, (same, concept) in pairs:
        assert (block.X.tobytes(), block.y.tobytes()) == (same.X.tobytes(), same.y.tobytes())
        rows = np.arange(start, start + len(concept))
        assert (concept == sum((rows >= point).astype(int) for point in bare.drift_points)).all()
        start += len(concept)
    assert len(bare.concepts) == len(bare.drift_points) + 1


def test_the_concepts_of_sea_are_its_stages_by_the_formula() -> None:
    concept = read(open_stream("sea:rows=1003"), 64)[2]
    assert concept.tolist() == [4 * t // 1003 for t in range(1003)]


def test_the_first_rows_of_a_stream_keep_its_truth() -> None:
    whole = made("sudden")
    part = open_stream("sea", rows=2000, inject=["sudden:at=700,to=sea:rows=5000,noise=0"])
    assert isinstance(part, FirstRows)
    assert part.rows == len(read(part)[1]) == 2000
    part = FirstRows(whole, 701)
    assert part.drift_points == (500, 700)
    assert [change.kind for change in part.changes] == ["stage", "sudden"]
    assert [a.tobytes() for a in read(part, 50)] == [a[:701].tobytes() for a in read(whole)]
    assert FirstRows(whole, 700).drift_points == (500,)
    assert part.concepts == whole.concepts
    assert part.root is whole.root


def test_order_counts_and_a_window_ends() -> None:
    flipped = put(numbered(100), "label_flip:at=10,until=20", "label_flip:at=15")
    assert [(change.kind, change.at) for change in flipped.changes] == [
        ("label_flip", 10),
        ("label_flip", 15),
        ("label_flip ends", 20),
    ]
    assert read(flipped)[2].tolist() == [0] * 10 + [1] * 5 + [3] * 5 + [2] * 80
    assert flipped.concepts == ("held", "held flipped", "held flipped", "held flipped flipped")
    assert put(numbered(10), "label_noise:share=1").changes == ()
    assert all(change.end < END for change in flipped.changes)


def test_concepts_travel_beside_the_rows() -> None:
    stream = made("recurring")
    X, y, concept = read(stream)
    block = next(WithConcepts(stream).blocks(1000))
    bare, found = part_concepts(block)
    assert bare.X.flags.c_contiguous
    assert (bare.X.tobytes(), bare.y.tobytes()) == (X[:1000].tobytes(), y[:1000].tobytes())
    assert found.tolist() == concept[:1000].tolist()
    assert headers_of(found) == [[("concept", str(k).encode())] for k in concept[:1000]]
