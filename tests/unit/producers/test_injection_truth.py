"""Injections of every kind: the same bits for every block size, and the ground truth that they report."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from driftway.producers.streams import GENERATORS, Stream, open_stream
from driftway.producers.streams.ground_truth import WithGroundTruth, headers_of, split_truth
from driftway.producers.streams.injection.injection_kind import END
from driftway.producers.streams.injection.registry import KINDS
from driftway.producers.streams.stream import FirstRows
from tests.unit.producers.injected import GivenStream, numbered, put, read

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


def stream_with(case: str) -> Stream:
    return open_stream("sea:rows=2000", seed=1, inject=CASES[case])


def bits(stream: Stream, size: int = 8192) -> list[bytes]:
    return [part.tobytes() for part in read(stream, size)]


def test_every_kind_has_a_case() -> None:
    assert list(ONE_EACH) == list(KINDS)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_block_size_changes_no_bit(case: str, size: int) -> None:
    assert bits(stream_with(case), size) == bits(stream_with(case))


@pytest.mark.parametrize("case", CASES)
def test_blocks_are_the_traced_blocks_and_reading_twice_gives_the_same(case: str) -> None:
    stream = stream_with(case)
    first = bits(stream)
    plain = list(stream.blocks(500))
    assert np.concatenate([block.X for block in plain]).tobytes() == first[0]
    assert np.concatenate([block.y for block in plain]).tobytes() == first[1]
    assert bits(stream) == first


@pytest.mark.parametrize("case", RANDOM)
def test_an_injection_depends_on_its_own_seed(case: str) -> None:
    base, (*rest, last) = "sea:rows=2000", CASES[case]
    name, _, options = last.partition(":")
    texts = [[*rest, f"{name}:seed={seed},{options}"] for seed in (1, 2)]
    one, other = (bits(open_stream(base, inject=text)) for text in texts)
    assert one == bits(stream_with(case))  # by default the stream's seed is used
    assert one != other


@pytest.mark.parametrize("case", CASES)
def test_the_original_rows_are_not_changed_in_place(case: str) -> None:
    X, y, _ = read(open_stream("sea:rows=2000"))
    held = GivenStream(X, y)  # read-only: writing into a block would raise
    seconds = [open_stream("sea:rows=1500", seed=seed) for seed in range(9)]
    read(put(held, *CASES[case], seconds=seconds), 333)


@pytest.mark.parametrize("case", CASES)
def test_declared_rows_and_concepts_are_those_read(case: str) -> None:
    stream = stream_with(case)
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
    stream = stream_with(case)
    concept = read(stream)[2]
    assert (np.flatnonzero(np.diff(concept)) + 1).tolist() == list(stream.drift_points)


def test_changes_of_a_stream_move_with_its_rows() -> None:
    """In a mixture too: a stage begins where its first row appears."""
    stream = stream_with("gradual")
    concept = read(stream)[2]
    for change in (change for change in stream.changes if change.kind == "stage"):
        new = concept[change.at]
        assert (concept != new)[: change.at].all()


def test_changes_move_with_rows_that_another_injection_leaves_out() -> None:
    stream = put(numbered(30_000, drift_points=[400, 20_000]), "label_flip:at=9000", "imbalance:share=0.1")
    x, _, concept = (part if part.ndim == 1 else part[:, 0] for part in read(stream))
    kinds = [(change.kind, x[change.at]) for change in stream.changes]
    assert [kind for kind, _ in kinds] == ["stage", "label_flip", "stage"]  # reaching the last one takes three blocks
    for (_, number), edge in zip(kinds, (400, 9000, 20_000), strict=True):
        assert edge < number < edge + 20  # the first kept row of the new concept; rows are numbered from 1
    assert (np.flatnonzero(np.diff(concept)) + 1).tolist() == list(stream.drift_points)


COMES_BACK = ("archive:1CDT", "archive:1CHT", "archive:2CDT", "archive:2CHT", "mixed")
"""Generators whose default repeats a concept; tested below."""


@pytest.mark.parametrize("name", [name for name in GENERATORS if name not in COMES_BACK])
def test_without_injection_a_stream_is_unchanged_and_its_concept_is_its_stage(name: str) -> None:
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


@pytest.mark.parametrize(
    ("name", "stages", "names"),
    [
        ("mixed:rows=400", [0, 1, 0, 1], ("mixed stage 1/3", "mixed stage 2/4")),
        ("stagger:rows=400,concepts=3/3/1/3", [0, 0, 1, 0], ("stagger stage 1/2/4", "stagger stage 3")),
        ("sea:rows=200,thresholds=8/8.0", [0, 0], ("sea",)),
        ("sine:rows=300,functions=2/1/2", [0, 1, 0], ("sine stage 1/3", "sine stage 2")),
        ("led:rows=200,swapped=7/7", [0, 0], ("led",)),
        ("agrawal:rows=300,functions=9/9/1", [0, 0, 1], ("agrawal stage 1/2", "agrawal stage 3")),
        ("friedman:rows=400,drift=gra", [0, 0, 1, 0], ("friedman stage 1/3", "friedman stage 2")),
        ("archive:2CHT:rows=4000", [min(i, 40 - i) for i in range(40)], None),
    ],
)  # fmt: skip
def test_a_recurring_concept_has_the_same_id(name: str, stages: list[int], names: tuple[str, ...] | None) -> None:
    stream = open_stream(name)
    concept = read(stream, 77)[2]
    assert concept.tolist() == [stage for stage in stages for _ in range(100)]
    assert (np.flatnonzero(np.diff(concept)) + 1).tolist() == list(stream.drift_points)
    assert [change.at for change in stream.changes] == list(stream.drift_points)
    assert len(stream.concepts) == max(stages) + 1
    assert names in (None, stream.concepts)


def test_a_drift_at_every_row_takes_linear_time() -> None:
    """Looking each stage up among all others would take an hour."""
    stream = open_stream("hyperplane_staged:rows=200000,stages=200000")
    assert len(stream.concepts) == len(stream.changes) + 1 == 200_000


@pytest.mark.parametrize("size", [1, 64, 1000])
def test_a_generator_that_mixes_concepts_reports_the_concept_of_each_row(size: int) -> None:
    """Without noise the target itself shows the concept."""
    stream = open_stream("friedman:rows=1000,drift=gsg,noise=0", seed=4)
    X, y, concept = read(stream, size)
    ends = [open_stream(f"friedman:rows=1000,drift=gsg,window=0,noise=0,positions={at}", seed=4)
            for at in ("0.998/0.999", "0.001/0.999", "0.001/0.002")]  # fmt: skip
    pure = np.array([read(end)[1][5:-5] for end in ends])
    assert np.array_equal(pure[concept[5:-5], np.arange(990)], y[5:-5])
    assert concept[:500].tolist() == [0] * 500
    assert {*concept[500:600].tolist()} == {0, 1}
    assert concept[600:750].tolist() == [1] * 150
    assert {*concept[750:850].tolist()} == {1, 2}
    assert concept[850:].tolist() == [2] * 150
    assert [tuple(change) for change in stream.changes] == [
        ("gradual", 500, 500, 600, True),
        ("gradual", 750, 750, 850, True),
    ]
    plain = list(stream.blocks(size))
    assert np.concatenate([block.X for block in plain]).tobytes() == X.tobytes()
    assert np.concatenate([block.y for block in plain]).tobytes() == y.tobytes()


def test_the_concepts_of_sea_are_its_stages_by_the_formula() -> None:
    concept = read(open_stream("sea:rows=1003"), 64)[2]
    assert concept.tolist() == [4 * t // 1003 for t in range(1003)]


def test_the_first_rows_of_a_stream_keep_its_ground_truth() -> None:
    whole = stream_with("sudden")
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


def test_injections_apply_in_order_and_windows_end() -> None:
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


def expected_headers(stream: Stream) -> list[list[tuple[str, bytes]]]:
    """Return what every message must carry: its concept, and the largest drift point up to its row."""
    return [
        [
            ("concept", str(k).encode()),
            ("changed", str(max([0, *(point for point in stream.drift_points if point <= row)])).encode()),
        ]
        for row, k in enumerate(read(stream)[2].tolist())
    ]


@pytest.mark.parametrize("case", ["recurring", "gradual", "virtual", "missing"])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_headers_carry_the_ground_truth_of_each_row(case: str, size: int) -> None:
    stream = stream_with(case)
    X, y, _ = read(stream)
    parted = [split_truth(block) for block in WithGroundTruth(stream).blocks(size)]
    assert all(bare.X.flags.c_contiguous for bare, _ in parted)
    assert np.concatenate([bare.X for bare, _ in parted]).tobytes() == X.tobytes()
    assert np.concatenate([bare.y for bare, _ in parted]).tobytes() == y.tobytes()
    headers = [header for _, truth in parted for header in headers_of(truth)]
    assert headers == expected_headers(stream)
    assert len({changed for _, (_, changed) in headers}) == len(stream.drift_points) + 1
