"""A partition's state: the model, its snapshot, and its records in the snapshot topic."""
