"""Work in the background: restores and commits, each in its own thread."""
