"""Drift and dirt put into any stream, one file per kind; each is a stream around a stream, so they compose.

Start reading in `kind.py` (what a kind is) and `registry.py` (which there are). Three streams do the work: `switched`
(a second stream's rows take over), `altered` (rows change where they are) and `thinned` (rows are left out). Each
tells the truth about itself: the concept of every row (`Stream.traced`) and where it changes (`Stream.changes`).
Importing this package imports no kernel.
"""

from driftway.producers.streams.injection.spec import inject, open_injected

__all__ = ["inject", "open_injected"]
