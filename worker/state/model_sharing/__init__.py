"""What partitions share of what their learners believe."""
