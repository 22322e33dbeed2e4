"""Mutated files of every format that is read, damaged as by editors, transfers or other programs."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from pyarrow import ipc, parquet

from driftway.producers.streams import open_events, open_stream
from driftway.worker.errors import Failure
from tests.support.mutations import Subject, mutated_bytes

ROWS = 60
CHARACTERS = ",;\t|\"'#%{}\\\r\n\x00?-.: \ufeffä"
"""What parsers look for."""


def _csv() -> bytes:
    return b"a,b,word,y\n" + b"".join(
        b'%d.5,-%d,"w,%d",%s\n' % (i, i, i % 3, [b"no", b"yes"][i % 2]) for i in range(ROWS)
    )


def _arff() -> bytes:
    header = b"% made\n@relation r\n@attribute 'a b' real\n@attribute word {u,'v w'}\n@attribute day date\n"
    rows = b"".join(b"%d.5,%s,?,%s\n" % (i, [b"u", b"'v w'"][i % 2], [b"no", b"yes"][i % 2]) for i in range(ROWS))
    return header + b"@attribute y {no,yes}\n@data\n" + rows + b"{0 1, 3 yes}\n"


def _lines() -> bytes:
    return b"".join(b'{"id":%d,"x":[%d,0.5],"y":%d}\n' % (i, i, i % 2) for i in range(ROWS))


def _svm() -> bytes:
    return b"".join(b"%d 1:0.5 %d:%d # %d\n" % (i % 2 * 2 - 1, i % 7 + 2, i, i) for i in range(ROWS))


def _table() -> pa.Table:
    return pa.table(
        {
            "a": [float(i) for i in range(ROWS)],
            "word": pa.array([f"w{i % 3}" for i in range(ROWS)]).dictionary_encode(),
            "y": [["no", "yes"][i % 2] for i in range(ROWS)],
        }
    )


def _parquet() -> bytes:
    out = pa.BufferOutputStream()
    parquet.write_table(_table(), out)
    return bytes(out.getvalue())


def _arrow() -> bytes:
    out = pa.BufferOutputStream()
    with ipc.new_file(out, _table().schema) as writer:
        writer.write_table(_table())
    return bytes(out.getvalue())


KINDS: dict[str, Callable[[], bytes]] = {
    ".csv": _csv, ".csv.gz": lambda: gzip.compress(_csv(), mtime=0), ".arff": _arff, ".jsonl": _lines, ".svm": _svm,
    ".libsvm.bz2": lambda: bz2.compress(_svm()), ".parquet": _parquet, ".feather": _arrow,
}  # fmt: skip
TEXTS = (".csv", ".arff", ".jsonl", ".svm")


def mutated_text(text: bytes, chance: random.Random) -> bytes:
    """Insert, remove or repeat what parsers look for, at one to four positions."""
    for _ in range(chance.randrange(1, 5)):
        at = chance.randrange(len(text) + 1)
        kind = chance.randrange(4)
        if kind == 0:
            text = text[:at] + chance.choice(CHARACTERS).encode() * chance.choice((1, 1, 2, 50)) + text[at:]
        elif kind == 1:
            one = chance.choice(CHARACTERS).encode()
            text = text.replace(one, chance.choice(CHARACTERS).encode(), chance.choice((1, -1)))
        elif kind == 2:
            lines = text.splitlines(keepends=True) or [b""]
            lines.insert(chance.randrange(len(lines) + 1), chance.choice(lines))
            text = b"".join(lines)
        else:
            text = text[:at] + text[at + chance.randrange(1, 9) :]
    return text


def file_subjects(folder: Path) -> dict[str, Subject]:
    """Return name -> subject: each writes a mutated file of its kind to `folder`, and reads it in both ways."""
    return {f"file {suffix}": _subject(folder, suffix, made()) for suffix, made in KINDS.items()}


def _subject(folder: Path, suffix: str, content: bytes) -> Subject:
    path = folder / f"x{suffix}"

    def subject(chance: random.Random) -> None:
        as_text = suffix in TEXTS and chance.random() < 0.7
        path.write_bytes(mutated_text(content, chance) if as_text else mutated_bytes(content, chance))
        drop = chance.choice(((), ("word",), ("word", "day")))
        for labels in (None, ("no", "yes")):
            for read in (open_stream, open_events):
                with contextlib.suppress(Failure):
                    for _ in read(str(path), labels=labels, label="y", drop=drop).blocks():
                        pass

    return subject
