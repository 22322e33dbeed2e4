"""What stands in the topic of snapshots: chunks, positions, claims, marks."""
