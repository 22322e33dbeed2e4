"""Training on a bounded set of rows: their sources, the run with its resume file, and the report."""
