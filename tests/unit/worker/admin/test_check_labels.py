"""Whether sampled labels would find their events: by id, partition and timestamp."""

from __future__ import annotations

from driftway.worker.admin.check.sample import NO_STAMP, LabelMatches, SampledLabel

DAY = 86_400_000
NOW = 1_764_000_000_000


def matches(*events: tuple[bytes, dict[int, int], str], longest_ms: int = 7 * DAY) -> LabelMatches:
    return LabelMatches(longest_ms, {name: (stamps, where) for name, stamps, where in events})


def test_labels_meet_events_by_id_and_partition() -> None:
    found = matches((b"7", {0: NOW}, "E/0@1"), (b'"a"', {0: NOW, 1: NOW}, "E/0@2"), (b"null", {0: NOW}, "E/0@3"))
    here = ((b"7", 0, "L/0@0"), (b'"a"', 1, "L/1@0"), (b"8", 0, "L/0@1"), (b"null", 1, "L/1@1"))
    found.count([SampledLabel(*one, NOW) for one in here])
    assert (found.here, found.elsewhere, found.unlike, found.example) == (2, 0, 0, "")
    found.count([SampledLabel(*one, NOW) for one in ((b'"7"', 0, "L/0@2"), (b"7", 1, "L/1@2"), (b"a", 1, "L/1@3"))])
    assert (found.here, found.elsewhere, found.unlike) == (2, 1, 2)
    assert found.example == "L/0@2, and its event E/0@1"


def test_labels_stamped_before_their_event_or_long_after_it_are_counted() -> None:
    found = matches((b"1", {0: NOW}, "E/0@1"), (b"2", {0: NO_STAMP}, "E/0@2"))
    for stamp in (NOW, NOW + 7 * DAY, NO_STAMP):
        found.count([SampledLabel(b"1", 0, "L/0@0", stamp), SampledLabel(b"2", 0, "L/0@0", stamp)])
    assert (found.here, found.early, found.late, found.mistimed) == (6, 0, 0, "")
    found.count([SampledLabel(b"1", 0, "L/0@1", NOW // 1000)])
    assert (found.early, found.late, found.mistimed) == (1, 0, "L/0@1 is 20,396 d before E/0@1")
    found.count([SampledLabel(b"1", 0, "L/0@2", NOW + 7 * DAY + 1)])
    assert (found.early, found.late) == (1, 1)
