"""The consumer group: membership, polled records, and partitions without a member; readers of labels and shares."""
