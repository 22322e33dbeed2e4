"""`python -m tests.support.earlier_labels worker ...`: the command line as it was before labels were set aside."""

from __future__ import annotations

import sys

from tests.support.process import Driftway


class EarlierDriftway(Driftway):
    """`driftway` that rejects an event whose label cannot be used, and commits no `set_aside_from`."""

    module = "tests.support.earlier_labels"


def main() -> None:
    """Remove what later versions added, and run the command line."""
    from driftway import cli
    from driftway.worker.state.changelog.commit_record import CommitRecord
    from driftway.worker.wire.codec import read_json, write_json
    from driftway.worker.wire.decoder import Decoder

    write = CommitRecord.write

    def write_earlier(self: CommitRecord) -> bytes:
        return write_json({key: value for key, value in read_json(write(self)).items() if key != "set_aside_from"})

    CommitRecord.write = write_earlier  # type: ignore[method-assign]
    Decoder.set_aside_from = property(lambda _: 2**62, lambda *_: None)  # type: ignore[assignment]
    cli.main(sys.argv[1:])


if __name__ == "__main__":
    main()
