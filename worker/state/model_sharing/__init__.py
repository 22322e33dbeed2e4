"""Model sharing between partitions."""
