"""Every citation leads to a page and heading in this repository; none refers to files outside it."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.meta.sources import ROOT

CITED = re.compile(r"docs/(?:[\w-]+/)*[\w-]+(?:\.md)?(?:#[\w-]+)?(?:,? (?:and )?#[a-z][\w-]*)*")
"""`docs/page.md#heading`, optionally followed by more headings of the page; a decision by its number alone."""
LINK = re.compile(r"\]\(([^)\s]+)\)")
OUTSIDE = re.compile(r"ALGORITHMS\.md|KAFKA\.md|\bDESIGN(\.md)? \d|\.\./shared|(?<!librdkafka )\bissue #?\d+")
TEXTS = (".py", ".md", ".yml", ".yaml", ".toml", ".json")


@cache
def texts() -> dict[str, str]:
    """Path -> content of every text file in the repository."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    paths = [path for path in listed.split("\0") if path.endswith(TEXTS) or path in ("Makefile", "Dockerfile")]
    return {path: (ROOT / path).read_text(encoding="utf-8") for path in paths if (ROOT / path).is_file()}


@cache
def headings(page: str) -> frozenset[str]:
    """Heading anchors of a page, as GitHub generates them."""
    found: dict[str, int] = {}
    anchors = set()
    fenced = False
    for line in (ROOT / page).read_text(encoding="utf-8").splitlines():
        fenced ^= line.startswith("```")
        if fenced or not (heading := re.match(r"#{1,6} +(.*)", line)):
            continue
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        seen = found.get(slug, 0)
        found[slug] = seen + 1
        anchors.add(f"{slug}-{seen}" if seen else slug)
    return frozenset(anchors)


def fault_of(citation: str) -> str | None:
    """Why a citation is broken, or None if it is valid."""
    place, *anchors = [part.strip(" ,") for part in re.split(r"(?:,? and |, | )?#", citation)]
    if re.fullmatch(r"docs/decisions/\d{4}", place):
        return None if list((ROOT / "docs" / "decisions").glob(f"{Path(place).name}-*.md")) else "no such decision"
    if not (ROOT / place).exists():
        return "no such page"
    return next((f"no heading #{anchor}" for anchor in anchors if anchor not in headings(place)), None)


def test_every_citation_is_valid() -> None:
    wrong = [
        f"{path}: {found[0]}: {why}"
        for path, text in texts().items()
        for found in CITED.finditer(text)
        if path.endswith((".py", ".yml", "Makefile")) and path != "tests/meta/test_citations.py"
        and (why := fault_of(" ".join(found[0].split())))
    ]  # fmt: skip
    assert wrong == []


def test_every_link_is_valid() -> None:
    wrong = []
    for path, text in texts().items():
        if not path.endswith(".md"):
            continue
        for link in LINK.findall(re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)):
            target, _, anchor = link.partition("#")
            if "://" in target or target.startswith("mailto:"):
                continue
            place = (ROOT / path).parent / target if target else ROOT / path
            if not place.exists():
                wrong.append(f"{path}: {link}: no such file")
            elif anchor and place.suffix == ".md" and anchor not in headings(str(place.resolve().relative_to(ROOT))):
                wrong.append(f"{path}: {link}: no such heading")
    assert wrong == []


def test_no_file_outside_the_repository_is_mentioned() -> None:
    examples = ("tests/meta/test_citations.py", "tests/meta/test_real_streams.py")
    reports_to_other_projects = ("docs/upstream/",)
    spared = examples + reports_to_other_projects
    looked_at = {path: text for path, text in texts().items() if not path.startswith(spared)}
    assert [f"{path}: {found[0]}" for path, text in looked_at.items() for found in OUTSIDE.finditer(text)] == []


@pytest.mark.parametrize(
    ("citation", "why"),
    [
        ("docs/kafka.md", None),
        ("docs/decisions/0018", None),
        ("docs/algorithms/conventions.md#sample-weights", None),
        ("docs/algorithms/conventions.md#sample-weights and #scaling", None),
        ("docs/nowhere.md", "no such page"),
        ("docs/decisions/9999", "no such decision"),
        ("docs/algorithms/conventions.md#sample-weights and #nothing", "no heading #nothing"),
    ],
)
def test_the_check_finds_broken_citations(citation: str, why: str | None) -> None:
    assert fault_of(citation) == why
