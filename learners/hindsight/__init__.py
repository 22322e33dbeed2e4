"""In hindsight: the best model of all rows, regret against it, and parameters that theorems choose from the data."""
