"""One partition: its task, restore and commits."""
