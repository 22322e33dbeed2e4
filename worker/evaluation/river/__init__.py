"""Models of River as learners of `driftway evaluate`; a worker has none (docs/decisions/0074)."""
