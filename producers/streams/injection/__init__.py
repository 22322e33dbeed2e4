"""Drift and data errors injected into any stream, one file per kind; each kind wraps a stream, so they compose.

Start reading at `injection_kind.py` (what a kind is) and `registry.py` (which kinds exist). Three streams do the work:
`switched` (rows come from a second stream), `altered` (rows are changed in place) and `thinned` (rows are left out).
Each provides its ground truth: the concept of every row (`Stream.traced`) and where it changes (`Stream.changes`).
Importing this package imports no kernel.
"""

from driftway.producers.streams.injection.spec import inject, inject_all

__all__ = ["inject", "inject_all"]
