"""Kernels that others call by their address: compiled once, found in the cache, and never out of date."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

from driftway.learners import create
from driftway.learners.engine import kernel_cache
from driftway.learners.engine.jit import kernel, separate_kernel

ROOT = Path(__file__).resolve().parents[3]


@separate_kernel
def add_to(total: np.ndarray, x: float, times: int) -> None:
    for _ in range(times):
        total[0] += x


@separate_kernel
def halved(x: float) -> float:
    return 0.5 * x


@separate_kernel
def counted(values: np.ndarray) -> int:
    found = 0
    for value in values:
        found += 1 if value > halved(1.0) else 0
    return found


@kernel
def caller(total, values):
    add_to(total, 2.0, counted(values))
    return halved(total[0])


def test_separate_kernels_take_arrays_and_numbers_and_return_numbers():
    total = np.ones(1)
    assert caller(total, np.array([0.0, 1.0, 3.0])) == 2.5
    assert total[0] == 5.0
    assert counted(np.array([0.0, 1.0])) == 1  # Python calls them, too


STEPS = """
import os, sys
import numpy as np
from driftway.learners.engine import kernel_cache
from tests.unit.learners import test_separate_kernels as module

def run(cached_only):
    with kernel_cache.cached_only() if cached_only else open(os.devnull):
        found = module.caller(np.ones(1), np.array([0.0, 1.0, 3.0]))
    return f"{found} {sum(module.caller.stats.cache_hits.values())}"

for step in sys.argv[1:]:  # each in a process of its own, a fork in which nothing has been compiled or loaded
    if step.startswith("lose "):
        (lost,) = kernel_cache.FOLDER.glob(f"{step[5:]}-*.kernel")
        lost.unlink()
        continue
    if os.fork() == 0:
        try:
            print(run(step == "cached"), flush=True)
        except Exception as error:
            print(type(error).__name__, flush=True)
        os._exit(0)
    os.wait()
print(*sorted(path.name.partition("-")[0] for path in kernel_cache.FOLDER.glob("*.kernel")))
"""


def after(folder, *steps):
    """Return what a process printed after each step but `lose`, and the names of the kernels at the end."""
    done = subprocess.run(
        [sys.executable, "-c", STEPS, *steps],
        env={"NUMBA_CACHE_DIR": str(folder), "PATH": "", "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_a_later_process_finds_the_kernel_and_those_that_it_calls(tmp_path):
    """If what it calls is gone, or called by what is gone, it is compiled again, as nothing may run without."""
    lose = [step for name in ("halved", "counted") for step in (f"lose {name}", "cached", "compiled", "cached")]
    assert after(tmp_path, "compiled", "cached", *lose) == [
        "2.5 0", "2.5 1", *["NotCached", "2.5 0", "2.5 1"] * 2, "add_to caller counted halved",
    ]  # fmt: skip


def test_a_changed_kernel_changes_the_digests_of_its_callers():
    def of(function):
        called = separate_kernel(function)

        def calls(x):
            return called(x)

        return kernel_cache.name_of(calls, ())

    def once(x: float) -> float:
        return x

    def twice(x: float) -> float:
        return x + x

    twice.__qualname__ = once.__qualname__
    assert of(once) != of(twice)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_learner_names_the_separate_kernels_that_its_kernel_calls(task):
    learner = create("auto", 3, task=task)
    learner.predict_then_update(np.zeros((1, 3)), np.zeros(1), np.empty((1, 1)))
    calls = learner.rule().separate_calls(learner._constants, learner._memory)
    named = {kernel_cache.name_of(one.py_func, tuple(map(numba.typeof, arguments))) for one, *arguments in calls}
    run, (signature,) = learner._kernel, learner._kernel.signatures
    content = (kernel_cache.FOLDER / f"{kernel_cache.name_of(run.py_func, signature)}.kernel").read_bytes()
    called, _ = pickle.loads(content[: -kernel_cache.DIGEST_BYTES])
    assert named == set(called)
