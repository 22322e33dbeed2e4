"""`python -m tests.versions [ROW ...]`: run chosen tests with other versions of Kafka, the client and Python.

A row is one combination, such as `kafka-3.9.2` or `python-3.11+client-2.13.2`; by default all run. A row whose Python
is not on this machine is only resolved: pip must find a wheel for each dependency. At the end it prints the result of
each row. Environments are kept in `.versions`.
"""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from driftway.workbench.broker.distribution import KAFKA_VERSION, VERSION_VARIABLE
from driftway.worker.kafka.client_config import NATIVE, PYTHON
from tests.support.fault_scenario import LEARNER

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / ".versions"
NEWEST = ""
"""As a client's version: what pip chooses."""
ANY_MAJOR = (
    "tests/broker/test_local_kafka.py::test_transactions_are_real",
    "tests/broker/test_local_kafka.py::test_a_second_producer_with_the_same_id_fences_the_first",
    "tests/broker/test_local_kafka.py::test_groups_work_under_both_protocols",
    "tests/broker/test_old_brokers.py",
    "tests/broker/test_clients.py",
    "tests/broker/test_guarantees.py",
    "tests/broker/test_hanging_transactions.py",
    "tests/broker/test_recreated_topic.py",
    "tests/broker/test_audit.py",
    "tests/fault/test_matrix.py::test_a_successor_continues_exactly_after_a_worker_was_killed",
    "tests/fault/test_matrix.py::test_a_broker_restart_at_any_step_changes_nothing",
)
"""First predictions, both clients, transactions, restores, kills, audits and ids of topics."""
SINCE_4 = ("tests/fault/test_group_protocols.py::test_a_running_classic_group_moves_to_the_newer_protocol_and_back",)
INTERPRETERS = (
    "{PYENV_ROOT}/versions/{version}.*/bin/python",
    "{HOME}/.pyenv/versions/{version}.*/bin/python",
    "{HOME}/.local/share/uv/python/cpython-{version}.*/bin/python",
)
"""Where pyenv and uv keep Pythons that are not on the path."""


@dataclass(frozen=True)
class Row:
    """A combination of versions.

    Parameters
    ----------
    kafka : str
        Version of the broker.
    python : str
        ``major.minor``; empty: the interpreter that runs this, with the packages that it has.
    client : str
        Version of confluent-kafka in the environment of `python`; `NEWEST`: what pip chooses.
    """

    kafka: str = KAFKA_VERSION
    python: str = ""
    client: str = NEWEST

    @property
    def name(self) -> str:
        """Its name on the command line."""
        return f"python-{self.python}+client-{self.client or 'newest'}" if self.python else f"kafka-{self.kafka}"

    @property
    def tests(self) -> tuple[str, ...]:
        """The files and tests to run."""
        return ANY_MAJOR if int(self.kafka.partition(".")[0]) < 4 else (*ANY_MAJOR, *SINCE_4)


ROWS = (
    *(Row(kafka=version) for version in ("3.3.2", "3.9.2", "4.0.2", "4.1.2")),
    Row(python="3.11", client="2.13.2"),
    Row(python="3.12", client="2.14.2"),
    Row(python="3.13", client="2.15.1"),
    Row(python="3.14", client=NEWEST),
)
"""The oldest versions that pyproject.toml and docs/kafka.md allow, the newest, and some between."""


def interpreter(version: str) -> str | None:
    """Path of a Python of this version that can be run here."""
    environment = {"PYENV_ROOT": "/nonexistent", "HOME": str(Path.home()), **os.environ}
    installed = [
        sorted(glob.glob(place.format(version=version, **{k: environment[k] for k in ("PYENV_ROOT", "HOME")})))
        for place in INTERPRETERS
    ]
    for found in (shutil.which(f"python{version}"), *(path for paths in installed for path in reversed(paths))):
        # pyenv's shims are on the path for versions that are not chosen, and fail.
        if found and _says_version(found) == version:
            return found
    return None


