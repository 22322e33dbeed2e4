"""`python -m driftway`: the command line, whatever is in the current folder."""

import contextlib
import os
import sys

with contextlib.suppress(FileNotFoundError):  # of a folder that was deleted; the command line says so
    if not sys.flags.safe_path and sys.path and sys.path[0] == os.getcwd():
        # `python -m` puts the current folder first in the path, but a user's click.py or numpy.py must not be imported.
        del sys.path[0]

from driftway.cli import main

if __name__ == "__main__":
    sys.exit(main())
