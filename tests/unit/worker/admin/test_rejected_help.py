"""`driftway rejected --help` names every kind of rejection."""

from __future__ import annotations

import re

from driftway.worker.admin.cli.rejected import rejected
from driftway.worker.wire.rejections import ALL_KINDS


def test_help_names_every_kind_of_rejection() -> None:
    words = re.findall(r"[a-z-]+", (rejected.help or "").split("A label that")[0])
    assert set(ALL_KINDS) <= set(words)
