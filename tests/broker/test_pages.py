"""README, how-to pages and pages of reference: their commands, typed in order on a new Kafka, do what the pages say."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pytest

from tests.support import kafka_tools
from tests.support.brokers import own_broker
from tests.support.process import ROOT
from tests.support.registry import Stub
from tests.support.secured_kafka import free_port
from tests.support.typed import commands, type_in

SEA = "driftway replay sea --to EVENTS --partitions 2\n"
WORKER = "driftway worker --input EVENTS --group sea --stop-at-end\n"
GROUP = f"{SEA}{WORKER}"
SECONDS = 600.0
SALES = commands("docs/tutorial/from-a-csv.md")


class Page(NamedTuple):
    """What a page's reader has already done, and what must be printed.

    Parameters
    ----------
    prints : tuple of str
        Expressions that the output must contain, each at the beginning of a line.
    before : str
        Commands of the reader: the topics and groups that the page takes for granted.
    words : mapping
        Word of the page -> another one in its place.
    left_out : tuple of str
        Beginnings of lines that are not typed.
    """

    prints: tuple[str, ...]
    before: str = ""
    words: Mapping[str, str] = MappingProxyType({})
    left_out: tuple[str, ...] = ()


PAGES = {
    "README.md": Page(
        (r" sea +auto +50,000 +88\.", "  ok       position: the group continues", "dfop "),
        before="driftway replay orders.jsonl --raw --to ORDERS --partitions 2\n",
        left_out=("driftway streams fetch",),
    ),
    "docs/how-to/audit.md": Page(("EVENTS holds: 50,000 events have exactly one prediction",), GROUP),
    "docs/how-to/change-models.md": Page(
        (
            "plan 8 .* add arow --relearned$",
            r"plan 2: champion arow; features price, spread",
            r" all +dfop:mu=0.01 .* better",
        ),
        before=f"{SEA}driftway replay trades.jsonl --raw --to TRADES\n"
        "driftway worker --input TRADES --group trades --learner arow --feature price --feature volume --stop-at-end\n"
        "driftway worker --input EVENTS --group sea --learner arow\n",
    ),
    "docs/how-to/check-a-deployment.md": Page(
        ("  ok       input: EVENTS has 2 partitions", "  ok       label topic", '{"checks":|.*"status":'),
        before=f"{SEA}driftway replay sea --to LATE --partitions 2 --label-delay 48 --label-topic LABELS\n"
        "echo client.id=driftway > worker.properties\n",
    ),
    "docs/how-to/choose-a-learner.md": Page((r" 0\.01 +85\.", "partition 1 +arow .*"), SEA),
    "docs/how-to/choose-a-threshold.md": Page(
        (
            r" +0\.5 +[0-9.]+% +9[0-9.]+% +9[0-9.]+%$",
            "partition 1 .* auc ",
            "plan 2: .*coverage 0.8",
            "coverage.png|wrote coverage.png",
        ),
        before=f"{SALES}driftway replay loads.jsonl --to LOADS\ndriftway replay late.jsonl --raw --to TRADES\n",
    ),
    "docs/how-to/debug-what-is-slow.md": Page((r" sea +auto +200,000 ", "nothing to compile|compiled"), GROUP),
    "docs/how-to/evaluate.md": Page(
        (r" sea +arow +50,000 ", "wrote grid/grid.png", "Mean ranks", r" sea +river:ensemble"),
        left_out=("driftway evaluate --table",),
    ),
    "docs/how-to/inspect-a-model.md": Page(
        ("partition 0 at offset 12000", "group again continues at offset 12000", "rebuilt .*bit for bit"), GROUP
    ),
    "docs/how-to/look-and-ask.md": Page(
        (r'\{"partition":0,"offset":\d+,"plan":1,"predictions":\[\{"id":7,', r'\{.*"models"'),
        SEA,
        words={"/etc/driftway": ".", "http://worker": "http://127.0.0.1"},
    ),
    "docs/how-to/operate.md": Page(
        (r"sent \d\d events back", "Deletion of requested consumer groups .* successful"),
        before=f"driftway replay sea --to EVENTS --poison 0.01\n{WORKER}",
        words={"python -": f"{WORKER}python -"},  # the group is removed twice, first by Kafka's tools
    ),
    "docs/how-to/other-tasks.md": Page((r" ratings.jsonl +online_mf +3,000 ", r" few.jsonl +omr +4,000 ")),
    "docs/how-to/read-predictions.md": Page(
        (r"5000 predictions, [1-3]\d\d\d of them surely yes$", "Processed a total of 5000 messages"), SALES
    ),
    "docs/how-to/replay.md": Page((r"50,000 rows of sea to EVENTS in", "300 rows of trips.csv to")),
    "docs/how-to/scale.md": Page((r" sea +dfop:mu=0.0005 +7 ",)),
    "docs/how-to/secure.md": Page(
        (), f"{SEA}echo client.id=driftway > worker.properties\n", words={"/etc/driftway": "."}
    ),
    "docs/how-to/trace.md": Page((), SEA),
    "docs/how-to/train.md": Page(
        ("wrote events.driftway", "test error ", r" electricity +frozen:"), SEA, words={"500000": "20000"}
    ),
    "docs/how-to/upgrade.md": Page(("EVENTS holds: 50,000 events", r" +25000 .*<- committed"), GROUP),
    "docs/how-to/use-predictions-as-a-table.md": Page((r"\{'kind': 'binary', ",), SEA),
    "docs/how-to/watch-for-drift.md": Page((), SEA),
    "docs/reference/events.md": Page(
        ('label = "fraud" ',), "driftway replay orders.jsonl --raw --to ORDERS --partitions 2\n"
    ),
    "docs/reference/streams.md": Page((), left_out=("driftway streams fetch",)),
}
"""Page -> how it is typed."""

NOT_TYPED = {
    "docs/how-to/deploy.md": "needs Docker, systemd or Kubernetes; tests/unit/deployment checks its files",
    "docs/how-to/develop.md": "make targets",
    "docs/how-to/recover.md": "lines of logs; tests of restores cause them",
    "docs/how-to/respond-to-alerts.md": "no commands",
    "docs/how-to/use-the-library.md": "Python; run by tests/unit/library/test_page.py",
}
"""Page -> why it is not typed. Blocks in Java, SQL or another language are not typed anywhere."""


def files(folder: Path) -> None:
    """Write the files that the pages' readers have."""
    drawn = random.Random(1)
    unit = drawn.random

    def lines(name: str, rows: Iterable[object]) -> None:
        (folder / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    def table(name: str, header: str, rows: Iterable[list[object]]) -> None:
        (folder / name).write_text("\n".join([header, *(",".join(map(str, row)) for row in rows), ""]))

    columns = ["day", "period", "nswprice", "nswdemand", "vicprice", "vicdemand", "transfer"]
    market = [{name: round(unit(), 3) for name in columns} for _ in range(30_000)]
    table("electricity.csv", ",".join([*columns, "y"]), ([*row.values(), int(row["day"] > 0.5)] for row in market))
    quarters = ["night", "morning", "noon", "evening"]
    lines("quarters.jsonl", ({"quarter": quarters[n % 4], **row, "up": n % 3 > 0} for n, row in enumerate(market)))
    lines("ratings.jsonl", ({"user": f"u-{n % 300}", "item": n % 199, "rating": 1 + 4 * unit()} for n in range(3_000)))
    triplets = [[v := unit(), w := unit(), v + 0.1 * unit(), w + 0.1 * unit(), unit(), unit()] for _ in range(3_000)]
    table("triplets.csv", "a0,a1,b0,b1,c0,c1,y", ([*row, 1] for row in triplets))
    pairs = ([*row[:4], 1] if n % 2 else [*row[:2], *row[4:], 0] for n, row in enumerate(triplets))
    table("pairs.csv", "a0,a1,b0,b1,y", pairs)
    lines("prices.jsonl", ({"price": unit()} for _ in range(3_000)))
    words = [[int(unit() < 0.3) for _ in range(10)] for _ in range(3_000)]
    lines("words.jsonl", ({"x": row, "y": 0} for row in words))
    table("words.csv", ",".join([*(f"w{n}" for n in range(10)), "y"]), ([*row, 0] for row in words))
    table("UG-2C-2D.csv", "a,b,y", ([drawn.gauss(3 * (n % 2)), unit(), n % 2] for n in range(4_000)))
    countries = ["de", "fr", "us"]
    lines(
        "orders.jsonl",
        (
            {"order_id": f"o-{n}", "amount": (amount := drawn.gauss(50, 20)), "country": countries[n % 3],
             "merchant": f"m-{n % 397}", "created_at": f"2026-11-24T12:{n // 60:02}:{n % 60:02}Z", "fraud": amount > 75}
            for n in range(3_000)
        ),
    )  # fmt: skip
    lines("trades.jsonl", ({"price": unit(), "volume": unit(), "spread": unit(), "y": n % 2} for n in range(3_000)))
    lines("loads.jsonl", ({"x": [v := unit(), w := unit()], "y": 3 * v - w + unit()} for _ in range(6_000)))
    late = ({"id": n, "x": [v := unit(), w := unit()], "y": "UP" if v > w else "DOWN"} for n in range(3_000))
    lines("late.jsonl", late)
    table("trips.csv", "at,km,y", ([1_764_000_000_000 + 1_000 * n, unit(), n % 2] for n in range(300)))


@pytest.mark.slow
@pytest.mark.timeout(2 * SECONDS)
@pytest.mark.xdist_group("pages")
@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_do_what_it_says(page: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    prints, before, words, left_out = PAGES[page]
    files(tmp_path)
    script = before + commands(page, *left_out)
    if ".sh " in script:
        kafka_tools.install(tmp_path)
    with own_broker(request.config) as kafka, Stub() as registry:
        for word, other in {**words, "http://localhost:8081": registry.url, "8000": str(free_port())}.items():
            script = script.replace(word, other)
        shown = type_in(script, kafka.bootstrap, tmp_path, SECONDS, DRIFTWAY_DATA=str(tmp_path))
    missing = [text for text in prints if re.search(f"^{text}", shown, re.MULTILINE) is None]
    assert missing == [], shown


def test_every_how_to_page_is_typed_or_says_why_not() -> None:
    pages = {str(path.relative_to(ROOT)) for path in (ROOT / "docs" / "how-to").glob("*.md")}
    assert pages == {page for page in PAGES if "how-to" in page} | set(NOT_TYPED)
    assert {page: text for page in NOT_TYPED if (text := commands(page))} == {}
