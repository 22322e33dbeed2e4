"""`python -m tests.regenerate.page_pictures`: docs/pictures, the worker's page as a browser shows it.

It starts a Kafka, replays streams to workers, and takes the pictures while they run. Of electricity there is one only
where DRIFTWAY_DATA names a folder that has it. Without a browser or Pillow it says so and leaves the pictures.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from driftway.producers.streams.catalogue import CATALOGUE
from driftway.workbench.broker import provide
from tests.support.browser import LIVE, NO_BROWSER, Browser, Screen, find_browser
from tests.support.kafka import create_topic
from tests.support.process import Driftway
from tests.support.real_streams import find_stream

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
MAX_BYTES = 150_000
COLOURS = 255
MARGIN = 8
SHOWN_SECONDS = 180.0
ROLLING = "--metric-window", "500", "--accuracy-every", "100"


class Picture(NamedTuple):
    """A file, the screen, and the element at whose lower edge it ends."""

    name: str
    screen: Screen
    last: str


class PageScene(NamedTuple):
    """A stream, workers on it, and the pictures of one worker's page."""

    stream: str
    partitions: int
    workers: int
    replay: tuple[str, ...]
    worker: tuple[str, ...]
    rows: int
    """Labels of each partition's champion after which the pictures are taken: the replay still runs, and the slow
    first rows were more than a minute ago."""
    pictures: tuple[Picture, ...]


WIDE = Screen(1120, 900)
PHONE = Screen(390, 844, 1.5, dark=True, phone=True)
SCENES = (
    PageScene(
        "sea", 3, 2,
        ("sea:rows=200000,noise=0.05", "--inject", "sudden:at=60000,to=sea:noise=0.05,thresholds=14", "--rate", "1500",
         "--poison", "0.0005"),
        ("--learner", "auto", "--learner", "pa1", "--detector", "adwin", *ROLLING),
        35_000,
        (Picture("page-sea", WIDE, "#charts"), Picture("page-sea-phone", PHONE, ".chart")),
    ),
    PageScene(
        "electricity", 2, 1,
        ("electricity", "--rate", "600"),
        ("--learner", "dfop", "--learner", "arow", "--learner", "auto", *ROLLING),
        20_000,
        (Picture("page-electricity", WIDE._replace(dark=True), "#charts"),),
    ),
)  # fmt: skip


def labels_of_champions(rows: int, partitions: int) -> str:
    """JavaScript: whether the page shows so many labels of the first model of each partition, and charts of them."""
    return (
        f"{LIVE} && document.querySelector('canvas') !== null && "
        f"(() => {{ const seen = new Map(); for (const row of document.querySelectorAll('#models tbody tr')) "
        "if (!seen.has(row.dataset.partition)) seen.set(row.dataset.partition, "
        "Number(row.querySelector('[data-field=labels]').dataset.value)); "
        f"return seen.size === {partitions} && Math.min(...seen.values()) >= {rows}; }})()"
    )


@contextlib.contextmanager
def running(bootstrap: str, scene: PageScene) -> Iterator[int]:
    """Run a scene's workers and its replay; yield the HTTP port of the first worker."""
    create_topic(bootstrap, scene.stream, scene.partitions)
    given = (
        "--bootstrap", bootstrap, "--input", scene.stream, "--group", "demo", "--http-port", "0", "--log-format", "json"
    )  # fmt: skip
    with contextlib.ExitStack() as children:
        workers = [children.enter_context(Driftway("worker", *given, *scene.worker)) for _ in range(scene.workers)]
        for partition in range(scene.partitions):
            text = f'"event": "running", "partition": {partition},'
            workers[0].await_condition(
                lambda text=text: any(text in one.stderr for one in workers), text, SHOWN_SECONDS
            )
        found = re.search(r'"event": "listening".*?"port": (\d+)', workers[0].stderr)
        assert found is not None, workers[0].summary()
        replay = "replay", *scene.replay, "--to", scene.stream, "--bootstrap", bootstrap, "--quiet"
        children.enter_context(Driftway(*replay))
        yield int(found[1])


def small(png: bytes) -> bytes:
    """Return a picture with few colours: a third of the bytes, and no difference to the eye."""
    from PIL import Image

    picture = Image.open(io.BytesIO(png)).convert("RGB")
    few = picture.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)  # keeps rare colours, too
    written = io.BytesIO()
    few.save(written, "PNG", optimize=True)
    assert written.tell() <= MAX_BYTES, f"{written.tell():,} bytes, more than {MAX_BYTES:,}"
    return written.getvalue()


def take(bootstrap: str, scene: PageScene, browser: Browser) -> None:
    """Take a scene's pictures."""
    with running(bootstrap, scene) as port:
        for picture in scene.pictures:
            browser.open(f"http://127.0.0.1:{port}/", picture.screen)
            browser.await_true(labels_of_champions(scene.rows, scene.partitions), SHOWN_SECONDS)
            end = f"document.querySelector('{picture.last}').getBoundingClientRect().bottom"
            png = small(browser.picture(browser.evaluate(f"Math.ceil({end} + scrollY) + {MARGIN}")))
            (FOLDER / f"{picture.name}.png").write_bytes(png)
            print(f"{picture.name}.png: {len(png):,} bytes")
        assert not browser.console_messages, browser.console_messages


def main() -> None:
    """Take all pictures that this machine can."""
    path = find_browser()
    if path is None or find_spec("PIL") is None:
        print(f"the pictures of the page stay as they are: {NO_BROWSER if path is None else 'no Pillow'}")
        return
    FOLDER.mkdir(exist_ok=True)
    with provide() as bootstrap, Browser(path) as browser:
        for scene in SCENES:
            if scene.stream not in CATALOGUE:
                take(bootstrap, scene, browser)
            elif (file := find_stream(scene.stream)) is not None:
                take(bootstrap, scene._replace(replay=(str(file), *scene.replay[1:])), browser)
            else:
                print(f"the picture of {scene.stream} stays as it is: the stream is not on this machine")


if __name__ == "__main__":
    main()
