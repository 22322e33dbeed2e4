"""Where a value is found: as written, read back, and looked up."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from driftway.worker.errors import UsageFailure
from driftway.worker.wire.schema.paths import ABSENT, ENVELOPE, HEADER, KEY, ROW, SOURCES, TIMESTAMP, Path, look_up

STEPS = st.lists(st.one_of(st.text(max_size=5), st.text('."\\:@ a\n,=|', max_size=5)), min_size=1, max_size=4)


@given(STEPS)
@example(["a "])
@example([" a"])
@example(["@key"])
@example([""])
@example(["\\\n"])
def test_a_path_is_read_as_it_was_written(steps: list[str]) -> None:
    for path in (Path(tuple(steps)), Path(tuple(steps), KEY), Path(tuple(steps), ENVELOPE), Path((steps[0],), HEADER)):
        assert Path.parse(str(path)) == path
        text = f"{path}:as=a,b"
        assert Path.begin(text) == (path, len(str(path)))


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("amount", Path(("amount",))),
        ("payload.after.amount", Path(("payload", "after", "amount"))),
        ('a."b.c".0', Path(("a", "b.c", "0"))),
        ('"say \\"hi\\" \\\\"', Path(('say "hi" \\',))),
        (" a . b ", Path(("a", "b"))),
        ("größe", Path(("größe",))),
        ("two words", Path(("two words",))),
        ("mail@home", Path(("mail@home",))),
        ("@key", Path((), KEY)),
        ("@key.a.b", Path(("a", "b"), KEY)),
        ("@timestamp", Path((), TIMESTAMP)),
        ("@header.trace", Path(("trace",), HEADER)),
        ('@header."a.b"', Path(("a.b",), HEADER)),
        ("@envelope.op", Path(("op",), ENVELOPE)),
        ('"@key"', Path(("@key",), ROW)),
    ],
)
def test_a_path_has_steps_and_a_source(text: str, path: Path) -> None:
    assert Path.parse(text) == path
    assert Path.parse(str(path)) == path


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "path '': a field's name is expected at ''"),
        (" ", "path  : a field's name is expected before ''"),
        ("a.", "path a.: a field's name is expected at ''"),
        (".a", "path .a: a field's name is expected at '.a'"),
        ("a..b", "path a..b: a field's name is expected at '.b'"),
        ("a. .b", "path a. .b: a field's name is expected before '.b'"),
        ('a"b"', 'path a"b": a dot is expected before \'"b"\''),
        ('"a"b', "path \"a\"b: a dot is expected before 'b'"),
        ('"a', "path \"a: a field's name is expected at '\"a'"),
        (":hash=3", "path :hash=3: a field's name is expected before ':'"),
        ("a:b", "path a:b: ':b' is not expected here"),
        ("@keys", "path @keys: @keys is not one of @envelope, @key, @header, @timestamp"),
        ("@header", "path @header: write @header.NAME, @timestamp or @envelope.FIELD"),
        ("@header.a.b", "path @header.a.b: write @header.NAME, @timestamp or @envelope.FIELD"),
        ("@timestamp.a", "path @timestamp.a: write @header.NAME, @timestamp or @envelope.FIELD"),
        ("@envelope", "path @envelope: write @header.NAME, @timestamp or @envelope.FIELD"),
    ],
)
def test_an_invalid_path_is_refused_in_one_sentence(text: str, says: str) -> None:
    with pytest.raises(UsageFailure) as caught:
        Path.parse(text)
    assert str(caught.value) == says


def test_all_sources_are_tested_above() -> None:
    assert set(SOURCES) == {KEY, TIMESTAMP, HEADER, ENVELOPE}


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        (("a",), {"b": [1, {"c": None}], "0": "zero"}),
        (("a", "b", "0"), 1),
        (("a", "b", "1", "c"), None),
        (("a", "0"), "zero"),
        (("a", "b", "2"), ABSENT),
        (("a", "b", "-1"), ABSENT),
        (("a", "b", "c"), ABSENT),
        (("a", "b", "0", "c"), ABSENT),
        (("z",), ABSENT),
        ((), {"a": {"b": [1, {"c": None}], "0": "zero"}}),
    ],
)
def test_look_up_follows_the_steps(steps: tuple[str, ...], found: object) -> None:
    assert look_up({"a": {"b": [1, {"c": None}], "0": "zero"}}, steps) == found
