"""What runs beside the loop: restores and commits, each on a thread of its own."""
