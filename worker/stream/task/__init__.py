"""One partition's life: its task, its restore, its commits."""
