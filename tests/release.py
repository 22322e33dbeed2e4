"""`python -m tests.release [LEARNER ...]`: build wheel and source archive into dist/, and try them as a user would.

The build begins from a clone, so that no file of this checkout gets in. For each Python of this machine the wheel is
installed with constraints.txt into a fresh environment, with a fresh home, outside any checkout. There it shows its
version, evaluates a stream and explains itself to a type checker; all Pythons must give the same scores, bit for bit.
The source archive is installed once. A bill of materials (CycloneDX) and a list of licences are written beside it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.regenerate.constraints import PYTHONS
from tests.versions import interpreter

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
LEARNERS = "auto", "dfop", "arow", "gaussian_nb"
EVALUATE = "evaluate", "sea:rows=3000"
USED = """
import driftway as dw
model = dw.create("arow")
model.predict_one({"amount": 12.5})
model.learn_one({"amount": 12.5}, True)
print(dw.__version__, dw.__commit__)
"""
TYPED = "import driftway\nreveal_type(driftway.create('arow').predict_one({'amount': 1.0}))\n"
TOOLS = "cyclonedx-bom", "pip-licenses", "twine", "mypy"


class NewEnvironment:
    """A fresh environment with a fresh home, outside any checkout.

    Parameters
    ----------
    python : str
        Path of the interpreter.
    folder : Path
        Where to create it.
    """

    def __init__(self, python: str, folder: Path) -> None:
        self.folder, self.home = folder, folder / "home"
        self.home.mkdir(parents=True)
        kept = {key: value for key, value in os.environ.items() if key.startswith(("PIP_", "SSL_", "REQUESTS_"))}
        proxies = {key: value for key, value in os.environ.items() if key.lower().endswith("_proxy")}
        self.environ = {**kept, **proxies, "HOME": str(self.home), "PATH": f"{folder}/venv/bin:/usr/bin:/bin"}
        self.run(python, "-m", "venv", folder / "venv")
        self.run("python", "-m", "pip", "install", "--quiet", "--upgrade", "pip")

    def run(self, *words: str | Path, quiet: bool = False) -> str:
        """Run a command in the environment and return what it prints.

        Raises
        ------
        subprocess.CalledProcessError
            It failed.
        """
        command = [shutil.which(str(words[0]), path=self.environ["PATH"]) or words[0], *words[1:]]
        err = subprocess.DEVNULL if quiet else None
        done = subprocess.run(
            command, cwd=self.home, env=self.environ, check=True, stdout=subprocess.PIPE, stderr=err, text=True
        )
        return done.stdout

    def install(self, *what: str | Path) -> None:
        """Install with the release's constraints."""
        self.run("pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt", *what)

    def size(self) -> float:
        """Return the size of the environment in MB."""
        return sum(path.stat().st_size for path in (self.folder / "venv").rglob("*") if path.is_file()) / 1e6


def build(folder: Path) -> tuple[Path, Path]:
    """Build from a clone; return wheel and source archive in dist/."""
    subprocess.run(["git", "clone", "--quiet", ROOT, folder / "clone"], check=True)
    shutil.rmtree(DIST, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "build", "--outdir", DIST, folder / "clone"], check=True, capture_output=True)
    (wheel,), (archive,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    return wheel, archive


def scores_of(fresh: NewEnvironment, learners: Sequence[str]) -> str:
    """Evaluate, and return the digest of all scores."""
    place = fresh.home / "scores.jsonl"
    chosen = [word for name in learners for word in ("--learner", name)]
    fresh.run("driftway", *EVALUATE, *chosen, "--scores", place, quiet=True)
    return hashlib.sha256(place.read_bytes()).hexdigest()


def main(learners: Sequence[str]) -> int:
    """Build, try, and write what goes with a release."""
    found = {version: place for version in PYTHONS if (place := interpreter(version)) is not None}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel, archive = build(folder)
        print(
            f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB, {archive.name}: {archive.stat().st_size / 1e6:.2f} MB"
        )
        digests = {}
        for version, python in found.items():
            began = time.monotonic()
            fresh = NewEnvironment(python, folder / version)
            fresh.install(f"{wheel}[files]")
            seen = [fresh.run("driftway", "--version").strip(), fresh.run("python", "-c", USED, quiet=True).strip()]
            digests[version] = scores_of(fresh, learners)
            print(f"Python {version}: {'; '.join(seen)}; {fresh.size():.0f} MB; {time.monotonic() - began:.0f} s")
        if len(set(digests.values())) != 1:
            print(f"scores differ: {digests}", file=sys.stderr)
            return 1
        first = NewEnvironment(next(iter(found.values())), folder / "archive")
        first.install(f"{archive}[registry]")
        print(f"source archive: {first.run('driftway', '--version').strip()}")
        _describe(first, NewEnvironment(sys.executable, folder / "tools"), wheel, archive)
    return 0


def _describe(installed: NewEnvironment, tools: NewEnvironment, wheel: Path, archive: Path) -> None:
    """Check the metadata and the types, and write bill of materials and licences of an environment."""
    tools.run("pip", "install", "--quiet", *TOOLS)
    python = installed.folder / "venv" / "bin" / "python"
    installed.run("python", "-m", "pip", "uninstall", "--quiet", "--yes", "pip", "setuptools", quiet=True)
    print(tools.run("twine", "check", "--strict", wheel, archive).strip())
    (tools.home / "typed.py").write_text(TYPED)
    print(tools.run("mypy", "--python-executable", python, "typed.py").strip())
    stem = wheel.name.partition("-py3")[0]
    tools.run("cyclonedx-py", "environment", python, "--output-file", DIST / f"{stem}.cdx.json", quiet=True)
    licences = tools.run("pip-licenses", "--python", python, "--format", "markdown", "--with-urls")
    (DIST / f"{stem}-licences.md").write_text(licences)
    print(licences)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or LEARNERS))
