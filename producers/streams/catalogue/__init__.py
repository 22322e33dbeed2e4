"""Public streams by name: where they are, what is in them, and how to get them.

The table is literal. An entry uses only stable addresses: files of public git repositories at a fixed commit,
and files of archives that others have relied on for years.
"""

from __future__ import annotations

from driftway.producers.streams.catalogue.cache import cache_home, fetched_file
from driftway.producers.streams.catalogue.drift_datasets import LOSING_STREAMS
from driftway.producers.streams.catalogue.entry import DownloadSource, Entry
from driftway.producers.streams.catalogue.kddcup99 import KDDCUP99
from driftway.producers.streams.catalogue.nonstationary_archive import NONSTATIONARY
from driftway.producers.streams.catalogue.well_known import WELL_KNOWN

__all__ = ["CATALOGUE", "DownloadSource", "Entry", "cache_home", "fetched_file"]

CATALOGUE: dict[str, Entry] = {entry.name: entry for entry in (*WELL_KNOWN, KDDCUP99, *LOSING_STREAMS, *NONSTATIONARY)}
"""name -> entry, in listing order."""
