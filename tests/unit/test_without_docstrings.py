"""Python with -OO has no docstrings: where one would be shown, a sentence says so."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.support.process import ROOT, clean_environment

SENTENCE = "The text is missing: Python was started with -OO or PYTHONOPTIMIZE=2, which removes it."


def shown(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "driftway", *arguments],
        cwd=ROOT,
        env=clean_environment(PYTHONOPTIMIZE="2", PYTHONDONTWRITEBYTECODE="1"),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return " ".join(done.stdout.split())


def test_missing_texts_are_explained() -> None:
    assert SENTENCE in shown("--help")
    evaluate = shown("evaluate", "--help")
    assert "Evaluate learners on streams without Kafka, with the same kernels. " + SENTENCE in evaluate
    assert SENTENCE in shown("topics", "create", "--help")
    assert SENTENCE in shown("learners", "dfop")
    (found,) = json.loads(shown("learners", "dfop", "--json"))
    assert (found["description"], found["source"]) == (SENTENCE, "")
    assert all(parameter["text"] for parameter in found["parameters"])
