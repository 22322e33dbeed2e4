"""Training on a bounded set of rows: where they come from, the run with its resume file, and what is told of it."""
