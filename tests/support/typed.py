"""The commands of a page, typed as its reader does: in order, in one shell, in one folder, on a real Kafka."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.process import ROOT, clean_environment

FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""A code block: its language (empty for commands to type), and its content."""
TYPED = "", "sh"
"""Languages of blocks with commands: Driftway's, and those of Kafka's tools and kcat."""
NOT_NEEDED = ("pip install", "make ", "driftway broker$", *(() if shutil.which("kcat") else ("kcat ",)))
"""Beginnings of lines that the test's environment does not need, or lacks."""
READER = r"""
worker=
end_worker() { if [ "$worker" ]; then kill "$worker"; wait "$worker"; worker=; fi; }
trap end_worker EXIT
driftway() {
  case " $* " in
    *" --stop-at-end "* | *" --once "*) command driftway "$@" ;;
    *" worker "*)
      end_worker
      command driftway "$@" --stop-at-end
      echo > worker.log
      command driftway "$@" 2>> worker.log & worker=$!
      until grep -q " running " worker.log; do kill -0 "$worker"; sleep 0.1; done ;;
    *" watch "*) command driftway "$@" --once ;;
    *" --loop "*) timeout --signal INT 10 driftway "$@" || test $? = 124 ;;
    *) command driftway "$@" ;;
  esac
}
kafka-console-consumer.sh() { command kafka-console-consumer.sh "$@" --timeout-ms 30000; }
"""
"""What readers do by hand: they leave a worker running beside the next commands, and end what would never end.

A worker first reads what is there, so that the next commands find its outputs. The next worker takes its place.
"""


def commands(page: str, *left_out: str) -> str:
    """Return a page's commands in order, without lines that begin with one of these expressions."""
    blocks = FENCED.findall((ROOT / page).read_text(encoding="utf-8"))
    lines = "".join(text for language, text in blocks if language in TYPED).splitlines(keepends=True)
    skipped = re.compile("|".join((*NOT_NEEDED, *left_out)))
    return "".join(line for line in lines if not skipped.match(line))


def type_in(script: str, kafka: str, folder: Path, seconds: float = 240.0, **variables: str) -> str:
    """Type commands in a shell that knows `driftway`, the folder's scripts and the broker; return what was printed.

    `timeout` ends everything that the shell has started, too.
    """
    here = os.pathsep.join((str(Path(sys.executable).parent), str(folder), os.environ["PATH"]))
    done = subprocess.run(
        ["timeout", str(seconds), "bash", "-e", "-c", READER + script.replace("localhost:9092", kafka)],
        cwd=folder,
        env=clean_environment(DRIFTWAY_BOOTSTRAP=kafka, PATH=here, PYTHONPATH=str(ROOT), **variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout
