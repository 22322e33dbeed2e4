"""The consumer group: who is in it, what it hands out, and what becomes of partitions that fail."""
