"""`python -m tests.regenerate.auto_peers`: the peers' figures of `evaluate --table auto`."""
