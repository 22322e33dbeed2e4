"""Wrong command lines, drawn from the commands' own tables of options."""

from __future__ import annotations

import random
from collections.abc import Iterator

import click

from driftway.commands import COMMANDS, leaves, load

STARTS_SOMETHING = frozenset(("demo", "broker", "bench"))
"""Commands that start brokers or workers: their lines are parsed only."""
CLOSED = "127.0.0.1:1"
"""An address at which no broker answers."""
VALUES = (
    "", " ", "-1", "0", "1", "nan", "inf", "-inf", "1e400", "1e308", "9" * 20, "9" * 400, "9" * 5_000, "0x10",
    "1_000", "²", "x" * 300, "x" * 20_000, "\udcff", "a\x00b", "a b", "a/b", "ü\n", "..", ".", "/", "/nope/x",
    "/dev/null", "/dev", "=", "=1", "a=", "a=b=c", ",", ",,", "a,a", "1,1.0", "a,,b", ":", "a:", ":a", "arow:",
    "arow:r", "arow:r=1,r=2", "arow:r=1e400", "arow:r=" + "9" * 400, "ova:", "ova:ova:ova:arow",
    "on_drift:" * 500 + "arow", "on_drift:arow:detector=", "nope", "sea:nope=1", "sea:seed=-1",
    "fourier:D=100000000000", "fourier:D=1e308", "polynomial:degree=100", "hashing:buckets=0", "hashing:buckets=1e18",
    "adwin:delta=5", "average:rows=" + "9" * 30, "average:rows=0", "gossip:rows=x", "10000000", "99999999999d",
    "9" * 300 + "d", "1e9d", "7y", "1/0", "0.1/0", "0.1/" + "9" * 400, "a:hash=0", "a:hash=99999999999999",
    "a:index=-1", "a:one-of=", "a:one-of=u/u", "a:time=nope", '"a', "a..b", "[0", "a[99999999999999999999]", "@nope",
    "a:missing=nan", "http://", "http://[", "http://h:99999", "::::", "host:port", "2020-99-99",
    "99999999-01-01T00:00:00Z", "-9" * 9, "9" * 19, "earliest", "{", "*", "%s", "${X}", "~nobody/x",
)  # fmt: skip
"""Values that many options refuse for various reasons; some are valid for some options."""

STREAM = "sea"
ARGUMENTS = {
    "worker": ("--input", "E", "--group", "g", "--stop-at-end", "--learner", "arow"),
    "check": ("--input", "E", "--group", "g", "--learner", "arow"),
    "topics create": ("--input", "E", "--partitions", "1"),
    "topics check": ("--input", "E"),
    "replay": (STREAM, "--to", "E", "--limit", "5"),
    "watch": ("--input", "E", "--group", "g", "--once"),
    "plot": ("--input", "E", "--group", "g"),
    "rejected": ("--input", "E", "--group", "g"),
    "audit": ("--input", "E", "--group", "g", "--learner", "arow"),
    "schema infer": (),
    "explain": ("--input", "E", "--group", "g", "--offset", "1"),
    "evaluate": (STREAM, "--limit", "20", "--learner", "arow"),
    "train": (STREAM, "--out", "/nope/x.driftway", "--limit", "20"),
    "learners": ("arow",),
    "streams": (STREAM,),
}
"""Arguments with which a command gets as far as possible; all commands of `snapshot` have the same."""
OF_SNAPSHOT = "--input", "E", "--group", "g"


def wrong_lines(count: int, seed: int) -> Iterator[tuple[str, ...]]:
    """Yield `count` command lines: every option of every command in turn, each with one or two unusual values."""
    chance = random.Random(seed)
    places = [
        (tuple(filter(None, (name, leaf))), option)
        for name in COMMANDS
        for leaf, command in leaves(load(name)).items()
        for option in command.params
    ]
    chance.shuffle(places)
    for number in range(count):
        words, option = places[number % len(places)]
        same = [other for command, other in places if command == words and isinstance(other, click.Option)]
        line = list(_base(words))
        for one in (option, *chance.sample(same, k=min(len(same), chance.randrange(2)))):
            line += _given(one, chance)
        yield (*words, *line)


def _base(words: tuple[str, ...]) -> tuple[str, ...]:
    usual = OF_SNAPSHOT if words[0] == "snapshot" else ()
    return ARGUMENTS.get(" ".join(words), usual)


def _given(parameter: click.Parameter, chance: random.Random) -> list[str]:
    values = [chance.choice(VALUES) for _ in range(max(1, parameter.nargs))]
    if not isinstance(parameter, click.Option):
        return values
    name = max(parameter.opts, key=len)
    return [name] if parameter.is_flag else [name, *values]
