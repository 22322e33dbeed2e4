"""Driftway: online learning under concept drift as a Kafka stream-processing worker.

`driftway.learners` are the learners, `driftway.worker` the daemon, `driftway.producers` streams and their replay,
`driftway.workbench` what developers use, and `driftway.cli` the command line that joins them.
"""

__version__ = "0.1.0"
