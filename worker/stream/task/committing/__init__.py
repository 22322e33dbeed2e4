"""Commit a partition: `checkpoint` lists the steps; `exactly_once` and `at_least_once` are its two guarantees."""
