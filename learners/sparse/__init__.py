"""Linear learners whose weights become exactly zero if a feature does not help; O(d) per row."""