def _says_version(path: str) -> str:
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    return subprocess.run([path, "-c", code], capture_output=True, text=True, check=False).stdout.strip()


def environment_of(row: Row, python: str) -> str:
    """Make the row's virtual environment, or bring it up to date; return its Python.

    Raises
    ------
    subprocess.CalledProcessError
        pip or venv failed.
    """
    home = KEPT / row.name
    made = home / "bin" / "python"
    if not made.exists():
        subprocess.run([python, "-m", "venv", home], check=True)
    client = [f"confluent-kafka=={row.client}"] if row.client else []
    subprocess.run([made, "-m", "pip", "install", "--quiet", "--editable", ".[dev]", *client], cwd=ROOT, check=True)
    return str(made)


def warm(python: str) -> None:
    """Compile the kernels that the tests' workers use, if this Python has not done so before.

    Otherwise all test processes compile the same ones at once, and workers start later than tests wait.

    Raises
    ------
    subprocess.CalledProcessError
        They cannot be compiled.
    """
    for client in (NATIVE, PYTHON):
        command = [python, "-m", "driftway", "warm", "--learner", LEARNER, "--client", client]
        subprocess.run(command, cwd=ROOT, check=True)


def dependencies() -> list[str]:
    """What Driftway and its extras for users need, from pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    return [*project["dependencies"], *(one for name in extras if name not in {"all", "dev"} for one in extras[name])]


def wheels_exist(row: Row) -> bool:
    """Whether pip finds a wheel of each dependency for the row's Python, on this system."""
    client = [f"confluent-kafka=={row.client}"] if row.client else []
    with tempfile.TemporaryDirectory() as folder:
        command = ["pip", "install", "--dry-run", "--quiet", "--ignore-installed", "--only-binary=:all:", "--target"]
        command += [folder, "--python-version", row.python, *dependencies(), *client]
        return subprocess.call([sys.executable, "-m", *command]) == 0


def run(row: Row) -> tuple[bool, str]:
    """Run a row's tests; return whether all passed, and a description of what was done."""
    python = sys.executable
    if row.python:
        installed = interpreter(row.python)
        if installed is None:
            found = wheels_exist(row)
            return (
                found,
                f"no Python {row.python} here: {'only resolved, every wheel exists' if found else 'NO WHEELS'}",
            )
        try:
            python = environment_of(row, installed)
        except subprocess.CalledProcessError as error:
            return False, f"CANNOT INSTALL: {error}"
    try:
        warm(python)
    except subprocess.CalledProcessError as error:
        return False, f"CANNOT COMPILE: {error}"
    command = [python, "-m", "pytest", "-n", "4", "--dist", "loadgroup", "-m", "not slow", "--require-broker", "-q"]
    environment = {**os.environ, VERSION_VARIABLE: row.kafka}
    code = subprocess.call([*command, *row.tests], cwd=ROOT, env=environment)
    return code == 0, "passed" if code == 0 else f"FAILED (exit code {code})"


def main(names: Sequence[str]) -> int:
    """Run the rows and return 1 if one failed."""
    known = {row.name: row for row in ROWS}
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"there is no row {unknown[0]}: rows are {', '.join(known)}", file=sys.stderr)
        return 2
    if os.environ.get("DRIFTWAY_BOOTSTRAP"):
        print("DRIFTWAY_BOOTSTRAP names a cluster, but each row starts its own Kafka", file=sys.stderr)
        return 2
    lines, good = [], True
    for row in [known[name] for name in names] or ROWS:
        print(f"\n--- {row.name}", flush=True)
        started = time.monotonic()
        passed, words = run(row)
        minutes, seconds = divmod(round(time.monotonic() - started), 60)
        lines.append(f"{row.name:30}{minutes:3}:{seconds:02}  {words}")
        good = good and passed
    print("\n--- versions", *lines, sep="\n", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
