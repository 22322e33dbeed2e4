"""Features and schemas: as written, read back, and refused."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftway.worker.errors import UsageFailure
from driftway.worker.wire.schema.feature import HASH, INDEX, NAMES, NUMBERS, ONE_OF, PARTS, TIME, Feature, MissingPolicy
from driftway.worker.wire.schema.paths import KEY, Path
from driftway.worker.wire.schema.schema import EventSchema
from tests.support.examples import examples
from tests.unit.worker.wire.schema.reading import schema_of

FAST = examples(200)
WORDS = st.text(st.characters(exclude_characters=",|", exclude_categories=["Cs"]), min_size=1, max_size=6)
POLICIES = st.one_of(
    st.sampled_from([MissingPolicy(word) for word in ("reject", "mean", "last")]),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda value: MissingPolicy("", value)),
)
PATHS = st.builds(
    Path, st.lists(st.text(max_size=4), min_size=1, max_size=3).map(tuple), st.sampled_from(["row", "key", "envelope"])
)


@st.composite
def features(draw: Any) -> Feature:
    path, kind = draw(PATHS), draw(st.sampled_from([NUMBERS, ONE_OF, HASH, INDEX, TIME]))
    names = kind == HASH and draw(st.booleans())
    return Feature(
        path,
        draw(st.one_of(st.just(f"{path}{NAMES}" if names else str(path)), WORDS)),  # or else without a comma
        kind,
        tuple(draw(st.lists(WORDS.filter(lambda w: w != "*"), min_size=1, max_size=3, unique=True)))
        + draw(st.sampled_from([(), ("*",)]))
        if kind == ONE_OF
        else (),
        draw(st.integers(1, 40)) if kind in (HASH, INDEX) else 0,
        tuple(draw(st.lists(st.sampled_from(sorted(PARTS)), min_size=1, unique=True))) if kind == TIME else (),
        draw(st.one_of(st.none(), POLICIES)),
        draw(st.booleans()),
        missing_words=tuple(draw(st.lists(WORDS, max_size=2, unique=True))),
        names=names,
    )


@FAST
@given(features())
def test_a_feature_is_read_as_it_was_written(feature: Feature) -> None:
    again = Feature.parse(str(feature))
    assert again == feature
    assert repr(again) == repr(feature)  # also -0.0


@FAST
@given(POLICIES)
def test_a_policy_is_read_bit_for_bit(policy: MissingPolicy) -> None:
    assert repr(MissingPolicy.parse(str(policy))) == repr(policy)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("amount", ("amount",)),
        ("a.b:as=size", ("size",)),
        ("country:one-of=de|fr|*", ("country=de", "country=fr", "country=*")),
        ("shop:hash=2", ("shop#0", "shop#1")),
        ("user:index=50000", ("user",)),
        ("at:time=hour|weekday-circle", ("at.hour", "at.weekday-sin", "at.weekday-cos")),
        ("@key:hash=1,as=key", ("key#0",)),
    ],
)
def test_features_have_the_expected_columns(text: str, columns: tuple[str, ...]) -> None:
    assert Feature.parse(text).columns == columns


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a:", "feature a:: '' is not one of one-of=A|B|.., hash=COLUMNS, "),
        ("a:size=3", "feature a:size=3: 'size=3' is not one of one-of"),
        ("a:hash", "feature a:hash: 'hash' is not one of"),
        ("a:hash=", "feature a:hash=: 'hash=' is not one of"),
        ("a:indicator=1", "feature a:indicator=1: 'indicator=1' is not one of"),
        ("a:hash=3,hash=4", "feature a:hash=3,hash=4: hash is given twice"),
        ("a:hash=3,one-of=b", "feature a:hash=3,one-of=b: one-of and hash do not go together"),
        ("a:hash=0", "feature a:hash=0: hash takes a number of columns between 1 and 1,048,576"),
        ("a:hash=1048577", "feature a:hash=1048577: hash takes"),
        ("a:hash=-1", "feature a:hash=-1: hash takes"),
        ("a:hash=two", "feature a:hash=two: hash takes"),
        ("a:index=0", "feature a:index=0: index takes a number between 1 and 9,007,199,254,740,992"),
        ("a:index=9007199254740993", "feature a:index=9007199254740993: index takes"),
        ("a:hash=3,index=4", "feature a:hash=3,index=4: hash and index do not go together"),
        ("a:one-of=b||c", "feature a:one-of=b||c: name distinct categories, separated by |, with * only as the last"),
        ("a:one-of=b|b", "feature a:one-of=b|b: name distinct"),
        ("a:one-of=*|b", "feature a:one-of=*|b: name distinct"),
        ("a:time=noon", "feature a:time=noon: parts of a time are hour, weekday, day, month, age, seconds, "),
        ("a:time=hour|hour", "feature a:time=hour|hour: parts of a time are"),
        ("a:missing=often", "missing values: 'often' is not reject, mean, last or a number"),
        ("a:missing-words=", "feature a:missing-words=: 'missing-words=' is not one of"),
        ("a:missing-words=-||", "feature a:missing-words=-||: name distinct texts that mean missing, separated by |"),
        ("a:missing-words=-|-", "feature a:missing-words=-|-: name distinct texts"),
        ("a:missing=nan", "missing values: 'nan' is not"),
        ("a:missing=1e999", "missing values: '1e999' is not"),
        ("", "path '': a field's name is expected"),
    ],
)
def test_an_invalid_feature_is_refused_in_one_sentence(text: str, says: str) -> None:
    with pytest.raises(UsageFailure) as caught:
        Feature.parse(text)
    assert str(caught.value).startswith(says)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("features", "rest", "says"),
    [
        ((), {}, "a schema of events needs at least one feature"),
        (("a",), {"envelope": "soap"}, "envelope must be one of connect, debezium, got 'soap'"),
        (("a", "a"), {}, "two features make a column a: give one another name, as=NAME"),
        (("a:one-of=b", "c:as=a=b"), {}, "two features make a column a=b"),
        (("a:indicator",), {}, "feature a has an indicator, but events that lack it are rejected: choose what"),
        (("a:missing=mean", "b"), {"indicators": True}, "feature b has an indicator, but"),
        (("a:missing=0,indicator", "b:as=a missing"), {}, "two features make a column a missing"),
        (("a",), {"label": "a."}, "path a.: a field's name is expected"),
        (("a",), {"missing": "never"}, "missing values: 'never' is not"),
    ],
)
def test_an_invalid_schema_is_refused_in_one_sentence(features: Any, rest: Any, says: str) -> None:
    with pytest.raises(UsageFailure) as caught:
        schema_of(*features, **rest)
    assert str(caught.value).startswith(says)


@FAST
@given(
    st.lists(features(), min_size=1, max_size=3, unique_by=lambda feature: feature.name),
    PATHS,
    PATHS,
    st.sampled_from(["", "connect", "debezium"]),
    POLICIES,
    st.booleans(),
)
def test_a_schema_is_read_back_as_written(
    features: list[Feature], label: Path, name: Path, envelope: str, missing: MissingPolicy, indicators: bool
) -> None:
    try:
        schema = EventSchema(tuple(features), label, name, Path((), KEY), envelope, missing, indicators)
    except UsageFailure:
        return
    assert EventSchema.of_dict(schema.as_dict()) == schema
    assert repr(EventSchema.of_dict(schema.as_dict())) == repr(schema)


def test_a_schema_writes_only_what_differs_from_the_defaults() -> None:
    assert schema_of("a").as_dict() == {"features": ["a"], "units": True, "spellings": True}
    whole = schema_of("a:missing=0.1", label="l", id="i", time="@timestamp", envelope="connect", missing="mean")
    assert whole.as_dict() == {
        "features": ["a:missing=0.1"],
        "label": "l",
        "id": "i",
        "time": "@timestamp",
        "envelope": "connect",
        "missing": "mean",
        "units": True,
        "spellings": True,
    }


def test_a_schema_of_a_newer_version_is_refused() -> None:
    with pytest.raises(UsageFailure, match=r"^a schema of events with colour is from a newer version$"):
        EventSchema.of_dict({"features": ["a"], "colour": "red"})


def test_a_schema_has_columns_policies_and_indicators() -> None:
    schema = schema_of("a:missing=last,indicator", "b:one-of=x|y", "c:time=hour-circle,indicator", missing="mean")
    assert schema.columns == ("a", "b=x", "b=y", "c.hour-sin", "c.hour-cos")
    assert schema.indicator_names == ("a missing", "c missing")
    assert schema.watched == (0, 3)
    assert [str(policy) for policy in schema.policies] == ["last", "mean", "mean", "mean", "mean"]
    assert math.isnan(MissingPolicy("mean").value)
    assert MissingPolicy("mean", float("nan")) == MissingPolicy("mean", float("nan")) != MissingPolicy("last")
    assert len({MissingPolicy("", 1.0), MissingPolicy.parse("1"), MissingPolicy("", 2.0)}) == 2
