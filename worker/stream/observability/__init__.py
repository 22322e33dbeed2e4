"""What an operator sees: metrics, the log, health."""
