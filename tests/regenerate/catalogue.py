"""`python -m tests.regenerate.catalogue`: docs/learners.md, one row per learner, taken from its docstring."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

from driftway.learners.registry import LEARNERS, find
from driftway.worker.cli.learners import SCORES, describe

PAGE = Path(__file__).parents[2] / "docs" / "learners.md"
COMMAND = "python -m tests.regenerate.catalogue"

HEAD = f"""# The learners

{{count}} learners, by family. `driftway learners NAME` describes the parameters of one, `driftway learners --json`
those of all. d is the number of features (with the intercept, where there is one), K that of classes; memory is the
state, which is what a snapshot holds. Accuracies stand in [results/sanity-table.md](results/sanity-table.md). This page
is made of the learners' docstrings by `{COMMAND}`.

Before a name, `ova:` makes any number of classes of a learner of two, and `on_drift:` puts a learner under the watch of
a drift detector: `on_drift:rls:detector=adwin,action=shrink` (`driftway learners --help`). Ensembles take any learner
as `base`, like `dwm:base=arow/q=1e-4`.

What a score is, and its range (`driftway learners NAME` says it in words); with several classes there is one per class:
*log-odds* of class 1, any number; *probit* of its probability, any number; *softmax* of them gives probabilities, any
numbers; *probability*, 0 to 1; *votes*, their share from 0 to 1, or with two classes from -1 to 1; *margin* in the
learner's own unit, any number, class 1 from 0 on or the class of the largest; *number*, the prediction itself. Whatever
it is, predictions also have a calibrated [probability](reference/topics.md#probabilities).
"""
COLUMNS = ("learner", "task", "score", "cost per row", "memory", "what it does, and when to use it", "source")
SCORE_NAMES = {
    "logistic": "log-odds", "probit": "probit", "softmax": "softmax", "direct": "probability", "votes": "votes",
}  # fmt: skip


def cost_and_memory(text: str) -> tuple[str, str]:
    """Split a Cost section, whose sentences are `[Form: ]TIME; BYTES.` or `[Form: ]TIME, BYTES.`, into its halves."""
    times, bytes_ = [], []
    for sentence in re.split(r"(?<=\w)\.\s+", text.rstrip(".")):
        form, _, rest = sentence.rpartition(": ")
        found = re.fullmatch(r"(.*?); (.*)", rest) or re.fullmatch(r"(.*?), (\d.*)", rest)
        time, size = found.groups() if found else (rest, "")
        label = f"{form[0].lower()}{form[1:]}: " if form else ""
        times.append(label + time.replace(" per row", ""))
        bytes_ += [label + size] if size else []
    return "; ".join(times), "; ".join(bytes_)


def short_name(task: str, text: str) -> str:
    """Return the word for what a score is."""
    link = next(link for (of, link), one in SCORES.items() if (of, one) == (task, text))
    return "number" if task == "regression" else "margin" if link is None else SCORE_NAMES[link]


def paragraph(text: str) -> str:
    """Turn reStructuredText into a Markdown table cell: one line, single backticks, escaped bars."""
    return " ".join(text.split()).replace("``", "`").replace("|", "\\|")


def line(row: dict[str, Any]) -> str:
    """Return a learner's row of the table."""
    summary, _, rest = row["description"].partition("\n\n")
    time, memory = cost_and_memory(row["cost"])
    about = f"{summary} {rest}".strip()
    source = re.sub(r"docs/(algorithms/[\w-]+\.md(#[\w-]+)?)", r"[\1](\1)", row["source"])
    scores = ", ".join(dict.fromkeys(short_name(task, text) for task, text in row["score"].items()))
    cells = (f"`{row['name']}`", ", ".join(row["tasks"]), scores, time, memory, about, source)
    return f"| {' | '.join(map(paragraph, cells))} |\n"


def page() -> str:
    """Return the page."""
    rows = [describe(find(name)) for name in LEARNERS]
    families: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        families.setdefault(row["family"], []).append(row)
    text = HEAD.format(count=len(rows))
    for family, members in families.items():
        about = (import_module(f"driftway.learners.{family}").__doc__ or "").strip()
        text += f"\n## {family.replace('_', ' ').capitalize()}\n\n{about}\n\n"
        text += f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}\n"
        text += "".join(map(line, members))
    return text


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE.name}: {len(LEARNERS)} learners")


if __name__ == "__main__":
    main()
