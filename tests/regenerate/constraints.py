"""`python -m tests.regenerate.constraints`: write constraints.txt, the versions with which this release was tried.

For each Python of this machine pip resolves what a release needs, extras included. A package that has another version
on another Python has a line for each.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from driftway import __version__
from tests.versions import interpreter

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "constraints.txt"
PYTHONS = "3.11", "3.12", "3.13"
EXTRAS = "local", "files", "plot", "statistics", "registry", "river", "mlflow", "otel"
"""All but `docker`, `docs` and `dev`, which nobody needs who only runs Driftway."""
HEAD = f"""\
# What Driftway {__version__} was tried with: pip install --constraint constraints.txt 'driftway[all]'. Without it pip
# takes the newest versions that pyproject.toml allows. It has what all extras need but docker, docs and dev, which are
# for developers, and no polars, which is nobody's extra. Of these packages only numba and llvmlite make machine code;
# they have to keep the order of operations, and no function of the C library is called, so that other versions give the
# same bits (docs/decisions/0021). `driftway audit` proves it for a group, whatever versions its workers had.
# Written by `make constraints`.
"""


def resolved(python: str) -> dict[str, str]:
    """Return package -> version that pip chooses for a Python.

    Raises
    ------
    subprocess.CalledProcessError
        pip found no versions that fit.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        home = Path(folder, "venv")
        subprocess.run([python, "-m", "venv", home], check=True)
        pip = [home / "bin" / "python", "-m", "pip", "--quiet", "install"]
        subprocess.run([*pip, "--upgrade", "pip"], check=True)
        wanted = f"{ROOT}[{','.join(EXTRAS)}]"
        subprocess.run([*pip, "--dry-run", "--report", report, wanted], check=True)
        found = [one["metadata"] for one in json.loads(report.read_text())["install"]]
    return {one["name"].lower().replace("_", "-"): one["version"] for one in found if one["name"] != "driftway"}


def lines(found: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Return the lines of the file, of Python -> package -> version."""
    written = []
    for name in sorted(set().union(*found.values())):
        versions = {python: packages[name] for python, packages in found.items() if name in packages}
        if len(versions) == len(found) and len(set(versions.values())) == 1:
            written.append(f"{name}=={next(iter(versions.values()))}")
        else:
            written += [f'{name}=={version} ; python_version == "{python}"' for python, version in versions.items()]
    return written


def main() -> None:
    """Write the file for the Pythons of this machine, of which there must be all."""
    places = {python: interpreter(python) for python in PYTHONS}
    if missing := [python for python, place in places.items() if place is None]:
        sys.exit(f"not on this machine: Python {', '.join(missing)}")
    found = {python: resolved(str(place)) for python, place in places.items()}
    FILE.write_text(HEAD + "\n".join(lines(found)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
