"""The commands for evaluation and training."""
