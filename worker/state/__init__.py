"""A partition's state: the model, the same written down, and what the snapshot topic remembers of it."""
