"""In hindsight: the best model for all rows, regret against it, and parameters that theorems derive from the data."""
