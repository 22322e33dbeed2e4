"""`--table online-to-batch`: measured, then written."""

from __future__ import annotations

import time
from pathlib import Path

from worker.lab.tables.asked import Asked
from worker.lab.tables.online_to_batch.experiment import measure
from worker.lab.tables.online_to_batch.page import page


def write(asked: Asked) -> list[Path]:
    """Measure, and write `online-to-batch.md` and its picture."""
    from worker.lab.tables.online_to_batch.picture import draw

    picture = asked.out / "online-to-batch.png"
    started = time.perf_counter()
    results = measure(asked)
    draw(results, str(picture))
    text = page(results, picture.name, time.perf_counter() - started, asked.processes)
    out = asked.out / "online-to-batch.md"
    out.write_text(text, encoding="utf-8")
    return [out, picture]
