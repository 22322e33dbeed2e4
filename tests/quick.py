"""`python -m tests.quick [BASE]`: test what depends on the files changed since a commit, by default the last one.

It lints the changed files, and runs the tests without Kafka that import them, directly or through one other module, or
that call a changed command. For a changed learner, or a module that learners use, it runs their part of the conformance
suite. `make test-unit` runs everything.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from driftway.commands import COMMANDS
from driftway.learners.registry import LEARNERS, find
from tests.meta.sources import ROOT, files, imports, module, place

HUB = 25
"""A module with more importers than this is not followed further: nearly everything depends on it."""
MAX_LEARNERS = 3
"""Learners whose conformance fits into less than a minute."""


def main(base: str = "HEAD") -> int:
    """Run the checks; return the exit code of the first that fails."""
    changed = changed_files(base)
    if not changed:
        print(f"no Python file has changed since {base}")
        return 0
    found, learners = dependents_of(changed), learners_of(changed)
    some = learners[:MAX_LEARNERS]
    print(f"{len(changed)} changed files, {len(found)} test files, conformance of: {', '.join(some) or 'no learner'}")
    if len(learners) > len(some):
        print(f"left out: {', '.join(learners[len(some) :])} (make test-unit)")
    lint = [["ruff", "check", *changed], ["ruff", "format", "--check", *changed]]
    quick = ["pytest", "-q", "-n", "2", "--dist", "loadgroup", "-m", "not broker and not slow"]
    conformance = [[*quick, "-k", " or ".join(some), "tests/conformance"]] if some else []
    for run in [*lint, *([[*quick, *found]] if found else []), *conformance]:
        environment = {**os.environ, "DRIFTWAY_LEARNERS": ",".join(some)} if run in conformance else None
        code = subprocess.call([sys.executable, "-m", *run], cwd=ROOT, env=environment)
        if code not in (0, 5):  # 5: all tests of a file are slow, or need Kafka
            return code
    return 0


def changed_files(base: str) -> list[str]:
    """Paths of changed and new Python files, relative to the repository."""
    commands = ["diff", "--name-only", "--diff-filter=d", base], ["ls-files", "--others", "--exclude-standard"]
    texts = [subprocess.check_output(["git", *one], cwd=ROOT, text=True) for one in commands]
    return sorted({path for text in texts for path in text.splitlines() if path.endswith(".py")})


@cache
def texts() -> dict[str, str]:
    """Path -> text of every Python file."""
    return {place(path): path.read_text(encoding="utf-8") for path in (*files(), *files("tests"))}


@cache
def importers_of(path: str) -> frozenset[str]:
    """Paths of the files that import a file."""
    name = module(ROOT / path)
    within, _, word = name.rpartition(".")
    last = within.rpartition(".")[2]
    # Parsing all of them takes long. Every import says `from .. within import .. word`, or `within.word` somewhere.
    candidates = [
        one
        for one, text in texts().items()
        if f"{last}.{word}" in text or (f"{last} import" in text and word in text) or not within
    ]
    return frozenset(
        one for one in candidates if any(name in (found, found.rpartition(".")[0]) for _, found in imports(ROOT / one))
    )


def dependents_of(changed: Sequence[str]) -> list[str]:
    """Test files that import a changed file, or a file that does, or call a changed command."""
    reached = set(changed)
    for path in changed:
        direct = importers_of(path)
        reached |= direct
        for one in direct if len(direct) <= HUB else ():
            further = importers_of(one)
            reached |= further if len(further) <= HUB else set()
    names = [name for name, (where, _) in COMMANDS.items() if file_of(where.partition(":")[0]) in changed]
    reached |= {path for path, text in texts().items() if any(f'"{name}"' in text for name in names)}
    return sorted(path for path in reached if is_unit_test(path))


def is_unit_test(path: str) -> bool:
    """Whether a file holds tests without Kafka; those of `tests/meta` are for `make check`."""
    return Path(path).name.startswith("test_") and path.startswith("tests/unit/") and Path(ROOT, path).exists()


def file_of(name: str) -> str:
    """Return the path of a module of the package."""
    return name.removeprefix("driftway.").replace(".", "/") + ".py"


def learners_of(changed: Iterable[str]) -> list[str]:
    """Learners that depend on a changed file; those defined in a changed file come first."""
    ours = [path for path in changed if path.startswith("learners/")]
    reached, waiting = set(ours), list(ours)
    while waiting:
        for path in importers_of(waiting.pop()):
            if path.startswith("learners/") and path not in reached and path != "learners/registry.py":
                reached.add(path)
                waiting.append(path)
    homes = {name: file_of(find(name).__module__) for name in LEARNERS}
    return sorted((name for name in homes if homes[name] in reached), key=lambda name: homes[name] not in ours)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
